//===- FlatLink.h - Links an object into a flat blob ------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_FLATLINK_H
#define NNV12_COMPILER_CODEGEN_CPU_FLATLINK_H

#include "compiler/codegen/cpu/CodeBlob.h"
#include "compiler/codegen/cpu/Target.h"
#include "mlir/IR/BuiltinOps.h"

namespace nnv12::codegen {

/// Links an ELF object with lld, in this process, into one section without
/// relocations. An undefined symbol, writable data, or an absolute address
/// is an error that names it, reported at `module`.
mlir::FailureOr<CodeBlob> linkFlat(mlir::ModuleOp module, const Target &target,
                                   llvm::ArrayRef<char> object);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_FLATLINK_H
