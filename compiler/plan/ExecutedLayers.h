//===- ExecutedLayers.h - Facts of layers that a plan must know -*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_EXECUTEDLAYERS_H
#define NNV12_COMPILER_PLAN_EXECUTEDLAYERS_H

#include "compiler/layers/ExecutionOrder.h"

#include <cassert>
#include <optional>
#include <string>
#include <vector>

namespace nnv12 {

/// A layer that has an execute: no constant, and not in place already.
struct ExecutedLayer {
  mlir::Operation *op = nullptr;
  std::string name; ///< of the ONNX node, or of the first of several

  /// The operand that the main weights are: the largest of the layer's
  /// constants that no earlier layer reads. None: there is nothing to be read.
  /// Others (bias and the like) are kept packed, without a codec.
  std::optional<unsigned> mainOperand;
  /// A later layer reads the main weights too: they must exist as their type
  /// says.
  bool isShared = false;
  /// A later layer asks whether floats that depend on this one's result are
  /// equal. How the last bit is rounded may then decide, so only the preferred
  /// routine computes it: the others are as exact, but round differently.
  bool isComparedForEquality = false;
  double otherBytes = 0; ///< of the other constants that no earlier layer reads
  /// Memory for activations that no layer has used before this one: in huge
  /// pages where there are such, and in small ones, in which are the caller's
  /// outputs, small arenas and the end of others.
  double freshBytes = 0, freshSmallBytes = 0;
  /// The part of both that is wanted before a preparation lane has had time to
  /// touch it.
  double freshAtOnceBytes = 0, freshSmallAtOnceBytes = 0;
  /// Such memory, even if opening the bundle has supplied it, and model inputs
  /// that no layer has read before: in no cache, unlike results that an earlier
  /// layer has just written.
  double uncachedBytes = 0;

  mlir::Value weights() const {
    assert(mainOperand && "the layer has main weights");
    return op->getOperand(*mainOperand);
  }
};

/// All of them, in execution order: element i has number i in the plan.
std::vector<ExecutedLayer> executedLayers(const ExecutionOrder &order);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_EXECUTEDLAYERS_H
