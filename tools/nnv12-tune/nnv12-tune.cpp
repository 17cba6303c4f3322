//===- nnv12-tune.cpp - Measures a device for the planner -----------------===//
#include "compiler/device/Fit.h"
#include "tools/common/Files.h"
#include "tools/common/Options.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"
#include "tools/nnv12-tune/Cores.h"
#include "tools/nnv12-tune/GpuTune.h"
#include "tools/nnv12-tune/Interference.h"
#include "tools/nnv12-tune/Kernels.h"
#include "tools/nnv12-tune/Progress.h"
#include "tools/nnv12-tune/System.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <optional>

using namespace nnv12;
using namespace nnv12::tools;
using namespace nnv12::tune;

static constexpr char overview[] =
    "measures, on the device that it runs on, what nnv12c must know to plan "
    "for it: "
    "each kernel of tuning bundles (nnv12c --emit tuning) on each kind of "
    "core, storage, "
    "memory, and what neighbouring threads cost each other. Writes a device "
    "profile "
    "for nnv12c --profile";

static constexpr char examples[] =
    R"(  nnv12c model.onnx --emit tuning --target aarch64 -o model.tune.nnv
  nnv12-tune model.tune.nnv -o phone.json             (on the phone)
  nnv12c model.onnx --profile phone.json -o model.nnv
      kernels of this model as fast as they are on the phone
  nnv12-tune other.tune.nnv --base phone.json -o phone.json
      adds another model's kernels to a profile of this device
  nnv12c --emit tuning --gpu -o gpu.tune.nnv
  nnv12-tune --gpu gpu.tune.nnv -o device.json
      the GPU, for nnv12c --gpu --gpu-profile device.json
)";

namespace {
struct TuneOptions {
  std::vector<std::string> bundles;
  std::string output, base, storage, name;
  std::vector<double> threads;
  unsigned repeat = 9;
  unsigned storageMB = 64;
  bool gpu = false;
  GpuTuneOptions ofGpu;
};
} // namespace

static TuneOptions parseOptions(int argc, char **argv) {
  TuneOptions result;
  Options options("nnv12-tune", overview, examples);
  options.positionals("TUNING.nnv", result.bundles);
  options.output(
      "o", "PROFILE.json", result.output,
      "Where to write the device profile. Required. May be that of --base, "
      "but none of the bundles.");
  options.text(
      "base", "PROFILE.json", result.base,
      "Take what is known of this device from an earlier profile, measure "
      "kernels alone, and add them.");
  options.number(
      "repeat", "N", result.repeat, 1, 1000,
      "Runs of each kernel, after one that does not count; the median is "
      "taken. Where all kernels take less than a fifth of a second they run "
      "that long instead of once. Default 9.");
  options.reals(
      "threads", "LIST", result.threads,
      "Numbers of threads to measure with, e.g. 1,2,4; what lies between two "
      "of them is interpolated. Default: powers of two up to the number of big "
      "cores, and that number.");
  options.text(
      "storage", "FOLDER", result.storage,
      "Where models will be stored: read speed is measured there. Default: the "
      "profile's folder.");
  options.number(
      "storage-size", "MB", result.storageMB, 4, 4096,
      "Size of the file that is written and read there. Default 64.");
  options.text("name", "NAME", result.name,
               "The device's name, for people. Default: its CPU.");
  options.flag("gpu", result.gpu,
               "Measure the GPU alone, by a bundle of nnv12c --emit tuning "
               "--gpu, and write it into the profile of --base, or into that "
               "of an ordinary CPU.");
  options.number("gpu-units", "N", result.ofGpu.units, 1, 65536,
                 "With --gpu: compute units that it has, where data sheets say "
                 "so. Default: as in --base, else they are counted with the "
                 "groups that each runs.");
  options.number(
      "gpu-seconds", "N", result.ofGpu.measure.seconds, 1, 3600,
      "With --gpu: the time there is. Of a GPU that is too slow for "
      "all kernels, as software is, those that take longest are left "
      "out; a driver that gives no answer is taken to hang. Default "
      "150.");
  options.text("gpu-samples", "FILE", result.ofGpu.samples,
               "With --gpu: also write what was measured of each kernel, for "
               "--gpu-refit.");
  options.text("gpu-refit", "FILE", result.ofGpu.refit,
               "With --gpu: measure nothing, but fit the profile to what "
               "--gpu-samples wrote.");
  options.flag("allow-software-gpu", result.ofGpu.measure.allowSoftware,
               "With --gpu: take a GPU that is software.");
  options.text("vulkan-library", "FILE", result.ofGpu.measure.vulkanLibrary,
               "With --gpu: the library of Vulkan. Default: libvulkan.so.1.");
  options.parse(argc, argv);
  if (result.output.empty())
    fail("-o: found nothing, expected where to write the profile");
  return result;
}

