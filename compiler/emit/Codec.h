//===- Codec.h - Lossless compression of weights ----------------*- C++ -*-===//
//
// Pure: knows nothing of MLIR. The neighbouring weights of a trained model
// differ in all mantissa bits but share most of sign and exponent. Splitting
// elements into planes (byte b of all elements together) puts bytes that are
// alike next to each other; zstd then finds it.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_EMIT_CODEC_H
#define NNV12_COMPILER_EMIT_CODEC_H

#include <cstdint>
#include <vector>

namespace nnv12 {

/// Weights that artifact::OperationKind::Decode decodes.
struct Encoded {
  std::vector<char> bytes; ///< one zstd frame that holds its content size
  /// Bytes of an element that were split into planes; 1: not split.
  uint8_t planes = 1;
};

/// Compresses `size` bytes of elements of `elementSize` bytes (a power of two
/// up to 8), as planes or as they are, whichever is smaller. The same bytes
/// give the same frame. No bytes at all, which are no frame, where memory runs
/// out.
Encoded encode(const void *data, uint64_t size, unsigned elementSize);

/// estimate() looks at so many pieces, each half as large as one of zstd's
/// blocks: its tables weigh little more than in the whole. Larger ones, or
/// more, take as much longer.
constexpr uint64_t estimatePieces = 4, estimatePieceBytes = 64 << 10;

/// The expected result of encode(), by pieces spread over `data`.
struct Estimate {
  double ratio = 1;     ///< the encoded part of the size; 1: nothing is saved
  bool repeats = false; ///< not in planes: whole elements repeat, which takes
                        ///< longer to decode
};
Estimate estimate(const void *data, uint64_t size, unsigned elementSize);

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_CODEC_H
