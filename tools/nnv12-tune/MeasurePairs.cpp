//===- MeasurePairs.cpp - CPUs and a GPU at once --------------------------===//
#include "tools/nnv12-tune/MeasurePairs.h"

#include "tools/common/Clock.h"
#include "tools/common/Statistics.h"

#include <algorithm>
#include <cmath>

namespace nnv12::tune {

using tools::milliseconds;

static constexpr size_t mostPairs = 10;
/// Kernels of the GPU that are looked at.
static constexpr size_t mostLookedAt = 20;
/// A pair is measured so often, and both sides alone before and behind it.
static constexpr unsigned rounds = 4;
/// Microseconds that both sides shall take: a kernel that is shorter runs
/// several times.
static constexpr double usualTime = 20000;
/// Microseconds of a kernel that takes too long.
static constexpr double longestTime = 20000;
/// Runs of a kernel of the CPUs, at least, while the GPU runs.
static constexpr double leastRuns = 3;

namespace {

/// A kernel of either side, and microseconds that it takes, about.
struct Side {
  size_t kernel;
  double time;
};

class Pairs {
public:
  Pairs(OneByOne &gpu, Kernels &cpu, unsigned threads)
      : gpu(gpu), cpu(cpu), runner(cpu, threads) {}

  std::vector<PairTime> measure() {
    std::vector<Side> ofGpu = gpuSides(), ofCpu = cpuSides();
    std::vector<PairTime> result;
    // The longest of both together, and so on.
    for (const Side &front : ofGpu) {
      auto back = std::find_if(ofCpu.begin(), ofCpu.end(), [&](const Side &of) {
        return of.time * leastRuns <= front.time * OneByOne::mostRuns;
      });
      if (back == ofCpu.end() || result.size() == mostPairs)
        break;
      result.push_back(measure(front, *back));
      ofCpu.erase(back);
    }
    return result;
  }

private:
  /// The longest first.
  static std::vector<Side> sorted(std::vector<Side> sides) {
    std::stable_sort(
        sides.begin(), sides.end(),
        [](const Side &a, const Side &b) { return a.time > b.time; });
    return sides;
  }

  /// Kernels of much work that take at most `longestTime`.
  std::vector<Side> gpuSides() {
    auto workOf = [&](size_t kernel) {
      return gpu.facts(kernel).multiplyAdds + gpu.facts(kernel).bytes;
    };
    std::vector<Side> sides;
    double most = INFINITY;
    for (size_t i = gpu.numKernels(); i-- > 0 && sides.size() < mostLookedAt;) {
      if (workOf(i) > most)
        continue;
      double time = gpu.timesOf(i, 1).back();
      // One that takes too long tells how much work does not.
      if (time > longestTime)
        most = workOf(i) * longestTime / time;
      else
        sides.push_back({i, gpu.timesOf(i, 2).back()});
    }
    return sorted(std::move(sides));
  }

  /// One of each layer.
  std::vector<Side> cpuSides() {
    std::vector<Side> sides;
    std::vector<bool> wanted = cpu.oneOfEach();
    runner.select(wanted);
    runner.run();
    std::vector<double> times = runner.run();
    for (size_t i = 0; i < times.size(); ++i)
      if (wanted[i] && times[i] > 0 && times[i] * 1e3 <= longestTime)
        sides.push_back({i, times[i] * 1e3});
    return sorted(std::move(sides));
  }

  /// Microseconds of the runs of a CPU's kernel in so many.
  std::vector<double> runCpu(size_t kernel, double microseconds) {
    std::vector<double> times;
    double start = milliseconds();
    do
      times.push_back(runner.run(/*isCold=*/false)[kernel] * 1e3);
    while ((milliseconds() - start) * 1e3 < microseconds);
    return times;
  }

  /// The median; the first quarter beside a GPU in software, whose times other
  /// programs on the CPUs only lengthen.
  double usual(std::vector<double> times) const {
    if (!gpu.isSoftware())
      return tools::median(std::move(times));
    auto quarter = times.begin() + ptrdiff_t((times.size() - 1) / 4);
    std::nth_element(times.begin(), quarter, times.end());
    return *quarter;
  }

  PairTime measure(const Side &front, const Side &back) {
    std::vector<bool> wanted(cpu.facts().size());
    wanted[back.kernel] = true;
    runner.select(wanted);
    double time = std::max(usualTime, leastRuns * back.time);
    auto runs = uint32_t(std::clamp(std::ceil(time / front.time), leastRuns,
                                    double(OneByOne::mostRuns)));
    // The CPUs stop before the GPU does, which is not faster with them.
    time = std::min(time, (runs - 1) * front.time);
    std::vector<double> gpuAlone, gpuBeside, cpuAlone, cpuBeside;
    auto add = [](std::vector<double> &to, const std::vector<double> &from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    for (unsigned i = 0; i < rounds; ++i) {
      add(gpuAlone, gpu.timesOf(front.kernel, runs));
      add(cpuAlone, runCpu(back.kernel, time));
      double took = 0;
      std::vector<double> beside = gpu.timesOf(front.kernel, runs, [&] {
        double start = milliseconds();
        add(cpuBeside, runCpu(back.kernel, time));
        took = (milliseconds() - start) * 1e3;
      });
      // Those that ended while the CPUs computed.
      for (double one : beside) {
        took -= one;
        if (took < 0 && !gpuBeside.empty())
          break;
        gpuBeside.push_back(one);
      }
    }
    return {gpu.facts(front.kernel).routine,
            cpu.facts()[back.kernel].routine,
            usual(gpuAlone),
            usual(gpuBeside),
            usual(cpuAlone),
            usual(cpuBeside)};
  }

  OneByOne &gpu;
  Kernels &cpu;
  Kernels::Runner runner;
};

} // namespace

std::vector<PairTime> measurePairs(OneByOne &gpu, Kernels &cpu,
                                   unsigned threads) {
  return Pairs(gpu, cpu, threads).measure();
}

} // namespace nnv12::tune
