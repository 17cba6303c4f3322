//===- ChannelMeans.cpp - How large a tensor's channels are ---------------===//

#include "compiler/calibrate/ChannelMeans.h"

#include <algorithm>
#include <cmath>

using namespace nnv12::calibrate;

void ChannelMeans::add(const float *values, const std::vector<int64_t> &shape) {
  if (shape.size() < 2)
    return;
  size_t channels = size_t(shape[1]), inner = 1;
  for (size_t d = 2; d < shape.size(); ++d)
    inner *= size_t(shape[d]);
  sums_.resize(channels, 0);
  largest_.resize(channels, 0);
  for (int64_t image = 0; image < shape[0]; ++image)
    for (size_t c = 0; c < channels; ++c)
      for (size_t i = 0; i < inner; ++i, ++values) {
        sums_[c] += double(*values);
        largest_[c] = std::max(largest_[c], std::fabs(*values));
      }
  count_ += double(shape[0]) * double(inner);
}

std::vector<double> ChannelMeans::means() const {
  std::vector<double> result = sums_;
  for (double &mean : result)
    mean = count_ ? mean / count_ : 0;
  return result;
}
