//===- Lowering.h - Kernels to the LLVM dialect -----------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_LOWERING_H
#define NNV12_COMPILER_CODEGEN_CPU_LOWERING_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

namespace nnv12::codegen {

/// Lowers vector/scf/arith/math/memref/func to the LLVM dialect, and adds each
/// kernel's entry point (`--lower-kernels`).
void buildKernelPipeline(mlir::OpPassManager &pm);

/// Runs it. Fails with a diagnostic.
mlir::LogicalResult lowerToLLVMDialect(mlir::ModuleOp module);

/// Registers the pipeline, and our own pass of it, with mlir-opt style tools.
void registerKernelPasses();

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_LOWERING_H
