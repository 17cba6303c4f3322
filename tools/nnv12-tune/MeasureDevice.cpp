//===- MeasureDevice.cpp - Measures a GPU in a process of its own ---------===//
#include "tools/common/Files.h"
#include "tools/common/Report.h"
#include "tools/nnv12-tune/ChildProcess.h"
#include "tools/nnv12-tune/MeasureRuns.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <unistd.h>

namespace nnv12::tune {

using tools::fail;

namespace {

class DeviceTuner : public Tuner {
public:
  explicit DeviceTuner(const TuneOptions &options)
      : Tuner(options), bundle(options.bundles[0]) {
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
  std::string measureInChild() const;

  DispatchBundle bundle;
  std::string text; ///< of the samples
  Samples samples;
  device::HeldOut held;
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

std::string DeviceTuner::measureInChild() const {
  if (isatty(2))
    fprintf(stderr, "nnv12-tune: measuring the GPU by %s\n",
            bundle.path().c_str());
  ChildResult child = runInChild(
      [&] {
        Samples measured = measureRuns(bundle, options);
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
                    : options.refit + ": found something else, expected what "
                                      "--gpu-samples wrote");
  if (!options.samples.empty())
    tools::writeText(options.samples, text);
  device::GpuProfile &gpu = samples.gpu;
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
  profile.gpu = gpu;
  auto &assumed = profile.assumed;
  assumed.erase(std::remove_if(assumed.begin(), assumed.end(),
                               [](const std::string &field) {
                                 return field.compare(0, 4, "gpu.") == 0;
                               }),
                assumed.end());
  held = tune::derive(samples.kernels, *profile.gpu);
}

void DeviceTuner::report(const device::DeviceProfile &profile) const {
  const device::GpuProfile &gpu = *profile.gpu;
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
}

std::unique_ptr<Tuner> deviceTuner(const TuneOptions &options) {
  return std::make_unique<DeviceTuner>(options);
}

} // namespace nnv12::tune
