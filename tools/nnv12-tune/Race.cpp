//===- Race.cpp - Which kernels are still worth measuring -----------------===//
#include "tools/nnv12-tune/Race.h"

#include <algorithm>
#include <cassert>

namespace nnv12::tune {

Race::Race(std::vector<uint32_t> numbers)
    : groups(std::move(numbers)), isIn_(groups.size(), true) {
  for (size_t k = 0; k < groups.size(); ++k) {
    if (groups[k] == alone)
      continue;
    if (groups[k] >= rivals.size())
      rivals.resize(groups[k] + 1);
    rivals[groups[k]].push_back(k);
  }
}

void Race::drop(const std::vector<double> &times, double margin) {
  assert(times.size() == groups.size() && "a time for each kernel");
  constexpr size_t atLeast = 2;
  for (const std::vector<size_t> &group : rivals) {
    std::vector<size_t> in;
    std::copy_if(group.begin(), group.end(), std::back_inserter(in),
                 [&](size_t k) { return isIn_[k]; });
    std::stable_sort(in.begin(), in.end(),
                     [&](size_t a, size_t b) { return times[a] < times[b]; });
    for (size_t i = atLeast; i < in.size(); ++i)
      if (times[in[i]] > (1 + margin) * times[in[0]])
        isIn_[in[i]] = false;
  }
}

void Race::estimate(const std::vector<double> &before,
                    std::vector<double> &times) const {
  assert(before.size() == groups.size() && times.size() == groups.size() &&
         "a time for each kernel");
  for (const std::vector<size_t> &group : rivals) {
    auto fastest =
        std::min_element(group.begin(), group.end(), [&](size_t a, size_t b) {
          return before[a] < before[b];
        });
    if (fastest == group.end())
      continue;
    double ratio = times[*fastest] / before[*fastest];
    for (size_t k : group)
      if (!isIn_[k])
        times[k] = before[k] * ratio;
  }
}

} // namespace nnv12::tune
