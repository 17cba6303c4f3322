//===- CostModel.cpp - How long a kernel takes on a device ----------------===//

#include "compiler/device/CostModel.h"

#include <algorithm>
#include <cmath>

namespace nnv12::device {

/// The entry that counts for a routine: its name's, or that of the longest
/// prefix that ends before a dot. Null where there is none.
template <typename Value>
static const Value *longestPrefix(const std::map<std::string, Value> &values,
                                  const std::string &routine) {
  for (size_t length = routine.size();;) {
    auto found = values.find(routine.substr(0, length));
    if (found != values.end())
      return &found->second;
    if (length == 0)
      return nullptr;
    size_t dot = routine.rfind('.', length - 1);
    length = dot == std::string::npos ? 0 : dot;
  }
}

const Efficiency &
DeviceProfile::efficiencyOf(const std::string &routine) const {
  static const Efficiency standard;
  const Efficiency *found = longestPrefix(efficiency, routine);
  return found ? *found : standard;
}

const GpuEfficiency *
GpuProfile::efficiencyOf(const std::string &routine) const {
  return longestPrefix(efficiency, routine);
}

//===----------------------------------------------------------------------===//
// Tiles on cores
//===----------------------------------------------------------------------===//

double speedup(const DeviceProfile &profile, unsigned threads,
               double numTiles) {
  int64_t n =
      std::max<int64_t>(1, std::min(threads, std::max(1u, profile.big.count)));
  auto tiles = static_cast<int64_t>(std::max(1.0, numTiles));
  n = std::min(n, tiles);
  double ideal = 1 + double(n - 1) * profile.threadScaling;
  // n threads need ceil(tiles / n) rounds; a full last round would be the
  // ideal.
  double rounds = double((tiles + n - 1) / n);
  return std::max(1.0, ideal * (double(tiles) / double(n)) / rounds);
}

/// On one core, without the overhead.
static double alone(const Efficiency &e, const CoreKind &core,
                    const KernelFacts &kernel) {
  double compute = core.gflops > 0 ? 2 * kernel.multiplyAdds /
                                         (e.compute * core.gflops * 1e6)
                                   : 0;
  double memory = core.memoryGBps > 0
                      ? kernel.bytes / (e.memory * core.memoryGBps * 1e6)
                      : 0;
  return std::max(compute, memory);
}

/// The times of a profile's kernel; null where there are none.
template <typename Profile>
static auto timesOf(const Profile &profile, const KernelFacts &kernel) {
  auto found = profile.kernels.find(kernel.key);
  return found == profile.kernels.end() || kernel.key.empty() ? nullptr
                                                              : &found->second;
}

double predict(const DeviceProfile &profile, const Efficiency &e,
               const KernelFacts &kernel) {
  return alone(e, profile.big, kernel) + e.overhead * 1e-3;
}

Cost cost(const DeviceProfile &profile, const KernelFacts &kernel,
          unsigned threads) {
  threads = std::max(1u, threads);
  const KernelTime *time = timesOf(profile, kernel);
  if (time && time->inModelOn(threads) > 0)
    return {time->inModelOn(threads), true};
  if (time && !time->big.empty()) {
    unsigned measured = std::min<size_t>(threads, time->big.size());
    double ratio = speedup(profile, measured, kernel.tiles) /
                   speedup(profile, threads, kernel.tiles);
    return {time->big[measured - 1] * ratio, true};
  }
  const Efficiency &e = profile.efficiencyOf(kernel.routine);
  return {alone(e, profile.big, kernel) /
                  speedup(profile, threads, kernel.tiles) +
              e.overhead * 1e-3,
          false};
}

/// Milliseconds. A fit to few kernels calls other time overhead, too, but no
/// call takes longer that computes nothing.
static constexpr double mostOverhead = 0.03;

/// Tiles for which a thread waits at the end of a range, or begins late.
static constexpr double waitingTiles = 1.5;
/// Weights take no more than this part of a layer's time without overhead.
static constexpr double mostOfWeights = 0.8;

double partCost(const DeviceProfile &profile, const std::string &routine,
                const LayerPart &part, unsigned threads) {
  const Efficiency &e = profile.efficiencyOf(routine);
  double n = std::max(1u, std::min(threads, std::max(1u, profile.big.count)));
  // In times that one thread takes for a tile.
  auto rounds = [&](double tiles) {
    return tiles / n + waitingTiles * (1 - 1 / n);
  };
  double partTiles = 0, partRounds = 0, mostTiles = 1;
  for (double tiles : part.ranges) {
    partTiles += tiles;
    partRounds += rounds(tiles);
    mostTiles = std::max(mostTiles, tiles);
  }
  double overhead = std::min({part.whole, e.overhead * 1e-3, mostOverhead}),
         shared = part.whole - overhead, weights = 0;
  // Threads read at once. Those without a tile do not.
  double readers = std::min(n, part.wholeTiles);
  if (profile.big.memoryGBps > 0)
    weights =
        std::min(part.weightBytes / (std::max(1.0, e.memory) *
                                     profile.big.memoryGBps * 1e6 * readers),
                 mostOfWeights * shared);
  double tileShare = partTiles / part.wholeTiles;
  return e.part * 1e-3 * double(part.ranges.size()) + overhead +
         weights * readers / std::min(n, mostTiles) +
         (shared - weights) * partRounds / rounds(part.wholeTiles) *
             part.share / tileShare;
}

Cost littleCost(const DeviceProfile &profile, const KernelFacts &kernel) {
  if (profile.little.count == 0)
    return cost(profile, kernel, 1);
  const KernelTime *time = timesOf(profile, kernel);
  if (time && time->little > 0)
    return {time->little, true};
  const Efficiency &e = profile.efficiencyOf(kernel.routine);
  double little = alone(e, profile.little, kernel);
  double ratio = profile.little.gflops > 0
                     ? profile.big.gflops / profile.little.gflops
                     : 1;
  if (time && !time->big.empty()) {
    // Measured on a big core: as much slower as the prediction is.
    double big = alone(e, profile.big, kernel);
    return {time->big[0] * (big > 0 ? little / big : ratio), false};
  }
  return {little + e.overhead * 1e-3 * std::max(1.0, ratio), false};
}

std::string missingKernels(const DeviceProfile &profile,
                           const std::vector<KernelFacts> &kernels) {
  if (!profile.measured)
    return "";
  size_t missing = 0;
  const KernelFacts *first = nullptr;
  for (const KernelFacts &kernel : kernels)
    if (!timesOf(profile, kernel) && missing++ == 0)
      first = &kernel;
  if (!missing)
    return "";
  std::string place = profile.file.empty()
                          ? "device profile '" + profile.name + "'"
                          : profile.file;
  return place + ": kernels: " + std::to_string(missing) + " of " +
         std::to_string(kernels.size()) +
         " were not measured (first: " + first->routine + ", " +
         (first->key.empty() ? "no key" : first->key) +
         "), expected all; run nnv12-tune for this model";
}

//===----------------------------------------------------------------------===//
// Dispatches of a GPU
//===----------------------------------------------------------------------===//

/// The numbers of unknown GPUs and routines: microseconds of a wave of groups
/// and of a barrier, and the part of the memory's bandwidth that a kernel
/// reaches.
static constexpr double usualWave = 2, usualBarrier = 1, usualMemory = 0.6;

static double microsecondsOf(double bytes, double gigabytesPerSecond) {
  return gigabytesPerSecond > 0 ? bytes / (gigabytesPerSecond * 1e3) : 0;
}

bool readsMemory(const GpuProfile &gpu, const KernelFacts &k) {
  return k.fromMemory || k.bytes > gpu.cacheMB * 1e6;
}

double predict(const GpuProfile &gpu, const GpuEfficiency &e,
               const KernelFacts &k) {
  double groups = std::max(1.0, k.tiles), units = std::max(1u, gpu.units);
  double load = std::ceil(groups / units);
  double bytes = microsecondsOf(k.bytes, e.memory * gpu.memoryGBps);
  if (gpu.kind == GpuKind::Software) {
    double steps = k.stepsInTurn > 0 ? k.stepsInTurn / groups : k.steps;
    return e.start + load * (e.group + e.step * steps) +
           e.work * k.multiplyAdds * 1e-6 / units + bytes;
  }
  double latency = readsMemory(gpu, k) ? e.latencyFromMemory : e.latency;
  return e.start +
         std::max(latency * k.steps, load * (e.group + e.step * k.steps)) +
         bytes;
}

/// The prediction for a routine without coefficients.
static double predictFromPeak(const GpuProfile &gpu, const KernelFacts &k) {
  double groups = std::max(1.0, k.tiles);
  double atOnce =
      double(std::max(1u, gpu.units)) * double(std::max(1u, gpu.groupsPerUnit));
  // The time at the peak if all waves were full.
  double compute = gpu.gflops > 0
                       ? 2 * k.multiplyAdds / (gpu.compute * gpu.gflops * 1e3) /
                             groups * atOnce
                       : usualWave;
  return gpu.dispatchUs +
         std::max(std::ceil(groups / atOnce) * compute,
                  microsecondsOf(k.bytes, usualMemory * gpu.memoryGBps)) +
         usualBarrier * k.barriers;
}

double measuredTime(const GpuProfile &gpu, const KernelFacts &kernel) {
  const GpuKernelTime *time = timesOf(gpu, kernel);
  if (!time)
    return 0;
  return kernel.fromMemory && time->millisecondsFromMemory > 0
             ? time->millisecondsFromMemory
             : time->milliseconds;
}

Cost stampedCost(const GpuProfile &gpu, const KernelFacts &kernel) {
  if (double measured = measuredTime(gpu, kernel); measured > 0)
    return {measured, true};
  const GpuEfficiency *e = gpu.efficiencyOf(kernel.routine);
  return {(e ? predict(gpu, *e, kernel) : predictFromPeak(gpu, kernel)) * 1e-3,
          false};
}

Cost cost(const GpuProfile &gpu, const KernelFacts &kernel) {
  Cost cost = stampedCost(gpu, kernel);
  // A prediction from the peak has no time stamp.
  if (cost.measured || gpu.efficiencyOf(kernel.routine))
    cost.milliseconds =
        std::max(cost.milliseconds - gpu.stampUs * 1e-3, cost.milliseconds / 4);
  return cost;
}

} // namespace nnv12::device
