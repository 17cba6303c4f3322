//===- OutputSummary.cpp - The values of an output in short ---------------===//
#include "tools/nnv12-run/OutputSummary.h"

#include <algorithm>

namespace nnv12::run {

OutputSummary::OutputSummary(const tools::Tensor &output)
    : count(output.data.size() / tools::elementSize(output.type)) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    double value = tools::elementAt(output.type, output.data.data(), i);
    if (std::isnan(value)) {
      ++numNan;
      continue;
    }
    // The first number takes the place of NaN.
    least = std::fmin(least, value);
    most = std::fmax(most, value);
    sum += value;
  }
  if (numNan < count)
    mean = sum / double(count - numNan);
}

} // namespace nnv12::run
