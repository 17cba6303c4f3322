//===- SumRoutine.h - Routines of sums with an epilogue ---------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_ROUTINES_SUMROUTINE_H
#define NNV12_COMPILER_CODEGEN_GPU_ROUTINES_SUMROUTINE_H

#include "compiler/codegen/gpu/GpuRoutine.h"
#include "compiler/codegen/gpu/routines/PushEpilogue.h"
#include "compiler/routines/Layouts.h"
#include "compiler/routines/WindowShape.h"

#include <type_traits>

namespace nnv12::codegen {

/// Convolutions and products of matrices.
class SumRoutine : public GpuRoutine {
public:
  using GpuRoutine::GpuRoutine;
  KernelNeeds needs(Operation *layer) const final {
    return PushEpilogue::needs(epilogueOf(layer));
  }

protected:
  static Epilogue epilogueOf(Operation *layer) {
    return Epilogue::of(llvm::cast<nn::Linear>(layer));
  }
  /// oneStep() of a kernel that binds result, input, weights, bias and residual
  /// or, of matrices, both in place of input and weights. Key and dispatch are
  /// those without an epilogue.
  GpuSteps oneSum(Operation *layer, Cut cut, const std::string &key,
                  GpuDispatch dispatch, double inner) const;
};

/// Convolutions, transposed or not, with windows of one or two dimensions. By
/// default their channels are in blocks.
template <typename Op> class ConvolutionRoutine : public SumRoutine {
public:
  using SumRoutine::SumRoutine;
  LayoutRequest layouts(Operation *layer) const override {
    return blockedLayouts(layer,
                          isTransposed<Op> ? transposedPanelTag : panelTag);
  }
  Work work(Operation *layer) const override {
    return {blockedMultiplyAdds(layer), bytesOf(layer)};
  }
  std::string misfit(Operation *layer) const final {
    auto op = llvm::dyn_cast<Op>(layer);
    if (!op || !hasBlockableWindow(op))
      return noBlockableWindow<Op>;
    return windowMisfit(op, sizes(op));
  }

protected:
  virtual std::string windowMisfit(Op op, const WindowShape &w) const = 0;
  static WindowShape sizes(Op op) { return WindowShape(op); }
  /// Whether there are groups that begin or end within a block.
  static bool cutsBlocks(int64_t groups, const WindowShape &w) {
    return groups > 1 && (w.channels / groups % block != 0 ||
                          w.outChannels / groups % block != 0);
  }
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_ROUTINES_SUMROUTINE_H
