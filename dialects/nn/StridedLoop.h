//===- StridedLoop.h - Walks arrays over one index space --------*- C++ -*-===//
#ifndef NNV12_DIALECTS_NN_STRIDEDLOOP_H
#define NNV12_DIALECTS_NN_STRIDEDLOOP_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace nnv12::nn {

/// Strides, in elements, of a dense row-major array.
llvm::SmallVector<int64_t> denseStrides(llvm::ArrayRef<int64_t> shape);

/// Strides that read an array of `from` as one of `to` (multidirectional
/// broadcasting: sizes are aligned at the end, dimensions of one have stride
/// 0).
llvm::SmallVector<int64_t> broadcastStrides(llvm::ArrayRef<int64_t> from,
                                            llvm::ArrayRef<int64_t> to);

/// An index space and, for each of several arrays, the element offset of an
/// index as a dot product with strides. Neighbouring dimensions that every
/// array walks as one are merged, so that rows are as long as they can be.
class StridedLoop {
public:
  StridedLoop(llvm::ArrayRef<int64_t> shape,
              llvm::ArrayRef<llvm::ArrayRef<int64_t>> strides);

  /// Elements in a row, and the step of each array along it.
  int64_t rowLength() const { return shape.back(); }
  int64_t rowStride(unsigned array) const { return strides[array].back(); }

  /// Calls `row` with the offset at which each array's row begins, in
  /// lexicographic order of the index; never when the space is empty.
  void forEachRow(
      llvm::function_ref<void(llvm::ArrayRef<int64_t> offsets)> row) const;

private:
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<llvm::SmallVector<int64_t>> strides; // [array][dimension]
};

/// Copies the elements of `shape`, each `elementSize` bytes, between arrays
/// with any strides (in elements).
void copyStrided(llvm::ArrayRef<int64_t> shape, unsigned elementSize,
                 const char *source, llvm::ArrayRef<int64_t> sourceStrides,
                 char *target, llvm::ArrayRef<int64_t> targetStrides);

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_STRIDEDLOOP_H
