//===- OutOfMemory.h - Ends the compiler in one line ------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_OUTOFMEMORY_H
#define NNV12_TOOLS_NNV12C_OUTOFMEMORY_H

#include "llvm/ADT/StringRef.h"

namespace nnv12 {

/// From now on a process that gets no more memory, or that LLVM cannot go on
/// with, says so in one line with the model's name, removes its temporary files
/// and ends with 1.
void handleOutOfMemory(llvm::StringRef model);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_OUTOFMEMORY_H
