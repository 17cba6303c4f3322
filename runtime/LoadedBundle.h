//===- LoadedBundle.h - A verified bundle, ready for sessions ---*- C++ -*-===//
#ifndef NNV12_RUNTIME_LOADEDBUNDLE_H
#define NNV12_RUNTIME_LOADEDBUNDLE_H

#include "artifact/MappedFile.h"
#include "artifact/Verifier.h"
#include "runtime/CodeMapping.h"
#include "runtime/include/nnv12.h"
#include "runtime/system/Memory.h"

#include <atomic>

/// Immutable once it is open, hence shared by threads and sessions without
/// locks. Counted: the caller's handle is one owner, each session another.
struct nnv12_bundle {
public:
  [[nodiscard]] bool open(const char *path, const nnv12_open_options &options,
                          nnv12::artifact::Fault &fault);
  [[nodiscard]] bool openMemory(const void *data, size_t size,
                                const nnv12_open_options &options,
                                nnv12::artifact::Fault &fault);

  void retain() { owners.fetch_add(1, std::memory_order_relaxed); }
  void release();

  const uint8_t *image() const { return bytes; }
  size_t imageSize() const { return length; }
  const nnv12::bundle::Bundle *metadata() const { return bundle; }
  /// The program that runs, its number among the bundle's, and its code.
  const nnv12::bundle::Program *chosenProgram() const { return program; }
  uint32_t programNumber() const { return number; }
  const uint8_t *code() const { return codeMapping.data(); }
  bool codeIsMapped() const { return mappedInPlace; }
  /// The digest of the metadata, which describes the whole bundle.
  const nnv12::artifact::Digest &digest() const {
    return header.metadataDigest;
  }
  /// Whether the image is a mapping of a file, and not the caller's memory.
  bool isMapped() const { return file.data(); }
  bool isSigned() const { return header.isSigned != 0; }
  /// Whether it was opened with a public key or an expected digest.
  bool takesNoOther() const { return isRestricted; }
  /// The overlays for GPUs of a bundle whose program has any. Checks them here,
  /// since opening does not. Copies them to `copy` where the metadata was
  /// copied. Null where they are wrong.
  [[nodiscard]] const nnv12::bundle::Overlays *
  loadOverlays(nnv12::runtime::Pages &copy,
               nnv12::artifact::Fault &fault) const;
  /// To a session's arena of at least a huge page, once: memory that has been
  /// supplied already, for its beginning. False where there is none.
  bool giveEarlyMemory(nnv12::runtime::Pages &arena);
  /// The largest scratch that a kernel of the program asks for.
  uint64_t scratchSize() const;

  const nnv12::runtime::Array<nnv12_tensor_info> &inputs() const {
    return inputInfos;
  }
  const nnv12::runtime::Array<nnv12_tensor_info> &outputs() const {
    return outputInfos;
  }

private:
  [[nodiscard]] bool load(const void *data, size_t size, int descriptor,
                          const nnv12_open_options &options,
                          nnv12::artifact::Fault &fault);
  [[nodiscard]] bool loadMetadata(bool copies, nnv12::artifact::Fault &fault);
  [[nodiscard]] bool hasKind(bool orTuning,
                             nnv12::artifact::Fault &fault) const;
  [[nodiscard]] bool chooseProgram(const char *target,
                                   nnv12::artifact::Fault &fault);
  [[nodiscard]] bool loadCode(int descriptor, nnv12::artifact::Fault &fault);
  [[nodiscard]] bool verifyWeights(nnv12::artifact::Fault &fault);
  void adviseWeights();
  void makeEarlyMemory();
  [[nodiscard]] bool describeTensors(nnv12::artifact::Fault &fault);

  std::atomic<uint32_t> owners{1};
  nnv12::artifact::MappedFile file; ///< empty when opened from memory
  const uint8_t *bytes = nullptr;
  size_t length = 0;
  nnv12::artifact::Header header = {}; ///< as it was verified
  nnv12::runtime::Pages metadataCopy;  ///< empty where it is used in place
  const nnv12::bundle::Bundle *bundle = nullptr;
  const nnv12::bundle::Program *program = nullptr;
  uint32_t number = 0; ///< of the program
  nnv12::runtime::Pages earlyMemory;
  std::atomic<bool> hasEarlyMemory{false};
  nnv12::runtime::CodeMapping codeMapping;
  bool mappedInPlace = false;
  bool isRestricted = false;
  nnv12::runtime::Array<nnv12_tensor_info> inputInfos;
  nnv12::runtime::Array<nnv12_tensor_info> outputInfos;
};

#endif // NNV12_RUNTIME_LOADEDBUNDLE_H
