//===- Overhead.cpp - The cost of recording -------------------------------===//
#include "tools/nnv12-prof/Overhead.h"

#include "tools/common/Clock.h"
#include "tools/common/Loading.h"
#include "tools/common/WarmUp.h"

#include <algorithm>
#include <cmath>

namespace nnv12::prof {

Overhead measureOverhead(const std::string &path, const Bundle &bundle,
                         SessionOptions options, nnv12_record_level level,
                         unsigned pairs, const nnv12_counter_source *counters,
                         const std::vector<Input> &in,
                         const std::vector<Output> &out) {
  Recorder memory(bundle, options, level, 1, counters);
  nnv12_recorder everyOther = *memory.get();
  everyOther.sample_every = 2;
  options.recorder = &everyOther;
  Session session = tools::openSession(path, bundle, options);
  auto run = [&] {
    uint64_t start = tools::nanoseconds();
    tools::runSession(path, session, in, out);
    return double(tools::nanoseconds() - start);
  };
  tools::warmUp(session, /*least=*/6, run);
  // Nothing else is done between runs, and no page is new.
  std::vector<double> times(2 * size_t(pairs), 1);
  for (double &time : times)
    time = run();
  // Recorded runs, which are the even ones, by turns beside the next and the
  // last one: of runs that cost the same the difference is above 0 as often as
  // below, however times are distributed.
  std::vector<double> plain, differences;
  for (size_t i = 0; i < times.size(); i += 2) {
    size_t other = i % 4 ? i - 1 : i + 1;
    differences.push_back(times[i] - times[other]);
    plain.push_back(times[i + 1]);
  }
  std::sort(plain.begin(), plain.end());
  std::sort(differences.begin(), differences.end());
  size_t n = differences.size();
  // The ranks between which the median is: a binomial distribution's.
  double half = 0.98 * std::sqrt(double(n));
  auto at = [&](double rank) {
    return differences[size_t(std::clamp(rank, 0.0, double(n - 1)))];
  };
  return {plain[n / 2], differences[n / 2], at(double(n) / 2 - half),
          at(double(n) / 2 + half)};
}

} // namespace nnv12::prof
