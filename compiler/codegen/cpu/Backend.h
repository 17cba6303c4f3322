//===- Backend.h - From a module of kernels to machine code -----*- C++ -*-===//
//
// MLIR passes, LLVM, and lld in this process make one flat piece of code
// without relocations, writable data or undefined symbols, which works at any
// address that is a multiple of 4 KiB.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_BACKEND_H
#define NNV12_COMPILER_CODEGEN_CPU_BACKEND_H

#include "compiler/codegen/cpu/CodeBlob.h"
#include "llvm/Support/raw_ostream.h"

namespace nnv12::codegen {

/// How hard LLVM tries. Checked kernels have so many branches that full effort
/// takes minutes.
enum class Effort { Full, Least };

/// Compiles a module that KernelBuilder made. The module is lowered in place
/// and of no use afterwards. The same module gives the same bytes. Errors are
/// reported at the module's location.
mlir::FailureOr<CodeBlob> compileModule(mlir::ModuleOp module,
                                        const Target &target,
                                        Effort effort = Effort::Full);

/// The fingerprints that compileModule() would give the kernels, in half the
/// time. The module is of no use afterwards.
mlir::FailureOr<Fingerprints> fingerprintModule(mlir::ModuleOp module,
                                                const Target &target);

/// The same module as text, for a reader.
enum class CodeText { LLVM, Assembly };
mlir::LogicalResult printModule(mlir::ModuleOp module, const Target &target,
                                CodeText kind, llvm::raw_ostream &os);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_BACKEND_H
