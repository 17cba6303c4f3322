//===- RoutineTable.h - Which routine fits which layer ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINETABLE_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINETABLE_H

#include "llvm/Support/raw_ostream.h"

namespace nnv12::codegen {

/// Prints docs/routines.md: all routines, and the registry's answers for
/// made-up layers of every class (after Figure 5 of the NNV12 paper).
void printRoutineTable(llvm::raw_ostream &os);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINETABLE_H
