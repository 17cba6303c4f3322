//===- MeasureRuns.cpp - Measures a GPU -----------------------------------===//
#include "tools/nnv12-tune/MeasureRuns.h"

#include "tools/common/Report.h"

#if NNV12_GPU

#include "artifact/SpirvInterface.h"
#include "artifact/TuningStretches.h"
#include "tools/common/Clock.h"
#include "tools/common/Loading.h"
#include "tools/common/Recorded.h"
#include "tools/common/Statistics.h"
#include "tools/common/TextFormat.h"
#include "tools/nnv12-tune/Cores.h"
#include "tools/nnv12-tune/MeasurePairs.h"
#include "tools/nnv12-tune/Preparer.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <unistd.h>

namespace nnv12::tune {

using artifact::Fault;
using runtime::GpuDevice;
using tools::endOf;
using tools::fail;
using tools::milliseconds;

namespace {

/// Milliseconds that the kernels are run for, and the most runs.
constexpr double leastTime = 3000, mostTime = 60000;
constexpr unsigned mostRuns = 200;

/// An empty folder that is gone with this.
class CacheFolder {
public:
  CacheFolder()
      : path_(std::filesystem::temp_directory_path() / "nnv12-tune-XXXXXX") {
    if (!mkdtemp(path_.data()))
      path_.clear();
  }
  ~CacheFolder() {
    std::error_code ignored;
    if (!path_.empty())
      std::filesystem::remove_all(path_, ignored);
  }
  /// "": there is none.
  const char *path() const { return path_.c_str(); }

private:
  std::string path_;
};

/// Where a GPU in software computes.
struct SoftwareCpus {
  unsigned threads; ///< of the GPU
  unsigned all;     ///< CPUs that it and this process have
};

/// Mesa computes on each CPU of the process, unless it is told how many threads
/// it has. A process on some of the machine's CPUs that says so has given these
/// threads others (tools/measure-split).
SoftwareCpus softwareCpus() {
  auto usable = static_cast<unsigned>(usableCpus().size());
  auto online = std::max(usable, unsigned(sysconf(_SC_NPROCESSORS_ONLN)));
  const char *said = getenv("LP_NUM_THREADS");
  unsigned threads = said ? unsigned(strtoul(said, nullptr, 10)) : 0;
  if (threads == 0)
    return {usable, usable};
  if (usable == online)
    return {std::min(threads, usable), usable};
  return {std::min(threads, online), std::min(usable + threads, online)};
}

/// Threads of the CPUs' kernels of pairs.
unsigned pairThreads(const TuneOptions &options) {
  if (options.threads.empty())
    return std::max(1u, unsigned(sortCores(usableCpus()).big.size()));
  return unsigned(
      *std::max_element(options.threads.begin(), options.threads.end()));
}

void describe(const GpuDevice &device, device::GpuProfile &gpu) {
  const VkPhysicalDeviceProperties &facts = device.facts();
  gpu.name = device.name();
  // Vendors have their own ways of counting: as a number, it names it.
  gpu.driver = tools::format("vendor 0x%x, driver 0x%x", facts.vendorID,
                             facts.driverVersion);
  gpu.api = "vulkan1.1";
  constexpr std::pair<uint64_t, const char *> names[] = {
      {artifact::SpirvInt64, "int64"},
      {artifact::SpirvFloat64, "float64"},
      {artifact::SpirvInt8, "int8"},
      {artifact::SpirvInt16, "int16"},
      {artifact::SpirvStorageBuffer8, "storage8"},
      {artifact::SpirvStorageBuffer16, "storage16"}};
  for (auto [bit, name] : names)
    if (device.features() & bit)
      gpu.features.push_back(name);
  gpu.kind = device.isSoftware()  ? device::GpuKind::Software
             : device.isUnified() ? device::GpuKind::Unified
                                  : device::GpuKind::Discrete;
  // Memory of its own is never the CPUs'.
  gpu.imports =
      gpu.kind == device::GpuKind::Discrete || device.importAlignment() > 0;
  if (device.isSoftware())
    gpu.hostCores = softwareCpus().threads;
}

/// The device that the options name.
nnv12_gpu_options gpuOptionsOf(const TuneOptions &options) {
  nnv12_gpu_options result = NNV12_GPU_OPTIONS_INIT;
  if (!options.vulkanLibrary.empty())
    result.vulkan_library = options.vulkanLibrary.c_str();
  result.allow_software = options.allowSoftware;
  return result;
}

/// When measuring must have ended, in milliseconds of the clock.
class Deadline {
public:
  explicit Deadline(double seconds)
      : begin(milliseconds()), all(seconds * 1e3) {}

