//===- ElementKernel.h - The loops around an element ------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ELEMENTKERNEL_H
#define NNV12_COMPILER_CODEGEN_CPU_ELEMENTKERNEL_H

#include "compiler/codegen/cpu/CpuRoutine.h"

namespace nnv12::codegen {

/// Emits a kernel that computes the result of `layer` element by element: loops
/// over the result's memory, in whichever of a few ways promises to cost least.
KernelInfo emitElementKernel(KernelBuilder &k, mlir::Operation *layer,
                             llvm::StringRef symbol);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ELEMENTKERNEL_H
