//===- SplitProof.h - Proves that CPU and GPU share layers ------*- C++ -*-===//
//
// The CPU's side of a stretch that is split. StretchProof.h follows the GPU's:
// each dispatch finds the contents that it reads in the GPU's memory. Here each
// part finds those that it reads in the CPU's. So neither reads a row that the
// other side alone has computed, not even in the halo of a window.
//
// `nn::neededPart` says for each position of a part which operands it needs.
// The windows that the search knows do not count here.
//
// While parts run, a GPU that works in the CPU's memory may write the rows of
// `out` at any time, so no part finds anything there. Behind the stretch these
// rows are the GPU's.
//
// Taken for granted:
//   - The tiles of a kernel write their part of its map, with the bits of the
//     whole layer, and nothing else. They read no more than `nn::neededPart`
//     says. (PartGridTest.cpp tries both.)
//   - No part writes a byte of `out`, or one that is needed as it was before
//     the stretch, which a GPU in the CPU's memory may still read
//     (artifact/GpuFlowVerifier.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_VERIFY_SPLITPROOF_H
#define NNV12_COMPILER_VERIFY_SPLITPROOF_H

#include "compiler/verify/ProgramImage.h"

#include <map>

namespace nnv12 {

/// A stretch that is split, and how the plan says that it is computed.
struct SplitClaim {
  const artifact::Stretch &stretch;
  unsigned number; ///< of the stretch
  plan::StretchOp planned;
  llvm::ArrayRef<mlir::Operation *> layers; ///< by their numbers in the plan
};

/// The contents of the CPU's memory in a run that splits a stretch.
class SplitImage {
public:
  /// As it is before the stretch: where `image` is now.
  SplitImage(ProgramImage &image, const SplitClaim &claim);

  /// The GPU hands these bytes over behind the stretch: parts find nothing
  /// there.
  void leaveToGpu(const artifact::Operand &host);
  /// Follows the parts. Shows of each layer that
  ///   - its parts are tiles of the kernel for parts of its routine in later
  ///     inferences, or of that routine's own kernel, which together compute
  ///     all positions from the plan's on;
  ///   - every byte that they read holds the contents of the layer's operand;
  ///   - weights that they read are there when the stretch begins;
  ///   - they lie on top of an operand only where their kernel allows it.
  mlir::LogicalResult follow();
  /// The GPU has handed over these contents.
  void takeBack(const artifact::Operand &host, const Runs &contents);
  /// Behind the stretch, where `image` is now: whether each byte that is read
  /// later is as in a run of the CPU alone.
  mlir::LogicalResult expectLive();

  const SplitClaim claim;

private:
  using Key = std::pair<artifact::Space, uint32_t>;
  static Key keyOf(const artifact::Operand &operand) {
    return {operand.space, operand.index};
  }
  MemoryImage &of(const artifact::Operand &operand);
  mlir::LogicalResult followLayer(uint32_t execute,
                                  llvm::ArrayRef<artifact::Operation> &parts);
  mlir::LogicalResult checkTiles(mlir::Operation *layer,
                                 const artifact::Operation &later,
                                 const Routine &routine, Cut back,
                                 llvm::ArrayRef<artifact::Operation> &parts,
                                 ProgramImage::Fault fault) const;
  mlir::LogicalResult checkReads(mlir::Operation *layer,
                                 const artifact::Operation &later,
                                 const Routine &routine, Cut back,
                                 ProgramImage::Fault fault);
  mlir::LogicalResult expectLive(const artifact::Operand &operand);

  ProgramImage &image;
  std::map<Key, MemoryImage> images;  ///< those that have been asked for
  std::map<Key, MemoryImage> written; ///< by executes behind the stretch
};

} // namespace nnv12

#endif // NNV12_COMPILER_VERIFY_SPLITPROOF_H
