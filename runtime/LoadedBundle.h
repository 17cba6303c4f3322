//===- LoadedBundle.h - A verified bundle, ready for sessions ---*- C++ -*-===//
#ifndef NNV12_RUNTIME_LOADEDBUNDLE_H
#define NNV12_RUNTIME_LOADEDBUNDLE_H

#include "artifact/MappedFile.h"
#include "artifact/ProgramView.h"
#include "artifact/Verifier.h"
#include "runtime/CodeMapping.h"
#include "runtime/PreparedWeights.h"
#include "runtime/include/nnv12.h"
#include "runtime/system/Memory.h"

#include <atomic>

namespace nnv12::runtime {

/// Immutable once it is open, hence used by threads and sessions without locks.
/// Sessions share their weights, under a lock. Counted: the caller's handle is
/// one owner, each session another.
class LoadedBundle {
public:
  [[nodiscard]] bool open(const char *path, const nnv12_open_options &options,
                          artifact::Fault &fault);
  [[nodiscard]] bool openMemory(const void *data, size_t size,
                                const nnv12_open_options &options,
                                artifact::Fault &fault);

  void retain() { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release();

  const uint8_t *image() const { return bytes_; }
  size_t imageSize() const { return length_; }
  const bundle::Bundle *metadata() const { return bundle_; }
  LoadedProgram loaded() const {
    return {bytes_, bundle_, program_, code(), isMapped()};
  }
  /// The program that runs, its number among the bundle's, and its code.
  const bundle::Program *chosenProgram() const { return program_; }
  const bundle::Target *target() const {
    return artifact::targetOf(bundle_, program_);
  }
  /// Its overlay for GPUs, or null.
  const bundle::Overlay *gpuOverlay() const {
    return artifact::gpuOverlayOf(bundle_, program_);
  }
  uint32_t programNumber() const { return number_; }
  const uint8_t *code() const { return codeMapping_.data(); }
  bool codeIsMapped() const { return mappedInPlace_; }
  /// The digest of the metadata, which describes the whole bundle.
  const artifact::Digest &digest() const { return header_.metadataDigest; }
  /// Whether the image is a mapping of a file, and not the caller's memory.
  bool isMapped() const { return file_.data(); }
  bool isSigned() const { return header_.isSigned != 0; }
  /// Whether it was opened with a public key or an expected digest.
  bool takesNoOther() const { return isRestricted_; }
  /// The overlays for GPUs of a bundle whose program has any. Checks them here,
  /// since opening does not. Copies them to `copy` where the metadata was
  /// copied. Null where they are wrong.
  [[nodiscard]] const bundle::GpuOverlays *
  loadOverlays(Pages &copy, artifact::Fault &fault) const;

  /// The same for the overlays for video.
  [[nodiscard]] const bundle::VideoOverlays *
  loadVideo(Pages &copy, artifact::Fault &fault) const;

  /// The weights that its sessions share.
  PreparedWeights &weights() { return weights_; }

  const Array<nnv12_tensor_info> &inputs() const { return inputInfos_; }
  const Array<nnv12_tensor_info> &outputs() const { return outputInfos_; }

private:
  [[nodiscard]] const uint8_t *loadOverlay(const bundle::Overlay *overlay,
                                           Pages &copy,
                                           artifact::Fault &fault) const;
  [[nodiscard]] bool load(const void *data, size_t size, int descriptor,
                          const nnv12_open_options &options,
                          artifact::Fault &fault);
  [[nodiscard]] bool loadMetadata(bool copies, artifact::Fault &fault);
  [[nodiscard]] bool hasKind(bool orTuning, artifact::Fault &fault) const;
  [[nodiscard]] bool chooseProgram(const char *target, artifact::Fault &fault);
  [[nodiscard]] bool loadCode(int descriptor, artifact::Fault &fault);
  [[nodiscard]] bool verifyWeights(artifact::Fault &fault);
  void adviseWeights();
  void makeEarlyMemory();
  [[nodiscard]] bool describeTensors(artifact::Fault &fault);

  std::atomic<uint32_t> owners_{1};
  artifact::MappedFile file_; ///< empty when opened from memory
  const uint8_t *bytes_ = nullptr;
  size_t length_ = 0;
  artifact::Header header_ = {}; ///< as it was verified
  Pages metadataCopy_;           ///< empty where it is used in place
  const bundle::Bundle *bundle_ = nullptr;
  const bundle::Program *program_ = nullptr;
  uint32_t number_ = 0; ///< of the program
  CodeMapping codeMapping_;
  PreparedWeights weights_;
  bool mappedInPlace_ = false;
  bool isRestricted_ = false;
  Array<nnv12_tensor_info> inputInfos_;
  Array<nnv12_tensor_info> outputInfos_;
};

} // namespace nnv12::runtime

struct nnv12_bundle : nnv12::runtime::LoadedBundle {};

#endif // NNV12_RUNTIME_LOADEDBUNDLE_H
