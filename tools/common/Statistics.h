//===- Statistics.h - Median, minimum, percentiles, mean --------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_STATISTICS_H
#define NNV12_TOOLS_COMMON_STATISTICS_H

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace nnv12::tools {

/// Percentiles are the nearest rank: a value that occurred.
struct Statistics {
  double median = 0, min = 0, p10 = 0, p90 = 0, p95 = 0, p99 = 0, max = 0;
  double mean = 0;

  /// Without samples: all 0.
  Statistics() = default;
  /// Needs at least one sample.
  explicit Statistics(std::vector<double> samples) {
    assert(!samples.empty() && "statistics need a sample");
    std::sort(samples.begin(), samples.end());
    size_t n = samples.size();
    median = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
    min = samples[0];
    max = samples[n - 1];
    mean = std::accumulate(samples.begin(), samples.end(), 0.0) / double(n);
    auto percentile = [&](double part) {
      return samples[static_cast<size_t>(std::ceil(part * double(n))) - 1];
    };
    p10 = percentile(0.10);
    p90 = percentile(0.90);
    p95 = percentile(0.95);
    p99 = percentile(0.99);
  }
};

/// The median of at least one sample.
inline double median(std::vector<double> samples) {
  return Statistics(std::move(samples)).median;
}

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_STATISTICS_H
