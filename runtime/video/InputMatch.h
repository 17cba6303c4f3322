//===- InputMatch.h - Finds the pixels of an input that changed -*- C++ -*-===//
//
// A session keeps a copy of each input, the reference. Its cached values were
// computed from the reference, and layers read nothing else: a pixel that is
// not dirty has the same value in it as before.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_VIDEO_INPUTMATCH_H
#define NNV12_RUNTIME_VIDEO_INPUTMATCH_H

#include "runtime/video/DirtySet.h"
#include "runtime/video/PixelLayout.h"

namespace nnv12::runtime {

struct MatchJob {
  /// Pixels of a cell, each way; those at the end of a plane are smaller. Its
  /// height is that of a band as well.
  static constexpr uint32_t cellSize = 8;

  enum class Mode : uint8_t {
    Exact,       ///< a pixel that differs in any byte is dirty
    BoundedF32,  ///< only in cells that differ by more than the limit
    BoundedUint8 ///< the same for inputs of bytes
  };

  PixelLayout layout; ///< of both tensors; its blocks are full
  Mode mode;
  /// A cell changed if the mean of the squared differences of its values is
  /// larger, or no finite number. Values of the same bytes do not differ. A
  /// limit that is no finite number lets no cell differ.
  float limit;
  const void *input; ///< the caller's, aligned to its values
  void *reference;
  DirtySet *dirty; ///< of the layout's plane; gets more pixels
  /// Pixels that are not compared, and keep the reference; null: none.
  const DirtySet *clean = nullptr;

  uint64_t numBands() const {
    return uint64_t(layout.plane.images) *
           ((layout.plane.rows - 1) / cellSize + 1);
  }
};

/// Adds dirty pixels, and copies them to the reference: all that differ in a
/// cell that changed. A kernel (artifact::KernelFn) whose tiles are numBands()
/// bands of rows, image by image, and whose operand is a MatchJob. The result
/// does not depend on who computes which band.
void matchBands(void *const *operands, int64_t begin, int64_t end,
                void *scratch);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_VIDEO_INPUTMATCH_H
