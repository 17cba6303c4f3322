//===- CheckBounds.h - Checks every access of a kernel ----------*- C++ -*-===//
//
// For developers (nnv12c --check-bounds): each load and store of a kernel, and
// of the micro-kernels it calls, is compared with the size of the operand that
// it goes to. An access outside stops the process as artifact/BoundsFault.h
// says.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_CHECKBOUNDS_H
#define NNV12_COMPILER_CODEGEN_CPU_CHECKBOUNDS_H

#include "compiler/codegen/cpu/Target.h"
#include "mlir/IR/BuiltinOps.h"

namespace nnv12::codegen {

/// Tells checkBounds() of the kernel `symbol` how to call it in a report, and
/// the sizes in bytes of its operands, results first, and of scratch memory.
void describeBounds(mlir::ModuleOp module, llvm::StringRef symbol,
                    llvm::StringRef title, llvm::ArrayRef<int64_t> operandBytes,
                    int64_t scratchBytes);

/// Adds the checks to a module that KernelBuilder made and whose kernels were
/// all described. An access that cannot be checked is an error.
mlir::LogicalResult checkBounds(mlir::ModuleOp module, const Target &target);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_CHECKBOUNDS_H
