//===- SplitProof.h - Proves that CPU and GPU share layers ------*- C++ -*-===//
//
// The CPU's side of a stretch that is split. StretchProof.h follows the GPU's:
// each dispatch finds the contents that it reads in the GPU's memory. Here each
// part finds those that it reads in the CPU's. So neither reads a row that the
// other side alone has computed, not even in the halo of a window.
//
// The needs of a part are asked of `nn::neededPart` for each of its positions.
// The search and the plan know windows, which they do not ask again here.
//
// While parts run, a GPU that works in the CPU's memory may write the rows of
// `out` at any time, so no part finds anything there.
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
  explicit SplitImage(ProgramImage &image) : image(image) {}

  /// Follows the parts, whose bytes of `out` are lost to them. Shows of each
  /// layer that
  ///   - its parts are tiles of the kernel for parts of its routine in later
  ///     inferences, which together compute all positions from the plan's on;
  ///   - every byte that they read holds the contents of the layer's operand;
  ///   - weights that they read are there when the stretch begins.
  mlir::LogicalResult follow(const SplitClaim &claim);
  /// Takes over rows from the GPU.
  void takeBack(const artifact::Operand &host, const Runs &contents);
  /// Behind the stretch, where `image` is now: whether each byte that is read
  /// later is as in a run of the CPU alone.
  mlir::LogicalResult expectLive(const SplitClaim &claim);

private:
  using Key = std::pair<artifact::Space, uint32_t>;
  MemoryImage &of(const artifact::Operand &operand);
  mlir::LogicalResult followLayer(const SplitClaim &claim, uint32_t execute,
                                  plan::PartOp planned,
                                  llvm::ArrayRef<artifact::Operation> parts);
  mlir::LogicalResult expectLive(const SplitClaim &claim,
                                 const artifact::Operand &operand);

  ProgramImage &image;
  std::map<Key, MemoryImage> images;  ///< those that have been asked for
  std::map<Key, MemoryImage> written; ///< by executes behind the stretch
};

} // namespace nnv12

#endif // NNV12_COMPILER_VERIFY_SPLITPROOF_H
