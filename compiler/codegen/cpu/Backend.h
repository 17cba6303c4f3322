//===- Backend.h - From a module of kernels to machine code -----*- C++ -*-===//
//
// MLIR passes, LLVM, and lld make one flat piece of code
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

/// Does tasks 0 to `count` - 1, in any order or at the same time, and returns
/// whether all were done. A task may be done in a copy of this process: it
/// leaves files alone.
using DoTasks = llvm::function_ref<bool(unsigned count,
                                        llvm::function_ref<bool(unsigned)>)>;
/// One after the other, until one is not done.
bool doInTurn(unsigned count, llvm::function_ref<bool(unsigned)> task);

/// Compiles a module that KernelBuilder made, in parts that are tasks of
/// `doTasks`. The module is of no use afterwards. The same module gives the
/// same bytes. Errors are reported at the module's location.
mlir::FailureOr<CodeBlob> compileModule(mlir::ModuleOp module,
                                        const Target &target,
                                        Effort effort = Effort::Full,
                                        DoTasks doTasks = doInTurn);

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
