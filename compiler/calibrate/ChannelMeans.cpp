//===- ChannelMeans.cpp - The mean of each channel of a tensor ------------===//

#include "compiler/calibrate/ChannelMeans.h"

using namespace nnv12::calibrate;

void ChannelMeans::add(const float *values, const std::vector<int64_t> &shape) {
  if (shape.size() < 2)
    return;
  size_t channels = size_t(shape[1]), inner = 1;
  for (size_t d = 2; d < shape.size(); ++d)
    inner *= size_t(shape[d]);
  sums_.resize(channels, 0);
  for (int64_t image = 0; image < shape[0]; ++image)
    for (double &sum : sums_)
      for (size_t i = 0; i < inner; ++i)
        sum += double(*values++);
  count_ += double(shape[0]) * double(inner);
}

std::vector<double> ChannelMeans::means() const {
  std::vector<double> result = sums_;
  for (double &mean : result)
    mean = count_ ? mean / count_ : 0;
  return result;
}
