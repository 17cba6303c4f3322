//===- Digest.h - BLAKE2bp, 32 bytes ----------------------------*- C++ -*-===//
//
// The digest of bundles: https://www.blake2.net/blake2.pdf, 2.10 and 2.11. Four
// BLAKE2b share the blocks, so that vector instructions hash four blocks at a
// time; a fifth makes one digest of theirs. Written here because the runtime
// must check its code before it runs it, and must not need a library for that;
// tests compare it with the authors' code.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_DIGEST_H
#define NNV12_ARTIFACT_DIGEST_H

#include "artifact/DigestLeaves.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace nnv12::artifact {

struct Digest {
  uint8_t bytes[32];

  bool operator==(const Digest &other) const {
    return memcmp(bytes, other.bytes, sizeof bytes) == 0;
  }
  bool operator!=(const Digest &other) const { return !(*this == other); }
};

/// A digest over bytes that arrive in pieces.
class Hasher {
public:
  Hasher();
  /// The CPU must have the feature that `compressor` needs.
  explicit Hasher(const Compressor &compressor);
  void update(const void *data, size_t size);
  /// The hasher must not be used afterwards.
  Digest finish();

private:
  void compressRow(const uint8_t *row);

  /// A block for each leaf.
  static constexpr size_t rowSize = Leaves::number * Leaves::blockSize;

  const Compressor &compressor_;
  Leaves leaves_;
  uint8_t buffer_[2 * rowSize];
  size_t used_ = 0;
};

Digest digestOf(const void *data, size_t size);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_DIGEST_H