static std::vector<unsigned> threadCounts(const TuneOptions &options,
                                          const Cores &cores) {
  std::vector<unsigned> counts;
  unsigned most = static_cast<unsigned>(std::min<size_t>(cores.big.size(), 64));
  for (double n : options.threads) {
    if (n < 1 || n > 64 || n != static_cast<unsigned>(n))
      fail("--threads: found " + std::to_string(n) +
           ", expected whole numbers from 1 to 64");
    counts.push_back(static_cast<unsigned>(n));
  }
  if (counts.empty()) {
    for (unsigned n = 1; n < most; n *= 2)
      counts.push_back(n);
    counts.push_back(most);
  }
  counts.push_back(1); // what all else is compared with
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

/// Times for 1, 2, 3... threads of those that were measured, linear in 1 /
/// threads between two: a part that does not scale and one that does.
static std::vector<double> interpolate(const std::vector<unsigned> &counts,
                                       const std::vector<double> &times) {
  assert(counts.size() == times.size() && !counts.empty() && counts[0] == 1 &&
         std::is_sorted(counts.begin(), counts.end()) &&
         "a time for each number of threads, from 1 on");
  std::vector<double> result;
  for (size_t i = 0; i < counts.size(); ++i) {
    for (unsigned n = i ? counts[i - 1] + 1 : counts[i]; n < counts[i]; ++n) {
      double a = 1.0 / counts[i - 1], b = 1.0 / counts[i];
      result.push_back(times[i] +
                       (times[i - 1] - times[i]) * (1.0 / n - b) / (a - b));
    }
    result.push_back(times[i]);
  }
  return result;
}

static void measureKernels(Kernels &kernels, const TuneOptions &options,
                           const Cores &cores,
                           const std::vector<unsigned> &counts,
                           const std::function<void()> &between,
                           std::vector<double> &firstRuns,
                           device::DeviceProfile &profile, Progress &progress) {
  auto step = [&] { progress.step(); };
  auto bigStep = [&] {
    between();
    progress.step();
  };
  std::string what = std::to_string(kernels.facts().size()) + " kernels of " +
                     kernels.path() + ", ";
  std::vector<std::vector<double>> big;
  for (unsigned count : counts) {
    OnCores pinned(cores.big);
    progress.phase(what + std::to_string(count) +
                   (count == 1 ? " thread" : " threads"));
    Kernels::Times times = kernels.measure(count, options.repeat, bigStep);
    big.push_back(std::move(times.medians));
    firstRuns.insert(firstRuns.end(), times.firstRuns.begin(),
                     times.firstRuns.end());
  }
  std::vector<double> little;
  if (!cores.little.empty()) {
    OnCores pinned({cores.little[0]});
    progress.phase(what + "little core");
    little = kernels.measure(1, options.repeat, step).medians;
  }
  for (size_t k = 0; k < kernels.facts().size(); ++k) {
    device::KernelTime time;
    std::vector<double> times;
    for (const std::vector<double> &one : big)
      times.push_back(one[k]);
    time.big = interpolate(counts, times);
    if (!little.empty())
      time.little = little[k];
    time.code = kernels.facts()[k].code;
    profile.kernels[kernels.facts()[k].key] = std::move(time);
  }
}

/// Peaks and thread scaling as the kernels show them.
static void deriveFromKernels(const std::vector<KernelFacts> &features,
                              device::DeviceProfile &profile) {
  double big = 0, little = 0, one = 0, most = 0;
  size_t threads = 0;
  for (const KernelFacts &kernel : features)
    threads = std::max(threads, profile.kernels[kernel.key].big.size());
  for (const KernelFacts &kernel : features) {
    const device::KernelTime &time = profile.kernels[kernel.key];
    double gflop = 2 * kernel.multiplyAdds * 1e-6; // over milliseconds
    big = std::max(big, gflop / time.big[0]);
    if (time.little > 0)
      little = std::max(little, gflop / time.little);
    if (threads > 1 && kernel.tiles >= static_cast<int64_t>(threads)) {
      one += time.big[0];
      most += time.big[threads - 1];
    }
  }
  if (big > 0)
    profile.big.gflops = big;
  if (little > 0)
    profile.little.gflops = little;
  if (most > 0)
    profile.threadScaling =
        std::clamp((one / most - 1) / double(threads - 1), 0.0, 1.0);
}

static std::string storageFolder(const TuneOptions &options) {
  if (!options.storage.empty())
    return options.storage;
  size_t slash = options.output.rfind('/');
  return slash == std::string::npos ? "." : options.output.substr(0, slash + 1);
}

/// Beside the first one.
static constexpr size_t storageSamples = 11;

/// All that does not depend on kernels, but for what is sampled while these are
/// measured. `kernels` are there to be disturbed.
static void measureSystem(Storage &storage, const Cores &cores,
                          Kernels &kernels, device::DeviceProfile &profile,
                          Progress &progress) {
  constexpr unsigned repeat = 9;
  profile.big.name = coreName(cores.big[0]);
  profile.big.count = static_cast<unsigned>(cores.big.size());
  profile.little = {};
  profile.little.count = static_cast<unsigned>(cores.little.size());
  progress.phase("storage");
  {
    OnCores pinned({cores.big[0]});
    storage.sample();
    if (storage.resident() > 0.5)
      fprintf(
          stderr,
          "nnv12-tune: warning: files stay in memory, so that no storage was "
          "measured; see --storage\n");
  }
  profile.laneStartUs = measureThreadStartUs(repeat);
  progress.step();
  progress.phase("memory and codec");
  {
    OnCores pinned({cores.big[0]});
    profile.big.memoryGBps = measureMemoryGBps(repeat);
    FirstTouch touch = measureFirstTouch();
    profile.firstTouchUsPerMB = touch.usPerMB;
    profile.firstTouchSmallUsPerMB = touch.smallUsPerMB;
    // Without libzstd compressed weights cannot be used.
    ZstdSpeed zstd = measureZstd(repeat);
    if (zstd.startUs > 0)
      profile.zstdStartUs = zstd.startUs;
    profile.zstdMBps = profile.zstdLittleMBps = std::max(zstd.MBps, 1.0);
    profile.zstdRepeatsMBps = profile.zstdRepeatsLittleMBps =
        std::max(zstd.repeatsMBps, 1.0);
  }
  if (!cores.little.empty()) {
    OnCores pinned({cores.little[0]});
    profile.little.name = coreName(cores.little[0]);
    profile.little.memoryGBps = measureMemoryGBps(repeat);
    profile.mapLittleUsPerMB = measureMap(storage.file(), repeat);
    ZstdSpeed zstd = measureZstd(repeat);
    profile.zstdLittleMBps = std::max(zstd.MBps, 1.0);
    profile.zstdRepeatsLittleMBps = std::max(zstd.repeatsMBps, 1.0);
  }
  progress.step();
  progress.phase("interference");
  Interference interference =
      measureInterference(kernels, storage.file(), cores, repeat);
  profile.executeInterference = interference.execute;
  profile.prepareInterference = interference.prepare;
  progress.step();
}

/// Coefficients of what the profile has none for yet: those that came with
/// --base were made of kernels that are not at hand now.
static device::Fit fitCoefficients(const std::vector<KernelFacts> &features,
                                   bool hasBase,
                                   device::DeviceProfile &profile) {
  auto known = profile.efficiency;
  device::Fit fit = device::fitEfficiency(profile, features);
  if (hasBase)
    for (const auto &[routine, efficiency] : known)
      profile.efficiency[routine] = efficiency;
  return fit;
}

/// The same options, as far as they are for the GPU.
static void tuneGpu(TuneOptions options) {
  if (options.bundles.size() != 1)
    fail("--gpu: found " + std::to_string(options.bundles.size()) +
         " bundles, expected one");
  options.ofGpu.base = options.base;
  options.ofGpu.output = options.output;
  options.ofGpu.name = options.name;
  options.ofGpu.measure.repeat = options.repeat;
  tune::tuneGpu(options.bundles[0], options.ofGpu);
  finishOutput();
}

int main(int argc, char **argv) {
  TuneOptions options = parseOptions(argc, argv);
  if (options.gpu) {
    tuneGpu(std::move(options));
    return 0;
  }
  // All that may be wrong with the arguments comes before anything is measured.
  std::vector<Kernels> bundles;
  bundles.reserve(options.bundles.size());
  std::string target;
  for (const std::string &path : options.bundles) {
    bundles.emplace_back(path);
    if (target.empty())
      target = bundles.back().target();
    if (bundles.back().target() != target)
      fail(path + ": found kernels for " + bundles.back().target() +
           ", expected " + target + " as in " + options.bundles[0]);
  }
  for (const Kernels &kernels : bundles) {
    auto expectSame = [&](const char *what, const std::string &found,
                          const std::string &expected) {
      if (found != expected)
        fail(kernels.path() + ": found code " + what + " '" + found +
             "', expected '" + expected + "' as in " + options.bundles[0]);
    };
    expectSame("of revision", kernels.revision(), bundles[0].revision());
    expectSame("tuned for", kernels.tune(), bundles[0].tune());
  }
  checkOutput(options.output);
  device::DeviceProfile profile;
  if (!options.base.empty()) {
    std::string error;
    auto base = device::readProfile(options.base, error);
    if (!base)
      fail(error);
    error = device::foreignDevice(*base);
    if (error.empty() && !base->measured)
      error = "found a profile that was not measured";
    if (error.empty() && base->target != target)
      error = "target: found '" + base->target + "', expected '" + target + "'";
    if (error.empty() && base->revision != bundles[0].revision())
      error = "revision: found '" + base->revision + "', expected '" +
              bundles[0].revision() + "' as in " + options.bundles[0];
    if (error.empty() && base->tune != bundles[0].tune())
      error = "tune: found '" + base->tune + "', expected '" +
              bundles[0].tune() + "' as in " + options.bundles[0];
    if (!error.empty())
      fail(options.base + ": " + error);
    profile = std::move(*base);
  } else {
    profile = device::builtinProfile(
        target.compare(0, 6, "x86-64") == 0 ? "x86-64" : "aarch64", target);
    profile.kernels.clear();
  }
  Cores cores = sortCores(usableCpus());
  std::vector<unsigned> counts = threadCounts(options, cores);
  profile.identity = device::hostIdentity();
  profile.measured = true;
  profile.revision = bundles[0].revision();
  profile.tune = bundles[0].tune();
  if (!options.name.empty())
    profile.name = options.name;
  else if (options.base.empty())
    profile.name = coreName(cores.big[0]);

  std::optional<Storage> storage;
  if (options.base.empty())
    storage.emplace(storageFolder(options), size_t(options.storageMB) << 20);

  device::Fit fit;
  {
    Progress progress(
        "nnv12-tune",
        static_cast<unsigned>(bundles.size() * (options.repeat + 1) *
                              (counts.size() + !cores.little.empty())) +
            (options.base.empty() ? 3 : 0));
    if (storage)
      measureSystem(*storage, cores, bundles[0], profile, progress);
    std::vector<KernelFacts> features;
    // Samples of the storage are spread over the time that kernels take.
    size_t steps = bundles.size() * (options.repeat + 1) * counts.size(),
           step = 0;
    auto between = [&] {
      if (storage &&
          step * storageSamples / steps != (step + 1) * storageSamples / steps)
        storage->sample();
      ++step;
    };
    std::vector<double> firstRuns;
    for (Kernels &kernels : bundles) {
      measureKernels(kernels, options, cores, counts, between, firstRuns,
                     profile, progress);
      features.insert(features.end(), kernels.facts().begin(),
                      kernels.facts().end());
    }
    if (storage) {
      storage->describe(profile);
      profile.firstRun = std::max(1.0, tools::median(firstRuns));
      deriveFromKernels(features, profile);
    }
    fit = fitCoefficients(features, !options.base.empty(), profile);
  }
  std::string error = device::writeProfile(profile, options.output);
  if (!error.empty())
    fail(error);
  printf("%s: %s, %u big", options.output.c_str(), profile.identity.c_str(),
         profile.big.count);
  if (profile.little.count)
    printf(" and %u little", profile.little.count);
  printf(
      " cores\n"
      "  kernels   %zu; predicted from coefficients they would be %.0f %% off "
      "(median)\n"
      "  core      %.1f GFLOP/s, %.1f GB/s, thread scaling %.2f\n"
      "  storage   %.0f MB/s, latency %.0f us, map %.0f us/MB\n"
      "  memory    first touch %.0f us/MB, in small pages %.0f\n"
      "  zstd      %.0f MB/s, of repeated numbers %.0f, start %.0f us\n"
      "  together  execute %.2f, prepare %.2f\n"
      "  first run %.2f of a later one\n",
      profile.kernels.size(), 100 * fit.errorAfter, profile.big.gflops,
      profile.big.memoryGBps, profile.threadScaling, profile.readMBps,
      profile.readLatencyUs, profile.mapUsPerMB, profile.firstTouchUsPerMB,
      profile.firstTouchSmallUsPerMB, profile.zstdMBps, profile.zstdRepeatsMBps,
      profile.zstdStartUs, profile.executeInterference,
      profile.prepareInterference, profile.firstRun);
  finishOutput();
  return 0;
}
