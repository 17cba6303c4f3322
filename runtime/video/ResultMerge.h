//===- ResultMerge.h - Keeps values that did not change ---------*- C++ -*-===//
//
// At a check point, recomputed pixels of a result are compared with the kept
// ones. A pixel that is equal, or near enough, keeps its value, and the pixels
// that depend on it alone are not computed.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_VIDEO_RESULTMERGE_H
#define NNV12_RUNTIME_VIDEO_RESULTMERGE_H

#include "runtime/video/DirtySet.h"
#include "runtime/video/PixelLayout.h"

namespace nnv12::runtime {

struct MergeJob {
  enum class Mode : uint8_t {
    Exact,     ///< a pixel that differs in no byte is not dirty
    BoundedF32 ///< one that differs by no more than the limit
  };

  PixelLayout layout; ///< of both tensors
  Mode mode;
  /// A pixel changed if the mean of the squared differences of its channels is
  /// larger, or no finite number. Values of the same bytes do not differ. A
  /// limit that is no finite number keeps equal values alone.
  float limit;
  const void *computed; ///< dirty pixels; others may be anything
  void *kept;           ///< gets the pixels that changed
  DirtySet *dirty;      ///< of the layout's plane; loses those that did not
};

/// Merges results. A kernel (artifact::KernelFn) whose tiles are the rows of
/// all images, and whose operand is a MergeJob. The result does not depend on
/// who computes which row.
void mergeRows(void *const *operands, int64_t begin, int64_t end,
               void *scratch);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_VIDEO_RESULTMERGE_H
