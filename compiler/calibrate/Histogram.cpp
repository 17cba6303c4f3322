//===- Histogram.cpp - How often a tensor has which values ----------------===//

#include "compiler/calibrate/Histogram.h"

#include <algorithm>
#include <cmath>

using namespace nnv12::calibrate;

Histogram::Histogram(double limit, size_t first,
                     const std::vector<uint64_t> &counts, float least,
                     float most)
    : limit_(limit), least_(least), most_(most) {
  for (size_t i = 0; i < counts.size() && first + i < bins; ++i) {
    counts_[first + i] = counts[i];
    count_ += counts[i];
  }
}

/// Pairs of bins become one, around the middle.
void Histogram::widen() {
  limit_ *= 2;
  std::vector<uint64_t> wide(bins, 0);
  for (size_t i = 0; i < bins; ++i)
    wide[bins / 4 + i / 2] += counts_[i];
  counts_ = std::move(wide);
}

void Histogram::add(const float *values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    float x = values[i];
    if (!std::isfinite(x)) {
      ++notFinite_;
      continue;
    }
    least_ = count_ ? std::min(least_, x) : x;
    most_ = count_ ? std::max(most_, x) : x;
    ++count_;
    // A power of two, so that bins do not depend on which value came first.
    while (std::fabs(double(x)) >= limit_)
      widen();
    auto bin = size_t((double(x) + limit_) / width());
    ++counts_[std::min(bin, bins - 1)];
  }
}
