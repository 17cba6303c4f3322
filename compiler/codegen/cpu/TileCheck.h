//===- TileCheck.h - Proves what tiles write by running them ----*- C++ -*-===//
//
// For developers (nnv12c --check-tiles) and tests: the tiles of a kernel run
// one by one, in random orders, into memory that is poisoned and ends at pages
// that nobody may touch. A tile has to write the box that its TileMap declares,
// all of it and nothing else, and the same numbers as a run of all tiles at
// once, so that no tile can depend on another. Kernels without a map have to
// write disjoint parts that make up the results. Operands hold ordinary numbers
// first, and then the worst ones: no value may lead outside of memory.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_TILECHECK_H
#define NNV12_COMPILER_CODEGEN_CPU_TILECHECK_H

#include "artifact/Bundle.h"
#include "compiler/codegen/cpu/CpuRoutine.h"

namespace nnv12::codegen {

/// A kernel to check.
struct TileCheck {
  struct Operand {
    int64_t bytes;
    Type element; ///< the type of the operand's numbers
  };
  std::string name;   ///< for messages
  uint32_t entry = 0; ///< offset in the code
  unsigned results = 1;
  KernelInfo info;
  SmallVector<Operand> operands; ///< results first
};

/// Checks one kernel in this process, which dies where the kernel touches
/// memory that is not its own. Empty, or one line that tells what is wrong.
std::string runTileCheck(const TileCheck &check, artifact::KernelFn kernel);

/// Checks all kernels of `code` in a process of its own, up to the first that
/// fails. Empty, or one line.
std::string runTileChecks(ArrayRef<TileCheck> checks, ArrayRef<char> code,
                          const Target &target);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_TILECHECK_H
