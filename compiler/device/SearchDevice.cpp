//===- SearchDevice.cpp - A device as the search sees it ------------------===//

#include "artifact/Limits.h"
#include "artifact/RuntimePolicy.h"
#include "compiler/device/CostModel.h"

#include <algorithm>
#include <cassert>

namespace nnv12::device {

search::Coprocessor searchGpu(const GpuProfile &gpu) {
  search::Coprocessor result;
  result.start = gpu.startMs;
  result.threads = std::max(1u, gpu.pipelineThreads);
  result.batch = std::max(1u, gpu.pipelineBatch);
  result.pipelineScaling = gpu.pipelineScaling;
  result.uploadBandwidth = gpu.uploadGBps * 1e6; // GB/s to bytes/ms
  result.submit = gpu.submitUs * 1e-3;
  result.sync = gpu.syncUs * 1e-3;
  // Where the GPU computes in the CPUs' memory nothing is copied, but caches
  // are written back.
  bool copies = gpu.kind == GpuKind::Discrete || !gpu.imports;
  result.inPerByte =
      copies ? 1 / (gpu.inputGBps * 1e6) : gpu.flushUsPerMB * 1e-9;
  result.outPerByte =
      copies ? 1 / (gpu.downloadGBps * 1e6) : gpu.flushUsPerMB * 1e-9;
  result.hostCores = gpu.kind == GpuKind::Software ? gpu.hostCores : 0;
  result.beside = std::max(1.0, gpu.beside);
  result.besideCpu = std::max(1.0, gpu.besideCpu);
  if (gpu.power)
    result.power = {gpu.power->base, gpu.power->cpu, gpu.power->gpu};
  return result;
}

search::Pipeline searchPipeline(const GpuProfile &gpu) {
  return {gpu.pipelineMs, gpu.pipelineCachedMs};
}

/// The bytes of weights that are asked for early (artifact/MappedFile.cpp).
static constexpr double earlyBytes = hugePageSize - device::usualWeightsOffset;

/// The bytes of weights that come with the bundle's head.
static constexpr double headBytes = headSize - device::usualWeightsOffset;

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

/// The start of the bundle that DeviceProfile::arrival was measured with.
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
  device.askedAhead = hugePageSize;
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
