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

/// planDevice() for the layers of `main`: its target has no greater extension
/// than they have a use for.
mlir::FailureOr<PlanDevice> planDeviceFor(mlir::func::FuncOp main,
                                          llvm::StringRef target,
                                          llvm::StringRef profile);

/// The greatest one of the plan's target that its kernels use.
codegen::Extension usedExtension(const ModelPlan &plan);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_USEDEXTENSION_H
