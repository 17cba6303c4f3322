//===- KernelNames.h - Names in a module of kernels -------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_KERNELNAMES_H
#define NNV12_COMPILER_CODEGEN_CPU_KERNELNAMES_H

#include "llvm/ADT/StringRef.h"

namespace nnv12::codegen {

/// On the function that holds a kernel's body: the symbol of its entry point.
constexpr llvm::StringLiteral kernelEntryAttribute = "entry";
constexpr llvm::StringLiteral kernelBodySuffix = ".body";

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_KERNELNAMES_H
