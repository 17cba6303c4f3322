//===- Interference.cpp - Costs of neighbours to each other ---------------===//
#include "tools/nnv12-tune/Interference.h"

#include "tools/common/Clock.h"
#include "tools/common/Statistics.h"

#include <atomic>
#include <cassert>
#include <cstring>
#include <thread>

namespace nnv12::tune {

using tools::milliseconds;

/// Prepares four megabytes as a lane does: reads them, which are in the page
/// cache, and writes as much to memory. Milliseconds.
static double prepareOnce(const StorageFile &file, Memory &memory,
                          size_t &offset) {
  constexpr size_t part = 4u << 20;
  assert(file.size() >= part && "there is a part to read");
  double start = milliseconds();
  file.populate(offset, part);
  for (size_t i = 0; i + 1 < memory.size() / part; ++i)
    memcpy(memory.data() + i * part, memory.data() + (i + 1) * part, part);
  offset = (offset + part) % (file.size() / part * part);
  return milliseconds() - start;
}

Interference measureInterference(Kernels &kernels, StorageFile &file,
                                 const Cores &cores, unsigned repeat) {
  std::vector<unsigned> neighbour = cores.little;
  if (neighbour.empty())
    neighbour.assign(cores.big.begin() + 1, cores.big.end());
  if (neighbour.empty())
    return {1, 1};
  OnCores big({cores.big[0]});
  Kernels::Runner runner(kernels, 1);
  // A model's run has one of each, and so long it takes.
  runner.select(kernels.oneOfEach());
  file.populate(0, file.size());

  enum Phase { Alone, Together, End };
  std::atomic<int> phase{Alone};
  std::atomic<unsigned> prepared[2] = {{0}, {0}}; ///< samples, by phase
  std::vector<double> prepares[2];
  std::thread thread([&] {
    OnCores pinned({neighbour[0]});
    Memory memory(16u << 20);
    memset(memory.data(), 1, memory.size());
    size_t offset = 0;
    prepareOnce(file, memory, offset);
    for (int now; (now = phase.load()) != End;) {
      double time = prepareOnce(file, memory, offset);
      // Not those in which the other side began or ended.
      if (phase.load() == now) {
        prepares[now].push_back(time);
        prepared[now].fetch_add(1);
      }
    }
  });
  while (prepared[Alone].load() < 8)
    std::this_thread::yield();
  using Runs = std::vector<std::vector<double>>; // by kernel
  Runs alone(kernels.facts().size()), together(alone);
  auto sample = [&](Runs &runs) {
    const std::vector<double> &times = runner.run();
    for (size_t k = 0; k < times.size(); ++k)
      runs[k].push_back(times[k]);
  };
  auto sum = [](const Runs &runs) {
    double all = 0;
    for (const std::vector<double> &times : runs)
      all += tools::median(times);
    return all;
  };
  runner.run(); // does not count
  phase = Together;
  for (unsigned i = 0; i < repeat || prepared[Together].load() == 0; ++i)
    sample(together);
  phase = End;
  thread.join();
  for (unsigned i = 0; i <= repeat; ++i)
    sample(alone);
  Interference result = {1, 1};
  if (!alone.empty())
    result.execute = std::max(1.0, sum(together) / sum(alone));
  if (!prepares[Alone].empty() && !prepares[Together].empty())
    result.prepare = std::max(1.0, tools::median(prepares[Together]) /
                                       tools::median(prepares[Alone]));
  return result;
}

} // namespace nnv12::tune
