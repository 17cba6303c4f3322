//===- Moves.h - Which bytes of operands a result is ------------*- C++ -*-===//
#ifndef NNV12_COMPILER_VERIFY_MOVES_H
#define NNV12_COMPILER_VERIFY_MOVES_H

#include "mlir/IR/Operation.h"

#include <optional>
#include <vector>

namespace nnv12 {

/// Bytes [result, result + size) of a layer's result are bytes [source, source
/// + size) of an operand.
struct Move {
  uint64_t result;
  unsigned operand;
  uint64_t source;
  uint64_t size;
};

/// A reshape, a change of layout, a slice or a concatenation as moves of bytes,
/// in the order of the result's bytes, which they cover: read off the layer's
/// definition and the layouts of its types. Where the result is padded to whole
/// blocks, its padding is the operand's. Nothing for other layers, where the
/// layouts are unlike or a cut goes through a block, and where there would be
/// more than 2^16 moves.
std::optional<std::vector<Move>> movesOf(mlir::Operation *layer);

} // namespace nnv12

#endif // NNV12_COMPILER_VERIFY_MOVES_H
