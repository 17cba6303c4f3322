//===- StretchLifetimes.cpp - How stretches lengthen lifetimes ------------===//

#include "compiler/layers/StretchLifetimes.h"

#include <algorithm>

using namespace nnv12;

StretchLifetimes StretchLifetimes::of(const ExecutionOrder &order,
                                      llvm::ArrayRef<StretchRange> stretches) {
  StretchLifetimes result;
  result.lifetimes = order.lifetimes();
  result.isKept.resize(result.lifetimes.size());
  result.isApart.resize(result.lifetimes.size());
  for (const StretchRange &stretch : stretches)
    for (auto [i, tensor] : llvm::enumerate(order.tensors())) {
      auto first = static_cast<int64_t>(tensor.first),
           last = static_cast<int64_t>(tensor.last);
      Lifetime &lifetime = result.lifetimes[i];
      if (first < stretch.first && last >= stretch.first &&
          last < stretch.end) {
        lifetime.last = std::max(lifetime.last, stretch.end - 1);
        result.isKept[i] = true;
      }
      if (stretch.isSplit && first >= stretch.first && first < stretch.end &&
          last >= stretch.end) {
        lifetime.first = stretch.first;
        result.isApart[i] = true;
      }
    }
  return result;
}