  /// Whether a device that takes so long for all kernels of the bundle once has
  /// the time for sessions of it: they make pipelines again, with time stamps
  /// and without, and compute all at least four times.
  bool allowsSessions(double pipelinesMs, double kernelsMs) const {
    return all >= leastForSessions &&
           milliseconds() - begin + 2 * pipelinesMs + 4 * kernelsMs < all / 2;
  }
  /// The end of kernels measured one by one, if the rest takes `nextMs`.
  double ofKernels(double nextMs) const {
    return std::max(milliseconds(), begin + 0.8 * all - nextMs);
  }

private:
  /// Fast GPUs take half as long.
  static constexpr double leastForSessions = 30000;
  double begin, all;
};

/// Measures all before the first dispatch, and on a slow device all else.
/// Leaves the device open. Whether kernels have been measured.
bool measurePreparations(const DispatchBundle &bundle, Kernels *besides,
                         const TuneOptions &options,
                         const runtime::GpuWish &wish, Samples &measured) {
  const Deadline deadline(options.seconds);
  device::GpuProfile &gpu = measured.gpu;
  unsigned threads =
      std::min(8u, std::max(1u, unsigned(usableCpus().size() / 2)));
  CacheFolder folder;
  bool isSoftware, isSlow;
  {
    Preparer first(bundle, wish, "");
    describe(first.device(), gpu);
    isSoftware = first.device().isSoftware();
    gpu.startMs = first.startMs();
    gpu.pipelineMs = gpu.pipelineCachedMs = first.makePipelines();
    gpu.lazyPipelines = isSoftware;
    gpu.uploadGBps = first.upload() * 1e-6;
    double pipelines = gpu.pipelineMs * double(first.numPipelines());
    OneByOne kernels(bundle, first);
    if (besides) {
      measured.pairThreads = pairThreads(options);
      measured.numCpus = softwareCpus().all;
      measured.pairs = measurePairs(kernels, *besides, measured.pairThreads);
      if (measured.pairs.empty())
        fail(besides->path() +
             ": found no kernel that is over before one of the GPU has run " +
             std::to_string(OneByOne::mostRuns) + " times");
    }
    isSlow = !deadline.allowsSessions(pipelines, kernels.estimate());
    if (isSlow) {
      kernels.measureCalls(gpu);
      kernels.measureKernels(
          deadline.ofKernels(threads > 1 || !isSoftware ? 2 * pipelines : 0),
          measured);
    }
  }
  gpu.pipelineThreads = threads;
  // Those that are software keep nothing.
  bool hasCache = !isSoftware && *folder.path();
  if (threads == 1 && !hasCache)
    return isSlow;
  // Pipelines stay as long as their device.
  GpuDevice::forgetAll();
  {
    Preparer second(bundle, wish, folder.path());
    double each = second.makePipelines(threads);
    if (threads > 1)
      gpu.pipelineScaling = std::clamp(
          (gpu.pipelineMs / each - 1) / double(threads - 1), 0.0, 1.0);
    second.save();
  }
  if (hasCache) {
    GpuDevice::forgetAll();
    Preparer third(bundle, wish, folder.path());
    gpu.pipelineCachedMs = std::min(gpu.pipelineMs, third.makePipelines());
  }
  return isSlow;
}

/// A stretch of a run; nanoseconds.
struct StretchRecord {
  nnv12_record submit;
  std::vector<nnv12_record> kernels;

