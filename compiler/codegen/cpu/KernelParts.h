//===- KernelParts.h - Kernels that are compiled by themselves --*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_KERNELPARTS_H
#define NNV12_COMPILER_CODEGEN_CPU_KERNELPARTS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <vector>

namespace nnv12::codegen {

/// Takes the functions of `module` apart into modules that refer to nothing of
/// one another and are about as large as one another, so that they can be
/// compiled at the same time. As many as the functions alone say: the same code
/// comes of it on every machine.
std::vector<mlir::OwningOpRef<mlir::ModuleOp>>
splitKernels(mlir::ModuleOp module);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_KERNELPARTS_H
