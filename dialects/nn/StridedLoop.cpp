//===- StridedLoop.cpp - Walks several arrays over one index space --------===//
#include "dialects/nn/StridedLoop.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <cassert>
#include <cstring>

using namespace nnv12::nn;
using llvm::ArrayRef;
using llvm::SmallVector;

SmallVector<int64_t> nnv12::nn::denseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= shape[i];
  }
  return strides;
}

SmallVector<int64_t> nnv12::nn::broadcastStrides(ArrayRef<int64_t> from,
                                                 ArrayRef<int64_t> to) {
  assert(from.size() <= to.size() && "broadcasting adds dimensions");
  SmallVector<int64_t> strides(to.size(), 0);
  SmallVector<int64_t> dense = denseStrides(from);
  size_t missing = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1)
      strides[missing + i] = dense[i];
  return strides;
}

StridedLoop::StridedLoop(ArrayRef<int64_t> fullShape,
                         ArrayRef<ArrayRef<int64_t>> fullStrides)
    : strides(fullStrides.size()) {
  for ([[maybe_unused]] ArrayRef<int64_t> s : fullStrides)
    assert(s.size() == fullShape.size() && "a stride a dimension");
  for (size_t i = 0; i < fullShape.size(); ++i) {
    if (fullShape[i] == 1)
      continue;
    auto continuesPrevious = [&](size_t array) {
      return strides[array].back() == fullStrides[array][i] * fullShape[i];
    };
    if (!shape.empty() &&
        llvm::all_of(llvm::seq(strides.size()), continuesPrevious)) {
      shape.back() *= fullShape[i];
      for (size_t array = 0; array < strides.size(); ++array)
        strides[array].back() = fullStrides[array][i];
      continue;
    }
    shape.push_back(fullShape[i]);
    for (size_t array = 0; array < strides.size(); ++array)
      strides[array].push_back(fullStrides[array][i]);
  }
  if (!shape.empty())
    return;
  shape.push_back(1);
  for (auto &s : strides)
    s.push_back(0);
}

void StridedLoop::forEachRow(
    llvm::function_ref<void(ArrayRef<int64_t>)> row) const {
  if (llvm::is_contained(shape, 0))
    return;
  size_t outer = shape.size() - 1;
  SmallVector<int64_t> index(outer, 0), offsets(strides.size(), 0);
  while (true) {
    row(offsets);
    size_t d = outer;
    while (d-- > 0) {
      for (size_t array = 0; array < offsets.size(); ++array)
        offsets[array] += strides[array][d];
      if (++index[d] < shape[d])
        break;
      for (size_t array = 0; array < offsets.size(); ++array)
        offsets[array] -= strides[array][d] * shape[d];
      index[d] = 0;
    }
    if (d == static_cast<size_t>(-1))
      return;
  }
}

namespace {
template <unsigned size>
void copyRow(int64_t n, const char *source, int64_t sourceStride, char *target,
             int64_t targetStride) {
  for (int64_t i = 0; i < n; ++i)
    std::memcpy(target + i * targetStride * static_cast<int64_t>(size),
                source + i * sourceStride * static_cast<int64_t>(size), size);
}
} // namespace

void nnv12::nn::copyStrided(ArrayRef<int64_t> shape, unsigned elementSize,
                            const char *source, ArrayRef<int64_t> sourceStrides,
                            char *target, ArrayRef<int64_t> targetStrides) {
  assert((elementSize == 1 || elementSize == 2 || elementSize == 4 ||
          elementSize == 8) &&
         "no other elements exist");
  StridedLoop loop(shape, {sourceStrides, targetStrides});
  int64_t n = loop.rowLength(), size = elementSize;
  int64_t from = loop.rowStride(0), to = loop.rowStride(1);
  auto *copy = size == 1   ? copyRow<1>
               : size == 2 ? copyRow<2>
               : size == 4 ? copyRow<4>
                           : copyRow<8>;
  bool contiguous = (from == 1 && to == 1) || n == 1;
  loop.forEachRow([&](ArrayRef<int64_t> offsets) {
    const char *s = source + offsets[0] * size;
    char *t = target + offsets[1] * size;
    if (contiguous)
      std::memcpy(t, s, n * size);
    else
      copy(n, s, from, t, to);
  });
}
