//===- UsedExtension.h - The least target of a model ------------*- C++ -*-===//
//
// A program uses an extension of its target (Extension in Target.h) where a
// kernel does; else it is one of the base.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_PLAN_USEDEXTENSION_H
#define NNV12_COMPILER_PLAN_USEDEXTENSION_H

#include "compiler/plan/ModelPlan.h"

namespace nnv12 {

/// The greatest extension of the target that a candidate of a layer of `main`
/// has a use for. The layers have their layouts.
codegen::Extension usableExtension(mlir::func::FuncOp main,
                                   const codegen::Target &target);

/// The greatest one of the plan's target that its kernels use.
codegen::Extension usedExtension(const ModelPlan &plan);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_USEDEXTENSION_H
