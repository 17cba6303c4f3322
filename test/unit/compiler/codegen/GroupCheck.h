//===- GroupCheck.h - Proves what groups write by running them --*- C++ -*-===//
//
// The twin of TileCheck.h for a GPU's dispatches: the work groups run one by
// one, in both orders, into memory that is poisoned. Each has to write the box
// that its TileMap declares, all of it and nothing else, and the same bytes as
// a run of all groups at once.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_COMPILER_CODEGEN_GROUPCHECK_H
#define NNV12_TEST_UNIT_COMPILER_CODEGEN_GROUPCHECK_H

#include "compiler/codegen/gpu/GpuStep.h"

#include <string>

namespace nnv12::test {

/// Checks a dispatch with maps. `written` are the operands that they are of;
/// `run` runs groups [first, end) and returns a fault. Empty, or one line that
/// tells what is wrong.
std::string
checkGroups(const codegen::GpuDispatch &dispatch,
            llvm::ArrayRef<llvm::MutableArrayRef<char>> written,
            llvm::function_ref<std::string(int64_t first, int64_t end)> run);

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_CODEGEN_GROUPCHECK_H
