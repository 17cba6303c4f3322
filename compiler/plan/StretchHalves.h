//===- StretchHalves.h - Tensors that a GPU stores in f16 -------*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_STRETCHHALVES_H
#define NNV12_COMPILER_PLAN_STRETCHHALVES_H

#include "compiler/codegen/gpu/GpuRoutine.h"
#include "compiler/layers/ExecutionOrder.h"
#include "compiler/plan/PlannedLayer.h"

namespace nnv12 {

/// Which tensors a GPU may store in f16.
enum class HalfUse {
  None,
  Exact, ///< weights that are halves
  All    ///< all that fit halves, rounded
};

/// Decides which tensors lie in the GPU's memory in f16: weights that fit
/// halves, unless a routine wants a form of its own, and tensors between layers
/// that no CPU touches.
class StretchHalves {
public:
  StretchHalves(const ExecutionOrder &order,
                llvm::ArrayRef<PlannedLayer> layers,
                HalfUse use = HalfUse::All);

  /// For a layer in a stretch of the layers from `first` to before `end`. Where
  /// that is all of them there are the most.
  codegen::HalfTensors of(size_t layer, const codegen::GpuRoutine &routine,
                          size_t first, size_t end);

private:
  codegen::HalfTensors weights(size_t layer,
                               const codegen::GpuRoutine &routine);
  /// Whether a tensor can lie in the GPU's memory in f16.
  bool canBeHalf(mlir::Value tensor) const;

  const ExecutionOrder &order;
  llvm::ArrayRef<PlannedLayer> layers;
  HalfUse use;
  llvm::DenseSet<mlir::Value> refused; ///< bases of tensors that stay f32
  llvm::DenseMap<mlir::Attribute, bool> fits; ///< constants
};

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_STRETCHHALVES_H
