//===- MeasureDevice.cpp - Measures a GPU in a process of its own ---------===//
#include "tools/common/Files.h"
#include "tools/common/Report.h"
#include "tools/nnv12-tune/ChildProcess.h"
#include "tools/nnv12-tune/MeasureRuns.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <optional>
#include <unistd.h>

namespace nnv12::tune {

using tools::fail;

namespace {

class DeviceTuner : public Tuner {
public:
  explicit DeviceTuner(const TuneOptions &options)
      : Tuner(options), bundle(options.bundles[0]) {
    if (!options.besides.empty())
      besides.emplace(options.besides);
    if (!options.refit.empty())
      text = tools::readText(options.refit);
  }

  std::string target() const override { return bundle.target(); }
  // All measurements here are of this machine.
  std::string refusal(const device::DeviceProfile &base) const override {
    return base.measured ? device::foreignDevice(base) : "";
  }
  void measure(device::DeviceProfile &profile) override;
  void report(const device::DeviceProfile &profile) const override;

private:
  void reportPairs(const device::GpuProfile &gpu) const;
  std::string measureInChild();

  DispatchBundle bundle;
  std::optional<Kernels> besides;
  std::string text; ///< of the samples
  Samples samples;
  Derived derived;
};

} // namespace

static std::string today() {
  time_t now = time(nullptr);
  tm date = {};
  gmtime_r(&now, &date);
  char text[16];
  strftime(text, sizeof text, "%Y-%m-%d", &date);
  return text;
}

std::string DeviceTuner::measureInChild() {
  if (isatty(2))
    fprintf(stderr, "nnv12-tune: measuring the GPU by %s\n",
            bundle.path().c_str());
  ChildResult child = runInChild(
      [&] {
        Samples measured =
            measureRuns(bundle, besides ? &*besides : nullptr, options);
        measured.gpu.date = today();
        return print(measured);
      },
      options.seconds);
  // It has said why itself.
  if (child.end == ChildResult::End::Refused)
    exit(1);
  if (child.end == ChildResult::End::Failed)
    fail("measuring the GPU " + child.reason + "; no profile was written");
  return child.text;
}

void DeviceTuner::measure(device::DeviceProfile &profile) {
  bool isMeasured = options.refit.empty();
  if (isMeasured)
    text = measureInChild();
  if (!parse(text, samples))
    fail(isMeasured ? "measuring the GPU ended too early; no profile was "
                      "written"
                    : options.refit + ": found something else, expected a file "
                                      "that --gpu-samples wrote");
  if (!options.samples.empty())
    tools::writeText(options.samples, text);
  device::GpuProfile &gpu = samples.gpu;
  bool isKnown = profile.gpu && profile.gpu->name == gpu.name;
  bool isSoftware = gpu.kind == device::GpuKind::Software;
  if (isKnown) {
    gpu.gflopsF16 = profile.gpu->gflopsF16;
    gpu.groupsPerUnit = profile.gpu->groupsPerUnit;
    gpu.beside = profile.gpu->beside;
    gpu.besideCpu = profile.gpu->besideCpu;
    gpu.power = profile.gpu->power;
  }
  gpu.units = options.units ? options.units
              : isSoftware  ? std::max(1u, gpu.hostCores)
              : isKnown     ? profile.gpu->units
                            : 1;
  profile.gpu = gpu;
  auto &assumed = profile.assumed;
  assumed.erase(std::remove_if(assumed.begin(), assumed.end(),
                               [](const std::string &field) {
                                 return field.compare(0, 4, "gpu.") == 0;
                               }),
                assumed.end());
  derived = tune::derive(samples.kernels, *profile.gpu);
  deriveBeside(samples, *profile.gpu);
}

void DeviceTuner::report(const device::DeviceProfile &profile) const {
  const device::GpuProfile &gpu = *profile.gpu;
  const device::HeldOut &held = derived.kernels;
  printf("%s, %s\n"
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
         gpu.name.c_str(), gpu.driver.c_str(), gpu.startMs, gpu.pipelineMs,
         gpu.pipelineCachedMs, gpu.pipelineThreads, gpu.pipelineScaling,
         gpu.uploadGBps, gpu.inputGBps, gpu.downloadGBps, gpu.memoryGBps,
         gpu.submitUs, gpu.syncUs, gpu.dispatchUs, gpu.stampUs, gpu.gflops,
         gpu.units, gpu.cacheMB, gpu.kernels.size(), held.sum.good,
         held.sum.all, held.sum.all ? 100.0 * held.sum.good / held.sum.all : 0,
         100 * held.error);
  if (samples.leftOut)
    printf("    %u more take too long for the time there is\n",
           samples.leftOut);
  for (const auto &[routine, count] : held.byRoutine)
    printf("    %-22s %u of %u\n", routine.c_str(), count.good, count.all);
  const device::HeldOut &fronts = derived.fronts;
  if (fronts.sum.all)
    printf("  fronts    %u of %u are predicted within 10 %% or their spread, "
           "none in the fit (%.0f %%), median error %.1f %%\n",
           fronts.sum.good, fronts.sum.all,
           100.0 * fronts.sum.good / fronts.sum.all, 100 * fronts.error);
  for (const auto &[routine, count] : fronts.byRoutine)
    printf("    %-22s %u of %u\n", routine.c_str(), count.good, count.all);
  reportPairs(gpu);
}

void DeviceTuner::reportPairs(const device::GpuProfile &gpu) const {
  if (samples.pairs.empty())
    return;
  printf("  beside    %zu pairs with the CPU on %u of %u CPUs: GPU %.2f times "
         "as long, CPU %.2f\n",
         samples.pairs.size(), samples.pairThreads, samples.numCpus, gpu.beside,
         gpu.besideCpu);
  for (const PairTime &pair : samples.pairs)
    printf("    %-22s %8.1f us, beside %5.2f   %-22s %8.1f us, beside %5.2f\n",
           pair.gpu.c_str(), pair.gpuAlone, pair.gpuBeside / pair.gpuAlone,
           pair.cpu.c_str(), pair.cpuAlone, pair.cpuBeside / pair.cpuAlone);
}

std::unique_ptr<Tuner> deviceTuner(const TuneOptions &options) {
  return std::make_unique<DeviceTuner>(options);
}

} // namespace nnv12::tune
