//===- MeasureCores.cpp - Measures CPUs, storage and memory ---------------===//
#include "artifact/NonCopyable.h"
#include "artifact/TuningParts.h"
#include "compiler/device/Fit.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"
#include "tools/nnv12-tune/Cores.h"
#include "tools/nnv12-tune/Interference.h"
#include "tools/nnv12-tune/Kernels.h"
#include "tools/nnv12-tune/System.h"
#include "tools/nnv12-tune/Tuner.h"

#include <algorithm>
#include <cassert>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <unistd.h>

namespace nnv12::tune {

using tools::fail;

/// Samples of the storage, beside the first one.
static constexpr size_t storageSamples = 11;
/// Milliseconds that a step of all kernels takes at least.
static constexpr double leastSteps = 200;

static std::vector<unsigned> threadCounts(const TuneOptions &options,
                                          const Cores &cores) {
  std::set<unsigned> counts = {1}; // all else is compared with it
  unsigned most = static_cast<unsigned>(std::min<size_t>(cores.big.size(), 64));
  for (double n : options.threads) {
    if (n < 1 || n > 64 || n != static_cast<unsigned>(n))
      fail("--threads: found " + std::to_string(n) +
           ", expected whole numbers from 1 to 64");
    counts.insert(static_cast<unsigned>(n));
  }
  if (options.threads.empty()) {
    for (unsigned n = 1; n < most; n *= 2)
      counts.insert(n);
    counts.insert(most);
  }
  return {counts.begin(), counts.end()};
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
/// Peaks and thread scaling as the kernels show them.
static void deriveFromKernels(const std::vector<KernelFacts> &facts,
                              device::DeviceProfile &profile) {
  double big = 0, little = 0, one = 0, most = 0;
  size_t threads = 0;
  for (const KernelFacts &kernel : facts)
    threads = std::max(threads, profile.kernels[kernel.key].big.size());
  for (const KernelFacts &kernel : facts) {
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

namespace {

/// On a terminal a bar that fills on standard error; elsewhere one line a
/// phase.
class Progress : artifact::NonCopyable {
public:
  explicit Progress(unsigned steps)
      : steps(steps), terminal(isatty(STDERR_FILENO) == 1) {
    assert(steps > 0 && "there is something to do");
  }
  ~Progress() {
    if (terminal)
      fputs("\r\x1b[K", stderr);
  }

  void phase(const std::string &phase) {
    name = phase;
    if (terminal)
      draw();
    else
      fprintf(stderr, "nnv12-tune: measuring %s\n", name.c_str());
  }
  void step() {
    done = std::min(done + 1, steps);
    if (terminal)
      draw();
  }

private:
  void draw() {
    static constexpr char full[] = "################################";
    constexpr unsigned width = sizeof full - 1;
    unsigned filled = done * width / steps;
    fprintf(stderr, "\r\x1b[Knnv12-tune: [%.*s%*s] %3u %% %s",
            static_cast<int>(filled), full, static_cast<int>(width - filled),
            "", done * 100 / steps, name.c_str());
    fflush(stderr);
  }

  unsigned steps, done = 0;
  std::string name;
  bool terminal;
};

class CoreTuner : public Tuner {
public:
  explicit CoreTuner(const TuneOptions &options) : Tuner(options) {
    bundles.reserve(options.bundles.size());
    for (const std::string &path : options.bundles) {
      bundles.emplace_back(path);
      if (device::baseOf(bundles.back().target()) != device::baseOf(target()))
        fail(path + ": found kernels for " + bundles.back().target() +
             ", expected " + target() + " as in " + options.bundles[0]);
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
  }

  std::string target() const override {
    std::string greatest = bundles[0].target();
    for (const Kernels &kernels : bundles)
      greatest = device::greaterTarget(greatest, kernels.target());
    return greatest;
  }

  std::string refusal(const device::DeviceProfile &base) const override {
    std::string error = device::foreignDevice(base);
    if (error.empty() && !base.measured)
      error = "found a profile that was not measured";
    auto expectSame = [&](const char *what, const std::string &found,
                          const std::string &expected,
                          const std::string &where) {
      if (error.empty() && found != expected)
        error = what + (": found '" + found) + "', expected '" + expected +
                "'" + where;
    };
    std::string where = " as in " + options.bundles[0];
    if (device::baseOf(base.target) != device::baseOf(target()))
      expectSame("target", base.target, target(), "");
    expectSame("revision", base.revision, bundles[0].revision(), where);
    expectSame("tune", base.tune, bundles[0].tune(), where);
    return error;
  }

  void measure(device::DeviceProfile &profile) override {
    std::vector<unsigned> counts = threadCounts(options, cores);
    profile.identity = device::hostIdentity();
    profile.target = device::greaterTarget(profile.target, target());
    profile.measured = true;
    profile.revision = bundles[0].revision();
    profile.tune = bundles[0].tune();
    bool hasBase = !options.base.empty();
    if (!hasBase) {
      profile.name = coreName(cores.big[0]);
      storage.emplace(storageFolder(options), size_t(options.storageMB) << 20);
    }
    Progress progress(
        static_cast<unsigned>(bundles.size() * (options.repeat + 1) *
                              (counts.size() + !cores.little.empty())) +
        (hasBase ? 0 : 3));
    if (storage)
      measureSystem(profile, progress);
    // Samples of the storage are spread over the time that kernels take.
    size_t steps = bundles.size() * (options.repeat + 1) * counts.size(),
           step = 0;
    auto between = [&] {
      if (storage &&
          step * storageSamples / steps != (step + 1) * storageSamples / steps)
        storage->sample();
      ++step;
    };
    for (Kernels &kernels : bundles)
      measureKernels(kernels, counts, between, profile, progress);
    if (storage)
      storage->describe(profile);
    derive(profile);
  }

  void report(const device::DeviceProfile &profile) const override {
    printf("%s, %u big", profile.identity.c_str(), profile.big.count);
    if (profile.little.count)
      printf(" and %u little", profile.little.count);
    printf(" cores\n"
           "  kernels   %zu; predicted from coefficients they would be %.0f %% "
           "off "
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
           profile.firstTouchSmallUsPerMB, profile.zstdMBps,
           profile.zstdRepeatsMBps, profile.zstdStartUs,
           profile.executeInterference, profile.prepareInterference,
           profile.firstRun);
    const device::HeldOutCount &sum = heldParts.sum;
    if (!sum.all)
      return;
    printf("  parts     %u of %u are predicted within 10 %% or their spread, "
           "their layers left out of the fit (%.0f %%), median error %.1f %%\n",
           sum.good, sum.all, 100.0 * sum.good / sum.all,
           100 * heldParts.error);
    for (const auto &[routine, count] : heldParts.byRoutine)
      printf("    %-22s %u of %u\n", routine.c_str(), count.good, count.all);
  }

private:
  /// All that does not depend on kernels, but for what is sampled while these
  /// are measured.
  void measureSystem(device::DeviceProfile &profile, Progress &progress) {
    constexpr unsigned repeat = 9;
    profile.big.name = coreName(cores.big[0]);
    profile.big.count = static_cast<unsigned>(cores.big.size());
    profile.little = {};
    profile.little.count = static_cast<unsigned>(cores.little.size());
    progress.phase("storage");
    {
      OnCores pinned({cores.big[0]});
      storage->sample();
      if (storage->resident() > 0.5)
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
      profile.mapLittleUsPerMB = measureMap(storage->file(), repeat);
      ZstdSpeed zstd = measureZstd(repeat);
      profile.zstdLittleMBps = std::max(zstd.MBps, 1.0);
      profile.zstdRepeatsLittleMBps = std::max(zstd.repeatsMBps, 1.0);
    }
    progress.step();
    progress.phase("interference");
    Interference interference =
        measureInterference(bundles[0], storage->file(), cores, repeat);
    profile.executeInterference = interference.execute;
    profile.prepareInterference = interference.prepare;
    progress.step();
  }

  void measureKernels(Kernels &kernels, const std::vector<unsigned> &counts,
                      const std::function<void()> &between,
                      device::DeviceProfile &profile, Progress &progress) {
    auto bigStep = [&] {
      between();
      progress.step();
    };
    std::string what = std::to_string(kernels.facts().size()) + " kernels of " +
                       kernels.path() + ", ";
    // Steps of all bundles together are spread over enough time.
    double leastStep = leastSteps / double(bundles.size());
    std::vector<std::vector<double>> big;
    std::vector<Kernels::Times> all;
    for (unsigned count : counts) {
      OnCores pinned(cores.big);
      progress.phase(what + std::to_string(count) +
                     (count == 1 ? " thread" : " threads"));
      Kernels::Times times =
          kernels.measure(count, options.repeat, leastStep, bigStep,
                          big.empty() ? std::vector<double>() : big[0]);
      big.push_back(times.medians);
      firstRuns.insert(firstRuns.end(), times.firstRuns.begin(),
                       times.firstRuns.end());
      all.push_back(std::move(times));
    }
    std::vector<double> little;
    if (!cores.little.empty()) {
      OnCores pinned({cores.little[0]});
      progress.phase(what + "little core");
      little = kernels
                   .measure(
                       1, options.repeat, leastStep, [&] { progress.step(); },
                       big[0])
                   .medians;
    }
    for (size_t i = 0; i < counts.size(); ++i)
      addParts(kernels, counts[i], all[i]);
    for (size_t k = 0; k < kernels.facts().size(); ++k) {
      if (kernels.share(k) < 1)
        continue;
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

  /// Parts of layers, with the time of all tiles of their kernels.
  void addParts(const Kernels &kernels, unsigned threads,
                const Kernels::Times &times) {
    std::map<std::string, size_t> wholes;
    for (size_t k = 0; k < kernels.facts().size(); ++k)
      if (kernels.share(k) == 1)
        wholes[kernels.facts()[k].key] = k;
    for (size_t k = 0; k < kernels.facts().size(); ++k) {
      const KernelFacts &facts = kernels.facts()[k];
      auto whole = wholes.find(facts.key);
      if (kernels.share(k) == 1 || whole == wholes.end())
        continue;
      std::string name = kernels.layer(k);
      device::LayerPart part;
      part.whole = times.medians[whole->second];
      part.wholeTiles = kernels.facts()[whole->second].tiles;
      part.share = kernels.share(k);
      part.ranges = kernels.ranges(k);
      if (artifact::partHasAllWeights(name))
        part.weightBytes = kernels.weightBytes(k);
      parts.push_back({artifact::partLayer(name), facts.routine, part, threads,
                       times.medians[k], times.p10[k], times.p90[k]});
    }
  }

  /// Derives peaks and coefficients.
  void derive(device::DeviceProfile &profile) {
    std::vector<KernelFacts> facts;
    for (const Kernels &kernels : bundles)
      for (size_t k = 0; k < kernels.facts().size(); ++k)
        if (kernels.share(k) == 1)
          facts.push_back(kernels.facts()[k]);
    if (storage) {
      profile.firstRun = std::max(1.0, tools::median(firstRuns));
      deriveFromKernels(facts, profile);
    }
    // Coefficients that came with --base were made of kernels that are not at
    // hand now: they stay.
    auto known = profile.efficiency;
    fit = device::fitEfficiency(profile, facts);
    if (!options.base.empty())
      for (const auto &[routine, efficiency] : known)
        profile.efficiency[routine] = efficiency;
    heldParts = device::fitAndHoldOutParts(profile, parts);
  }

  std::vector<Kernels> bundles;
  Cores cores = sortCores(usableCpus());
  std::optional<Storage> storage; ///< none where --base knows it
  std::vector<double> firstRuns;
  device::Fit fit;
  std::vector<device::PartSample> parts;
  device::HeldOut heldParts;
};

} // namespace

std::unique_ptr<Tuner> coreTuner(const TuneOptions &options) {
  return std::make_unique<CoreTuner>(options);
}

} // namespace nnv12::tune
