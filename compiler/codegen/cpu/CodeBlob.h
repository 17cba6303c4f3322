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

/// Links ELF objects, which are files, with lld, in this process, into one
/// section without relocations. A symbol that is undefined in its object,
/// writable data, or an absolute address is an error that names it, reported at
/// `module`.
mlir::FailureOr<CodeBlob> linkFlat(mlir::ModuleOp module, const Target &target,
                                   llvm::ArrayRef<std::string> objects);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_CODEBLOB_H