  double beforeKernels() const {
    return double(kernels.front().start_ns - submit.start_ns);
  }
  double behindKernels() const {
    return double(endOf(submit) - endOf(kernels.back()));
  }
};

/// The stretches of a run, if all of them were taken; else empty.
std::vector<StretchRecord> stretchesOf(const DispatchBundle &bundle,
                                       const std::vector<nnv12_record> &all) {
  std::vector<StretchRecord> result;
  std::vector<nnv12_record> kernels;
  const auto *stretches = bundle.overlay().stretches();
  for (const nnv12_record &record : all) {
    if (record.kind == NNV12_RECORD_GPU_KERNEL)
      kernels.push_back(record);
    if (record.kind != NNV12_RECORD_GPU_SUBMIT)
      continue;
    uint32_t number = static_cast<uint32_t>(result.size());
    if (number == stretches->size() ||
        stretches->Get(number)->first() != record.index)
      return {};
    if (kernels.size() != stretches->Get(number)->dispatches()->size())
      fail(bundle.path() + ": found a device without time stamps, which "
                           "measuring needs");
    result.push_back({record, std::move(kernels)});
    kernels.clear();
  }
  if (result.size() != stretches->size())
    return {};
  return result;
}

/// All runs' samples of one thing.
using Times = std::vector<double>;

class Runs {
public:
  Runs(const DispatchBundle &bundle, const TuneOptions &options)
      : of(bundle), sessionOptions(optionsOf(options)),
        recorder(bundle.bundle(), sessionOptions, NNV12_RECORD_OPERATION, 2),
        plain(openSession(nullptr)), session(openSession(recorder.get())),
        recording(recorder.recording()), in(bundle.bundle().input(0).byte_size),
        sink(bundle.bundle().output(0).byte_size),
        back(bundle.bundle().output(1).byte_size) {}

  /// Milliseconds of a run without time stamps.
  double runPlain() { return run(*plain); }
  /// Milliseconds of the last one with them.
  double lastMs() const { return lastMs_; }

  /// Null where the GPU did not compute all of it.
  std::vector<StretchRecord> run() {
    lastMs_ = run(*session);
    uint64_t lost = 0;
    auto records = recording.readAll(lost);
    std::vector<StretchRecord> result = stretchesOf(of, records);
    if (result.empty() && *session->info().gpu_reason)
      fail(of.path() +
           ": the GPU computed nothing: " + session->info().gpu_reason);
    if (result.empty())
      fail(of.path() + ": the GPU computed " +
           std::to_string(session->info().gpu_stretches_taken) + " of " +
           std::to_string(session->info().gpu_stretches) + " stretches");
    return result;
  }

private:
  static SessionOptions optionsOf(const TuneOptions &options) {
    SessionOptions result;
    result.threads = 1;
    result.gpu = gpuOptionsOf(options);
    result.gpu.mode = NNV12_GPU_WAIT;
    result.gpu.cache_dir = "";
    return result;
  }
  Session openSession(const nnv12_recorder *to) {
    // Each run has time stamps: the measurements.
    nnv12_recorder each;
    if (to) {
      each = *to;
      each.gpu_per_mille = 0;
    }
    sessionOptions.recorder = to ? &each : nullptr;
    return tools::openSession(of.path(), of.bundle(), sessionOptions);
  }
  double run(Session &with) {
    double start = milliseconds();
    tools::runSession(of.path(), with, {{in.data(), in.size()}},
                      {{sink.data(), sink.size()}, {back.data(), back.size()}});
    return milliseconds() - start;
  }

