//===- DigestLeaves.h - Four BLAKE2b, side by side --------------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_DIGESTLEAVES_H
#define NNV12_ARTIFACT_DIGESTLEAVES_H

#include <cstddef>
#include <cstdint>

namespace nnv12::artifact {

/// The four leaves of BLAKE2bp, as vectors of four want them: the innermost
/// index is the leaf's.
struct Leaves {
  static constexpr unsigned number = 4;
  static constexpr size_t blockSize = 128;

  uint64_t state[8][number];
  /// Bytes so far, those of the block that comes next included.
  uint64_t count[number];
  /// All ones: that block is the last.
  uint64_t last[number];
  /// All ones: it is the last of the last node of its level as well.
  uint64_t lastNode[number];
};

/// BLAKE2b's compression function in some set of instructions.
struct Compressor {
  /// The CPU's feature that it needs (LLVM's name); null: none.
  const char *feature;
  /// Compresses one block into each leaf.
  void (*compress)(Leaves &leaves, const uint8_t *const blocks[Leaves::number]);
};

/// All that this library has, the fastest first; the last needs no feature.
extern const Compressor compressors[];

/// RFC 7693, 2.6.
constexpr uint64_t blake2bInitial[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b,
                                        0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                                        0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                        0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_DIGESTLEAVES_H
