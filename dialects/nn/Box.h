//===- Box.h - A part of a tensor -------------------------------*- C++ -*-===//
#ifndef NNV12_DIALECTS_NN_BOX_H
#define NNV12_DIALECTS_NN_BOX_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace nnv12::nn {

/// The elements of a tensor whose index is in [lo, hi) in each dimension of the
/// logical shape. A scalar's box, which has no dimension, holds its element.
struct Box {
  llvm::SmallVector<int64_t> lo, hi;

  static Box whole(llvm::ArrayRef<int64_t> shape);
  /// No element of a tensor of `rank` dimensions, if it has any.
  static Box none(int64_t rank);
  bool isEmpty() const;
  /// Grows to the smallest box that holds both.
  void include(const Box &other);
  /// Cuts off the part outside of the shape.
  void clamp(llvm::ArrayRef<int64_t> shape);

  bool operator==(const Box &other) const {
    return lo == other.lo && hi == other.hi;
  }
};

/// The elements of an operand that `part` of its layer's result number `result`
/// depends on, or a box around them, inside of the operand: all of it where
/// nothing better is known. By the definition of the layer the elements outside
/// do not count. A kernel may still round differently for them, as Winograd's
/// do, whose windows share the elements that they read.
Box neededPart(mlir::OpOperand &operand, const Box &part, unsigned result = 0);

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_BOX_H
