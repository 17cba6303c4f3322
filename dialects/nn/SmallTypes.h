//===- SmallTypes.h - Element types that are moved and cast -----*- C++ -*-===//
//
// ONNX's floats of 8 and 4 bits and integers of 4 and 2. Layers only move their
// elements, cast them, or choose between them; to compute, they cast first. An
// element takes a byte: the code of a float, the low bits for an integer.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_DIALECTS_NN_SMALLTYPES_H
#define NNV12_DIALECTS_NN_SMALLTYPES_H

#include "artifact/SmallFloat.h"
#include "dialects/nn/NNDialect.h"

namespace nnv12::nn {

/// The format of a float of 8 or 4 bits, nullptr for any other type.
const artifact::SmallFloat *smallFloat(mlir::Type element);

/// Whether it is an integer of 4 or 2 bits.
bool isSmallInteger(mlir::Type element);

/// The same by the name that formats have for it.
inline artifact::SmallFloat::Rounding toFormat(Rounding rounding) {
  using R = artifact::SmallFloat::Rounding;
  return rounding == Rounding::nearest ? R::Nearest
         : rounding == Rounding::up    ? R::Up
                                       : R::Down;
}

/// Whether layers do not compute with it.
inline bool isSmall(mlir::Type element) {
  return smallFloat(element) || isSmallInteger(element);
}

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_SMALLTYPES_H
