//===- NearWeights.h - Weights that fewer bits hold nearly ---*- C++ -*-===//
#ifndef NNV12_COMPILER_WEIGHTS_NEARWEIGHTS_H
#define NNV12_COMPILER_WEIGHTS_NEARWEIGHTS_H

#include "compiler/weights/Rounding.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"

namespace nnv12 {

/// WeightBits::Auto takes 8 bits where the weights' own error is this at most:
/// the sum of squared differences by that of squared weights, of each channel;
/// the root of the mean of these.
constexpr double smallWeightError = 0.01;

/// Elements near to those of the constant of packed f32 weights, of which an
/// exact narrowing (Narrow.h) has so many bits. Null where they stay as they
/// are: they are narrow enough already, or too few to be worth it; no number of
/// that format is near to one of them; or all are too small for it. `outputs`
/// is the dimension of which each index has the weights of one sum of products:
/// their sum stays. Without it all are rounded to the nearest numbers.
mlir::ElementsAttr nearWeights(mlir::Value constant, WeightBits bits,
                               std::optional<unsigned> outputs);

} // namespace nnv12

#endif // NNV12_COMPILER_WEIGHTS_NEARWEIGHTS_H
