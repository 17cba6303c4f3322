//===- LayoutSelection.h - Layouts by the costs of the net ------*- C++ -*-===//
//
// SoftNeuro, section IV: the routines and the layouts of all layers are one
// problem. Here it is solved in two steps. The net (search::Net) has the
// costs of layers and adapts one by one. It cannot see lanes that prepare
// weights meanwhile, memory, and tensors in place. So each answer of the net
// gets a plan of the whole model, and these are compared.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SELECT_LAYOUTSELECTION_H
#define NNV12_COMPILER_SELECT_LAYOUTSELECTION_H

#include "compiler/plan/Report.h"
#include "mlir/IR/BuiltinOps.h"

namespace nnv12 {

/// A plan with its model.
struct SelectedLayouts {
  /// Owns the layers of the plan where they have other layouts; else null.
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp main; ///< the function whose layers are planned
  ModelPlan plan;
  unsigned changed = 0; ///< layers in other layouts than at first
  /// A line for people: the layouts that were taken, and why.
  std::string report = {};
  /// On the layouts of each layer of `main`; empty where nothing was selected.
  LayerNotes notes = LayerNotes();
};

/// The plan of `main`, which has the layouts of preferred routines, or that of
/// a copy in layouts that `options.layouts` selects. Layouts of a net are taken
/// where their plan is predicted to be better by `options.layoutMargin`, and no
/// later at its first result: below that, predictions cannot tell. With
/// `constantsStay` constants keep their layouts, for they are in a bundle
/// already. Fails as planModel() does.
mlir::FailureOr<SelectedLayouts> selectLayouts(mlir::func::FuncOp main,
                                               const PlanDevice &device,
                                               const PlanOptions &options,
                                               bool constantsStay);

} // namespace nnv12

#endif // NNV12_COMPILER_SELECT_LAYOUTSELECTION_H
