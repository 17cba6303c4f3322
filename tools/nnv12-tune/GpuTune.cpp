//===- GpuTune.cpp - The GPU's part of a device profile -------------------===//
#include "tools/nnv12-tune/GpuTune.h"

#include "compiler/device/DeviceProfile.h"
#include "tools/common/Files.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"
#include "tools/nnv12-tune/ChildProcess.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <unistd.h>

namespace nnv12::tune {

using tools::fail;

/// A kernel of more multiply-adds tells what a peak is worth.
static constexpr double largeMultiplyAdds = 5e7;

static std::string today() {
  time_t now = time(nullptr);
  tm date = {};
  gmtime_r(&now, &date);
  char text[16];
  strftime(text, sizeof text, "%Y-%m-%d", &date);
  return text;
}

/// Megabytes that stayed in a cache: of the largest kernel that was slower by a
/// tenth with its weights in memory.
static double cacheOf(const std::vector<Sample> &kernels) {
  std::map<std::string, double> fromCache;
  for (const Sample &kernel : kernels)
    if (!kernel.facts.fromMemory)
      fromCache[kernel.facts.key] = kernel.median;
  double bytes = 0;
  for (const Sample &kernel : kernels)
    if (auto found = fromCache.find(kernel.facts.key);
        kernel.facts.fromMemory && found != fromCache.end() &&
        kernel.median > 1.1 * found->second)
      bytes = std::max(bytes, kernel.facts.bytes);
  return bytes * 1e-6;
}

device::HeldOut deriveGpu(const std::vector<Sample> &kernels,
                          device::GpuProfile &gpu) {
  double gflops = 0, memoryGBps = 0;
  for (const Sample &kernel : kernels) {
    const KernelFacts &f = kernel.facts;
    gflops = std::max(gflops, 2e-3 * f.multiplyAdds / kernel.median);
    memoryGBps = std::max(memoryGBps, 1e-3 * f.bytes / kernel.median);
  }
  gpu.gflops = std::max(gflops, 1e-3);
  gpu.memoryGBps = std::max(memoryGBps, 1e-3);
  std::vector<double> parts;
  for (const Sample &kernel : kernels)
    if (kernel.facts.multiplyAdds >= largeMultiplyAdds)
      parts.push_back(2e-3 * kernel.facts.multiplyAdds / kernel.median /
                      gpu.gflops);
  if (!parts.empty())
    gpu.compute = tools::median(parts);
  gpu.cacheMB = cacheOf(kernels);
  gpu.measured = true;
  return device::fitAndHoldOut(gpu, kernels);
}

/// The profile to add to.
static device::DeviceProfile readBase(const GpuTuneOptions &options,
                                      const GpuBundle &bundle) {
  if (options.base.empty()) {
    std::string target = bundle.target();
    bool isX86 = target.compare(0, 6, "x86-64") == 0;
    device::DeviceProfile profile =
        device::builtinProfile(isX86 ? "x86-64" : "aarch64", target);
    profile.kernels.clear();
    return profile;
  }
  std::string error;
  auto base = device::readProfile(options.base, error);
  if (!base)
    fail(error);
  // What is measured here is of this machine.
  error = base->measured ? device::foreignDevice(*base) : "";
  if (!error.empty())
    fail(options.base + ": " + error);
  return std::move(*base);
}

static void report(const device::HeldOut &held, const GpuTuneOptions &options,
                   const device::GpuProfile &gpu, unsigned leftOut) {
  printf("%s: %s, %s\n"
         "  start     %.0f ms, pipeline %.1f ms, cached %.2f ms, %u threads "
         "(scaling %.2f)\n"
         "  memory    weights %.2f GB/s, inputs %.2f GB/s, results %.2f GB/s, "
         "kernels %.1f GB/s\n"
         "  calls     submit %.1f us, wait %.1f us, dispatch %.2f us (a time "
         "stamp less, %.2f us)\n"
         "  compute   %.1f GFLOP/s, %u units, %.1f MB of weights stay in its "
         "cache\n"
         "  kernels   %zu; %u of %u are predicted within 10 %% or their "
         "spread, left "
         "out of the fit (%.0f %%), median error %.1f %%\n",
         options.output.c_str(), gpu.name.c_str(), gpu.driver.c_str(),
         gpu.startMs, gpu.pipelineMs, gpu.pipelineCachedMs, gpu.pipelineThreads,
         gpu.pipelineScaling, gpu.uploadGBps, gpu.inputGBps, gpu.downloadGBps,
         gpu.memoryGBps, gpu.submitUs, gpu.syncUs, gpu.dispatchUs, gpu.stampUs,
         gpu.gflops, gpu.units, gpu.cacheMB, gpu.kernels.size(), held.sum.good,
         held.sum.all, held.sum.all ? 100.0 * held.sum.good / held.sum.all : 0,
         100 * held.error);
  if (leftOut)
    printf("    %u more take too long for the time there is\n", leftOut);
  for (const auto &[routine, count] : held.byRoutine)
    printf("    %-22s %u of %u\n", routine.c_str(), count.good, count.all);
}

/// In a process of its own.
static std::string measure(const GpuBundle &bundle,
                           const GpuTuneOptions &options) {
  if (isatty(2))
    fprintf(stderr, "nnv12-tune: measuring the GPU by %s\n",
            bundle.path().c_str());
  ChildResult child = runInChild(
      [&] {
        GpuMeasured measured = measureGpu(bundle, options.measure);
        measured.gpu.date = today();
        return print(measured);
      },
      options.measure.seconds);
  // It has said why itself.
  if (child.end == ChildResult::End::Refused)
    exit(1);
  if (child.end == ChildResult::End::Failed)
    fail("measuring the GPU " + child.reason + "; no profile was written");
  return child.text;
}

static std::string readSamples(const std::string &path) {
  artifact::MappedFile file;
  std::string error = tools::openInput(path, file);
  if (!error.empty())
    fail(error);
  return {reinterpret_cast<const char *>(file.data()), file.size()};
}

void tuneGpu(const std::string &path, const GpuTuneOptions &options) {
  GpuBundle bundle(path);
  bool isMeasured = options.refit.empty();
  std::string text = isMeasured ? "" : readSamples(options.refit);
  tools::checkOutput(options.output);
  device::DeviceProfile profile = readBase(options, bundle);
  if (isMeasured)
    text = measure(bundle, options);
  GpuMeasured measured;
  if (!parse(text, measured))
    fail(isMeasured ? "measuring the GPU ended too early; no profile was "
                      "written"
                    : options.refit + ": found something else, expected what "
                                      "--gpu-samples wrote");
  if (!options.samples.empty())
    tools::writeText(options.samples, text);
  device::GpuProfile &gpu = measured.gpu;
  bool isKnown = profile.gpu && profile.gpu->name == gpu.name;
  bool isSoftware = gpu.kind == device::GpuKind::Software;
  if (isKnown) {
    gpu.gflopsF16 = profile.gpu->gflopsF16;
    gpu.groupsPerUnit = profile.gpu->groupsPerUnit;
  }
  gpu.units = options.units ? options.units
              : isSoftware  ? std::max(1u, gpu.hostCores)
              : isKnown     ? profile.gpu->units
                            : 1;
  device::HeldOut held = deriveGpu(measured.kernels, gpu);
  profile.gpu = gpu;
  if (!options.name.empty())
    profile.name = options.name;
  auto &assumed = profile.assumed;
  assumed.erase(std::remove_if(assumed.begin(), assumed.end(),
                               [](const std::string &field) {
                                 return field.compare(0, 4, "gpu.") == 0;
                               }),
                assumed.end());
  std::string error = device::writeProfile(profile, options.output);
  if (!error.empty())
    fail(error);
  report(held, options, gpu, measured.leftOut);
}

} // namespace nnv12::tune
