//===- CodeBlob.h - The machine code of a module of kernels -----*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_CODEBLOB_H
#define NNV12_COMPILER_CODEGEN_CPU_CODEBLOB_H

#include "compiler/codegen/cpu/CodeDigest.h"
#include "compiler/codegen/cpu/Target.h"
#include "mlir/IR/BuiltinOps.h"

namespace nnv12::codegen {

/// The code of one target.
struct CodeBlob {
  std::vector<char> bytes;
  /// Offset of each entry point by its symbol.
  std::map<std::string, uint32_t> entries;
  Fingerprints fingerprints;
};

/// Links an ELF object with lld, in this process, into one section without
/// relocations. An undefined symbol, writable data, or an absolute address
/// is an error that names it, reported at `module`.
mlir::FailureOr<CodeBlob> linkFlat(mlir::ModuleOp module, const Target &target,
                                   llvm::ArrayRef<char> object);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_CODEBLOB_H
