//===- CostModel.cpp - How long a kernel takes on a device ----------------===//

#include "compiler/device/CostModel.h"

#include "artifact/Limits.h"
#include "compiler/device/GpuSearch.h"
#include "compiler/device/RuntimeModel.h"
#include <algorithm>
#include <cassert>

namespace nnv12::device {

const Efficiency &
DeviceProfile::efficiencyOf(const std::string &routine) const {
  for (size_t length = routine.size();;) {
    auto found = efficiency.find(routine.substr(0, length));
    if (found != efficiency.end())
      return found->second;
    if (length == 0)
      break;
    size_t dot = routine.rfind('.', length - 1);
    length = dot == std::string::npos ? 0 : dot;
  }
  static const Efficiency standard;
  return standard;
}

double speedup(const DeviceProfile &profile, unsigned threads, int64_t tiles) {
  int64_t n =
      std::max<int64_t>(1, std::min(threads, std::max(1u, profile.big.count)));
  tiles = std::max<int64_t>(1, tiles);
  n = std::min(n, tiles);
  double ideal = 1 + double(n - 1) * profile.threadScaling;
  // n threads need ceil(tiles / n) rounds; a full last round would be the
  // ideal.
  double rounds = double((tiles + n - 1) / n);
  return std::max(1.0, ideal * (double(tiles) / double(n)) / rounds);
}

/// On one core, without the overhead.
static double alone(const Efficiency &e, const CoreKind &core,
                    const KernelFeatures &kernel) {
  double compute = core.gflops > 0 ? 2 * kernel.multiplyAdds /
                                         (e.compute * core.gflops * 1e6)
                                   : 0;
  double memory = core.memoryGBps > 0
                      ? kernel.bytes / (e.memory * core.memoryGBps * 1e6)
                      : 0;
  return std::max(compute, memory);
}

static const KernelTime *measuredTime(const DeviceProfile &profile,
                                      const KernelFeatures &kernel) {
  if (kernel.key.empty())
    return nullptr;
  auto found = profile.kernels.find(kernel.key);
  return found == profile.kernels.end() ? nullptr : &found->second;
}

Cost cost(const DeviceProfile &profile, const KernelFeatures &kernel,
          unsigned threads) {
  threads = std::max(1u, threads);
  const KernelTime *time = measuredTime(profile, kernel);
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

Cost littleCost(const DeviceProfile &profile, const KernelFeatures &kernel) {
  if (profile.little.count == 0)
    return cost(profile, kernel, 1);
  const KernelTime *time = measuredTime(profile, kernel);
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
                           const std::vector<KernelFeatures> &kernels) {
  if (!profile.measured)
    return "";
  size_t missing = 0;
  const KernelFeatures *first = nullptr;
  for (const KernelFeatures &kernel : kernels)
    if (!measuredTime(profile, kernel)) {
      ++missing;
      first = first ? first : &kernel;
    }
  if (!missing)
    return "";
  return "device profile '" + profile.name +
         "': kernels: " + std::to_string(missing) + " of " +
         std::to_string(kernels.size()) +
         " were not measured (first: " + first->routine + ", " +
         (first->key.empty() ? "no key" : first->key) +
         "), expected all; run nnv12-tune for this model";
}

/// Of weights, what is asked for early (artifact/MappedFile.cpp).
static constexpr double earlyBytes =
    device::hugePageSize - device::usualWeightsOffset;

/// Of weights, what comes with the bundle's head.
static constexpr double headBytes =
    device::headSize - device::usualWeightsOffset;

double startUs(const DeviceProfile &profile, size_t layers, double weightBytes,
               unsigned threads) {
  assert(weightBytes >= 0 && "a model has no weights or some");
  double session = profile.sessionUs +
                   profile.startUsPerLayer * double(layers) +
                   profile.laneStartUs * (std::max(1u, threads) - 1);
  if (weightBytes < headBytes && profile.tinyStartUs > 0)
    return profile.tinyStartUs + session;
  return profile.startUs + session +
         profile.startUsPerMB * std::min(weightBytes, earlyBytes) * 1e-6;
}

/// Of the bundle for which DeviceProfile::arrival was measured.
static double arrivalStartUs(const DeviceProfile &profile) {
  return startUs(profile, device::usualLayers, earlyBytes, 1);
}

void setStorage(DeviceProfile &profile, double megabytes) {
  assert(megabytes > 0 && "storage gives something");
  profile.readMBps = megabytes;
  for (DeviceProfile::Arrival &piece : profile.arrival)
    piece.us = arrivalStartUs(profile) + piece.megabytes / megabytes * 1e6;
}

search::Device searchDevice(const DeviceProfile &profile, unsigned threads,
                            std::optional<unsigned> lanes) {
  search::Device device;
  device.executeThreads = std::max(1u, threads);
  device.cpus = profile.big.count + profile.little.count;
  device.readBandwidth = profile.readMBps * 1e3; // MB/s to bytes/ms
  device.readLatency = profile.readLatencyUs * 1e-3;
  for (const DeviceProfile::Arrival &point : profile.arrival)
    device.arrival.push_back(
        {point.megabytes * 1e6,
         std::max(0.0, point.us - arrivalStartUs(profile)) * 1e-3});
  // Unknown, but opening asks for that in any case, and reads ahead then.
  if (device.arrival.empty())
    device.arrival = {{earlyBytes, earlyBytes / device.readBandwidth}};
  device.arrivedBytes = headBytes;
  device.askedAhead = device::hugePageSize;
  device.laneStart = profile.laneStartUs * 1e-3;
  device.decoderStart = profile.zstdStartUs * 1e-3;
  device.mapPerByte = {profile.mapUsPerMB * 1e-9,
                       profile.mapLittleUsPerMB * 1e-9};
  device.executeInterference = profile.executeInterference;
  device.prepareInterference = profile.prepareInterference;
  unsigned spare =
      profile.big.count > threads ? profile.big.count - threads : 0;
  unsigned wanted = lanes.value_or(profile.little.count ? profile.little.count
                                                        : std::max(1u, spare));
  device.preparationLanes.assign(std::min(wanted, artifact::maxLanes - 1),
                                 profile.little.count ? search::Core::Little
                                                      : search::Core::Big);
  if (profile.gpu)
    device.coprocessor = searchGpu(*profile.gpu);
  return device;
}

} // namespace nnv12::device
