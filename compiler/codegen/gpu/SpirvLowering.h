//===- SpirvLowering.h - Kernels of GPUs to SPIR-V --------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_SPIRVLOWERING_H
#define NNV12_COMPILER_CODEGEN_GPU_SPIRVLOWERING_H

#include "compiler/codegen/gpu/KernelNeeds.h"
#include "compiler/codegen/gpu/SpirvModule.h"
#include "mlir/IR/BuiltinOps.h"

namespace nnv12::codegen {

/// Simplifies a module of GpuBuilder, rewrites operations that SPIR-V lacks,
/// and makes operands of tables. The first step of lowerToSpirv, after which
/// needsOf can be asked.
mlir::LogicalResult simplifyForSpirv(mlir::ModuleOp module);
KernelNeeds needsOf(mlir::ModuleOp module);

/// A module of GpuBuilder, which is taken apart, as SPIR-V. Fails with a
/// diagnostic where it needs more than `target` has.
mlir::FailureOr<SpirvModule> lowerToSpirv(mlir::ModuleOp module,
                                          const GpuTarget &target);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_SPIRVLOWERING_H
