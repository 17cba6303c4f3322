//===- PatchedMetadata.h - Metadata that no writer makes --------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_ARTIFACT_PATCHEDMETADATA_H
#define NNV12_TEST_UNIT_ARTIFACT_PATCHEDMETADATA_H

#include "artifact/Compatibility.h"
#include "artifact/ProgramView.h"
#include "artifact/Verifier.h"
#include "artifact/Writer.h"
#include "test/unit/sample/SampleBundle.h"

#include <gtest/gtest.h>
#include <memory>

namespace nnv12::test {

/// The metadata of a bundle in memory, and its overlays, where every scalar can
/// be made another one: the writer stores all of them.
class PatchedMetadata {
public:
  explicit PatchedMetadata(const artifact::Bundle &source) {
    TemporaryFolder folder;
    std::string path = folder.file("a.nnv");
    EXPECT_EQ(artifact::writeBundle(source, path), "");
    std::vector<unsigned char> image = readFile(path);
    artifact::Header header;
    memcpy(&header, image.data(), sizeof header);
    fileSize = image.size();
    bytes = std::make_unique<AlignedCopy>(image.data() + header.metadataOffset,
                                          header.metadataSize);
    overlayBytes = copyOf(artifact::gpuOverlayIn(bundle()), image);
    videoBytes = copyOf(artifact::videoOverlayIn(bundle()), image);
  }

  const bundle::Bundle *bundle() const {
    return bundle::GetBundle(bytes->data);
  }
  const bundle::Program *program(uint32_t index = 0) const {
    return bundle()->programs()->Get(index);
  }

  const bundle::Target *target(uint32_t program = 0) const {
    return artifact::targetOf(bundle(), this->program(program));
  }

  const AlignedCopy &metadata() const { return *bytes; }
  const AlignedCopy &overlayImage() const { return *overlayBytes; }

  /// The overlays of a bundle that has some.
  const bundle::GpuOverlays *overlays() const {
    return flatbuffers::GetRoot<bundle::GpuOverlays>(overlayBytes->data);
  }
  const bundle::ProgramGpu *overlay(uint32_t program = 0) const {
    return artifact::overlayOf(overlays(), this->program(program));
  }

  /// A program's entry for its overlay for a GPU.
  const bundle::Overlay *gpuOverlay(uint32_t program = 0) const {
    return artifact::findOverlay(this->program(program),
                                 bundle::OverlayKind_Gpu);
  }

  // The same for video.
  const AlignedCopy &videoImage() const { return *videoBytes; }
  const bundle::VideoOverlays *videos() const {
    return flatbuffers::GetRoot<bundle::VideoOverlays>(videoBytes->data);
  }
  const bundle::ProgramVideo *video(uint32_t program = 0) const {
    return artifact::videoOf(videos(), this->program(program));
  }
  const bundle::Overlay *videoOverlay(uint32_t program = 0) const {
    return artifact::findOverlay(this->program(program),
                                 bundle::OverlayKind_Video);
  }

  /// Without overlays.
  bool verifyMetadata(artifact::Fault &fault) const {
    return artifact::verifyMetadata(bytes->data, bytes->size, fileSize, fault);
  }
  bool verify(artifact::Fault &fault) const {
    return verifyMetadata(fault) &&
           (!overlayBytes ||
            artifact::verifyOverlays(bundle(), gpuOverlay()->segment(),
                                     overlayBytes->data, fault)) &&
           (!videoBytes || verifyVideo(fault));
  }
  bool verifyVideo(artifact::Fault &fault) const {
    return artifact::verifyVideo(bundle(), videoOverlay()->segment(),
                                 videoBytes->data, fault);
  }

  /// patch<uint32_t>(lane, bundle::Lane::VT_PROCESSOR, 1)
  template <typename Value, typename Table>
  static void patch(const Table *table, flatbuffers::voffset_t field,
                    Value value) {
    auto *generic = const_cast<flatbuffers::Table *>(
        reinterpret_cast<const flatbuffers::Table *>(table));
    ASSERT_NE(generic->GetOptionalFieldOffset(field), 0);
    generic->SetField<Value>(field, value, Value());
  }

  /// Leaves the first `size` elements.
  template <typename Vector>
  static void shorten(const Vector *vector, uint32_t size) {
    ASSERT_LE(size, vector->size());
    flatbuffers::WriteScalar(
        const_cast<uint8_t *>(reinterpret_cast<const uint8_t *>(vector)), size);
  }

private:
  /// The bytes of an overlay's segment, if there is one.
  std::unique_ptr<AlignedCopy>
  copyOf(const bundle::Overlay *overlay,
         const std::vector<unsigned char> &image) const {
    if (!overlay)
      return nullptr;
    const bundle::Segment *segment =
        bundle()->segments()->Get(overlay->segment());
    return std::make_unique<AlignedCopy>(image.data() + segment->offset(),
                                         segment->size());
  }

  uint64_t fileSize;
  std::unique_ptr<AlignedCopy> bytes, overlayBytes, videoBytes;
};

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_ARTIFACT_PATCHEDMETADATA_H