  const DispatchBundle &of;
  SessionOptions sessionOptions;
  Recorder recorder;
  std::optional<Session> plain, session;
  Recording recording;
  std::vector<uint8_t> in, sink, back;
  double lastMs_ = 0;
};

void measureSessions(const DispatchBundle &bundle, const TuneOptions &options,
                     Samples &measured) {
  Runs runs(bundle, options);
  const auto *stretches = bundle.overlay().stretches();
  std::vector<std::vector<Times>> times(stretches->size());
  for (uint32_t i = 0; i < stretches->size(); ++i)
    times[i].resize(stretches->Get(i)->dispatches()->size());
  Times submits, syncs, idles, ins, backs, stamped, plain;
  // The drivers' first work does not count.
  runs.run();
  runs.runPlain();
  double start = milliseconds();
  for (unsigned i = 0; i < mostRuns; ++i) {
    double spent = milliseconds() - start;
    if (spent > mostTime || (i >= options.repeat && spent > leastTime))
      break;
    std::vector<StretchRecord> run = runs.run();
    stamped.push_back(runs.lastMs());
    plain.push_back(runs.runPlain());
    for (size_t s = 0; s < run.size(); ++s)
      for (size_t k = 0; k < run[s].kernels.size(); ++k)
        times[s][k].push_back(double(run[s].kernels[k].duration_ns) * 1e-3);
    submits.push_back(run[artifact::idleStretch].beforeKernels() * 1e-3);
    syncs.push_back(run[artifact::idleStretch].behindKernels() * 1e-3);
    // The first one has nothing to wait for.
    const std::vector<nnv12_record> &idle = run[artifact::idlesStretch].kernels;
    idles.push_back(double(endOf(idle.back()) - endOf(idle.front())) * 1e-3 /
                    double(idle.size() - 1));
    // The caller's part, and the copy before the kernel.
    const nnv12_record &last = run[artifact::inStretch - 1].submit;
    const StretchRecord &in = run[artifact::inStretch];
    ins.push_back(in.beforeKernels() * 1e-3 +
                  double(in.submit.start_ns - endOf(last)) * 1e-3);
    // With the copy behind the kernel, and the caller's part.
    const nnv12_record &next = run[artifact::backStretch + 1].submit;
    const StretchRecord &back = run[artifact::backStretch];
    backs.push_back(back.behindKernels() * 1e-3 +
                    double(next.start_ns - endOf(back.submit)) * 1e-3);
  }
  device::GpuProfile &gpu = measured.gpu;
  gpu.submitUs = tools::median(submits);
  gpu.syncUs = tools::median(syncs);
  // A time stamp behind each dispatch takes time of its own, which runs that
  // nobody looks at do not have.
  size_t dispatches = 0;
  for (const auto &of : times)
    dispatches += of.size();
  gpu.stampUs = std::max(0.0, (tools::median(stamped) - tools::median(plain)) *
                                  1e3 / double(dispatches));
  gpu.dispatchUs = std::max(0.0, tools::median(idles) - gpu.stampUs);
  gpu.inputGBps = double(artifact::inBytes) * 1e-3 /
                  std::max(1.0, tools::median(ins) - gpu.submitUs);
  double bytes = double(bundle.bundle().output(1).byte_size);
  gpu.downloadGBps =
      bytes * 1e-3 / std::max(1.0, tools::median(backs) - gpu.syncUs);
  for (const PlacedKernel &kernel : kernelsOf(bundle)) {
    Times all;
    for (auto [stretch, dispatch] : kernel.places)
      all.insert(all.end(), times[stretch][dispatch].begin(),
                 times[stretch][dispatch].end());
    measured.kernels.push_back(sampleOf(kernel.facts, std::move(all)));
  }
}

} // namespace

Samples measureRuns(const DispatchBundle &bundle, Kernels *besides,
                    const TuneOptions &options) {
  // Drivers' caches on disk would make pipelines look cheap.
  setenv("MESA_SHADER_CACHE_DISABLE", "true", 1);
  setenv("MESA_GLSL_CACHE_DISABLE", "true", 1);
  setenv("__GL_SHADER_DISK_CACHE", "0", 1);
  runtime::GpuWish wish;
  Fault fault;
  if (!wish.set(gpuOptionsOf(options), fault))
    fail(fault.text);
  Samples result;
  if (!measurePreparations(bundle, besides, options, wish, result))
    measureSessions(bundle, options, result);
  return result;
}

} // namespace nnv12::tune

#else

namespace nnv12::tune {

Samples measureRuns(const DispatchBundle &, Kernels *, const TuneOptions &) {
  tools::fail("no GPU to measure: this program was built without GPUs");
}

} // namespace nnv12::tune

#endif
