//===- PackedImage.h - Bundles with parts that are used often ---*- C++ -*-===//
#ifndef NNV12_TEST_FUZZ_PACKEDIMAGE_H
#define NNV12_TEST_FUZZ_PACKEDIMAGE_H

#include "test/fuzz/InventedPlan.h"

namespace nnv12::test {

/// Memory that holds one image after another: header and metadata change, code
/// (which does nothing but return) and weights stay. In a file without a name
/// as well.
class PackedImage {
public:
  PackedImage();
  PackedImage(const PackedImage &) = delete;

  static constexpr uint64_t codeSize = 4096;
  const InventedWeights &weights() const { return known; }

  /// Puts `bundle` into the image with digests that fit. Tables and vectors are
  /// used again for others, and some many times, as the choices have it. False
  /// when the metadata has no room.
  bool pack(Choices &choices, const artifact::Bundle &bundle);

  const uint8_t *data() const { return bytes; }
  size_t size() const { return total; }
  size_t metadataSize() const { return packedSize; }
  /// A path under which the same bytes can be opened.
  const char *path() const { return filePath; }

private:
  uint8_t *bytes;
  size_t total, packedSize = 0;
  InventedWeights known;
  uint8_t codeDigest[32], weightsDigest[32];
  int file;
  char filePath[64];
};

} // namespace nnv12::test

#endif // NNV12_TEST_FUZZ_PACKEDIMAGE_H
