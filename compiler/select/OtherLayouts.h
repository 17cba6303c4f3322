//===- OtherLayouts.h - Layers in the layouts of a net ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_SELECT_OTHERLAYOUTS_H
#define NNV12_COMPILER_SELECT_OTHERLAYOUTS_H

#include "compiler/routines/LayerIn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <deque>
#include <vector>

namespace nnv12 {

/// Layers by themselves that a selection of layouts may put into a model: its
/// own in all their other signatures, and the adapts between these. Their
/// kernels are measured beside those of the model.
class OtherLayouts {
public:
  /// None of nothing.
  OtherLayouts() = default;
  /// `main` has layouts; it must outlive this.
  explicit OtherLayouts(mlir::func::FuncOp main);

  std::vector<mlir::Operation *> layers();

private:
  void addAdapts(mlir::Value value, llvm::ArrayRef<std::string> tags);

  // Neither moves: they are blocks.
  std::deque<LayerIn> others;
  std::deque<AdaptLayer> adapts;
};

} // namespace nnv12

#endif // NNV12_COMPILER_SELECT_OTHERLAYOUTS_H
