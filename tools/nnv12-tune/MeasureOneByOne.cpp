//===- MeasureOneByOne.cpp - Measures kernels of a slow GPU ---------------===//
#include "tools/nnv12-tune/MeasureOneByOne.h"

#include "artifact/Limits.h"
#include "artifact/TuningStretches.h"
#include "runtime/gpu/DispatchCommand.h"
#include "tools/common/Clock.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"
#include "tools/nnv12-tune/Cores.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <map>
#include <sys/resource.h>

namespace nnv12::tune {

using artifact::Fault;
using runtime::check;
using runtime::makeStruct;
using tools::milliseconds;

/// The most dispatches that are handed over at once.
static constexpr uint32_t mostDispatches = OneByOne::mostRuns;
/// Runs of calls that are no kernels.
static constexpr unsigned callRuns = 9;
/// Kernels that tell how long all take, and milliseconds for these at most.
static constexpr size_t estimatedKernels = 16;
static constexpr double mostEstimate = 500;
/// Over all kernels.
static constexpr unsigned usualPasses = 6, mostPasses = 20;
/// Kernels of a routine that coefficients are fitted to.
static constexpr size_t leastOfRoutine = 12;
/// Microseconds of a kernel that runs once more before the run that counts:
/// the state of caches makes no difference to longer ones.
static constexpr double longKernel = 10000;
/// How often a run is made again that other programs have interrupted.
static constexpr unsigned mostAgain = 4;

/// A number to which the times of a routine's kernels are nearly proportional.
static double workOf(const PlacedKernel &kernel) {
  return kernel.facts.multiplyAdds + kernel.facts.bytes;
}

OneByOne::OneByOne(const DispatchBundle &bundle, Preparer &with)
    : of(bundle), with(with), device(with.device()),
      hasOneCpu(device.isSoftware() && usableCpus().size() == 1) {
  Fault fault;
  if (device.timestampBits() == 0)
    tools::fail(of.path() + ": found a device without time stamps, which "
                            "measuring needs");
  auto info = makeStruct<VkQueryPoolCreateInfo>(
      VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = mostDispatches + 1;
  if (!commands.create(device, fault) ||
      !check(device.vulkan().CreateQueryPool(device.device(), &info, nullptr,
                                             &queries),
             "vkCreateQueryPool", fault))
    with.refuse(fault);
  for (PlacedKernel &kernel : kernelsOf(of))
    if (canRun(kernel))
      kernels.push_back(std::move(kernel));
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const PlacedKernel &a, const PlacedKernel &b) {
                     return workOf(a) < workOf(b);
                   });
  // Memory that was never written to is one page of zeros, which any cache
  // holds.
  const runtime::GpuBlock &arena = with.memory().arena();
  if (arena.mapped) {
    std::fill_n(reinterpret_cast<float *>(arena.mapped),
                arena.size / sizeof(float), 0.5f);
    if (!check(with.memory().flush(arena, 0, arena.size),
               "vkFlushMappedMemoryRanges", fault))
      with.refuse(fault);
  }
}

OneByOne::~OneByOne() {
  device.vulkan().DestroyQueryPool(device.device(), queries, nullptr);
  commands.destroy();
}

/// In its places the same pipeline computes the same grid.
bool OneByOne::canRun(const PlacedKernel &kernel) const {
  auto [stretch, number] = kernel.places[0];
  const bundle::Dispatch *dispatch = at(stretch, number);
  const uint32_t *most = device.facts().limits.maxComputeWorkGroupCount;
  const bundle::GpuExtent *groups = dispatch->groups();
  return !with.pipelines().lack(dispatch->pipeline()) &&
         groups->x() <= most[0] && groups->y() <= most[1] &&
         groups->z() <= most[2];
}

OneByOne::Run OneByOne::run(const Dispatches &dispatches, bool isStamped,
                            const std::function<void()> &beside) {
  const runtime::Vulkan &vk = device.vulkan();
  Fault fault;
  auto must = [&](bool isGood) {
    if (!isGood)
      with.refuse(fault);
  };
  auto count = static_cast<uint32_t>(dispatches.size());
  assert(count <= mostDispatches && "there are so many time stamps");
  VkDescriptorPool descriptors = runtime::createDescriptorPool(
      count, count * artifact::maxBindings, device, fault);
  must(descriptors);
  uint32_t unused;
  VkCommandBuffer to;
  must(commands.begin(unused, to, fault));
  if (isStamped) {
    vk.CmdResetQueryPool(to, queries, 0, count + 1);
    vk.CmdWriteTimestamp(to, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, queries, 0);
  }
  for (uint32_t i = 0; i < count; ++i) {
    const bundle::Dispatch *dispatch = dispatches[i];
    VkDescriptorBufferInfo places[artifact::maxBindings];
    for (uint32_t o = 0; o < dispatch->operands()->size(); ++o) {
      const bundle::GpuOperand *operand = dispatch->operands()->Get(o);
      const runtime::GpuBlock &block =
          operand->space() == bundle::GpuSpace_Prepared
              ? with.memory().prepared()
              : with.memory().arena();
      places[o] = {block.buffer, operand->offset(), operand->size()};
    }
    if (i)
      runtime::recordBarrier(
          {VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
           VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
           VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT},
          vk, to);
    const bundle::GpuExtent *groups = dispatch->groups();
    must(runtime::recordDispatch(
        {&with.pipelines()[dispatch->pipeline()],
         places,
         dispatch->push() ? dispatch->push()->data() : nullptr,
         {groups->x(), groups->y(), groups->z()}},
        device, descriptors, to, fault));
    if (isStamped)
      vk.CmdWriteTimestamp(to, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, queries,
                           i + 1);
  }
  Run result;
  rusage before = {}, after = {};
  getrusage(RUSAGE_SELF, &before);
  double computed = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
  double start = milliseconds();
  must(commands.submit(fault));
  double submitted = milliseconds();
  if (beside)
    beside();
  must(commands.finish(fault));
  double end = milliseconds();
  getrusage(RUSAGE_SELF, &after);
  result.submit = (submitted - start) * 1e3;
  result.wait = (end - submitted) * 1e3;
  result.computed = (milliseconds(CLOCK_PROCESS_CPUTIME_ID) - computed) * 1e3;
  result.isInterrupted = after.ru_nivcsw != before.ru_nivcsw;
  if (isStamped) {
    std::vector<uint64_t> stamps(count + 1);
    must(check(vk.GetQueryPoolResults(device.device(), queries, 0, count + 1,
                                      stamps.size() * sizeof(uint64_t),
                                      stamps.data(), sizeof(uint64_t),
                                      VK_QUERY_RESULT_64_BIT |
                                          VK_QUERY_RESULT_WAIT_BIT),
               "vkGetQueryPoolResults", fault));
    uint64_t mask = ~uint64_t(0) >> (64 - device.timestampBits());
    for (uint32_t i = 0; i < count; ++i)
      result.dispatches.push_back(
          double((stamps[i + 1] - stamps[i]) & mask) *
          double(device.facts().limits.timestampPeriod) * 1e-3);
  }
  vk.DestroyDescriptorPool(device.device(), descriptors, nullptr);
  return result;
}

std::vector<double> OneByOne::timesOf(size_t kernel, uint32_t runs,
                                      const std::function<void()> &beside) {
  auto [stretch, number] = kernels[kernel].places[0];
  return run(Dispatches(runs, at(stretch, number)), true, beside).dispatches;
}

double OneByOne::estimate() {
  size_t dispatches = 0;
  for (const bundle::Stretch *stretch : *of.overlay().stretches())
    dispatches += stretch->dispatches()->size();
  size_t stride = std::max<size_t>(1, kernels.size() / estimatedKernels),
         count = 0;
  double sum = 0;
  for (size_t i = stride / 2; i < kernels.size(); i += stride, ++count) {
    sum += time(kernels[i], 0, /*warms=*/true) * 1e-3;
    if (sum > mostEstimate)
      return std::numeric_limits<double>::infinity();
  }
  return count ? sum / double(count) * double(dispatches) : 0;
}

void OneByOne::measureCalls(device::GpuProfile &gpu) {
  Dispatches one = {at(artifact::idleStretch, 0)},
             many(artifact::idleDispatches, one[0]);
  auto median = [&](const Dispatches &dispatches, bool isStamped, auto value) {
    std::vector<double> times;
    for (unsigned i = 0; i < callRuns; ++i)
      times.push_back(value(run(dispatches, isStamped)));
    return tools::median(times);
  };
  auto whole = [](const Run &run) { return run.submit + run.wait; };
  double all = median(one, false, whole), plain = median(many, false, whole);
  gpu.dispatchUs = std::max(0.0, (plain - all) / double(many.size() - 1));
  gpu.stampUs =
      std::max(0.0, (median(many, true, whole) - plain) / double(many.size()));
  gpu.submitUs = median(one, false, [](const Run &run) { return run.submit; });
  gpu.syncUs = std::max(0.0, all - gpu.submitUs - gpu.dispatchUs);
  // Memory that is not mapped is as fast both ways, and inputs go like weights.
  gpu.inputGBps = gpu.downloadGBps = gpu.uploadGBps;
  const runtime::GpuBlock &arena = with.memory().arena();
  std::vector<char> back(of.bundle().output(1).byte_size);
  if (!arena.mapped || arena.size < back.size())
    return;
  std::vector<double> times;
  for (unsigned i = 0; i < callRuns; ++i) {
    double start = milliseconds();
    with.memory().invalidate(arena, 0, back.size());
    memcpy(back.data(), arena.mapped, back.size());
    times.push_back(milliseconds() - start);
  }
  gpu.downloadGBps = double(back.size()) * 1e-6 / tools::median(times);
}

/// The dispatch before it has the same activations, and of a kernel whose
/// weights are in memory other weights.
double OneByOne::time(const PlacedKernel &kernel, size_t place, bool warms) {
  auto [stretch, number] = kernel.places[place % kernel.places.size()];
  Dispatches dispatches = {at(stretch, number)};
  const bundle::Dispatch *before = number ? at(stretch, number - 1) : nullptr;
  warms &= before && !with.pipelines().lack(before->pipeline());
  if (warms)
    dispatches.insert(dispatches.begin(), before);
  for (unsigned again = 0;; ++again) {
    Run run = this->run(dispatches, true);
    double last = run.dispatches.back();
    if (!hasOneCpu || !run.isInterrupted)
      return last;
    // Other programs' time on the one CPU meanwhile does not count.
    if (!warms)
      return std::min(last, std::max(1.0, run.computed));
    // They may have interrupted either of two.
    if (again == mostAgain)
      return last;
  }
}

namespace {

struct Routine {
  std::vector<size_t> kernels; ///< in the order of their work
  size_t next = 0;
  double rate = 0; ///< microseconds of a unit of it
};

} // namespace

void OneByOne::measureKernels(double end, Samples &measured) {
  std::map<std::string, Routine> routines;
  for (size_t i = 0; i < kernels.size(); ++i)
    routines[kernels[i].facts.routine].kernels.push_back(i);
  // Once each, the shortest first: some of each routine, and then as many as
  // leave time for more passes.
  std::vector<std::vector<double>> times(kernels.size());
  std::vector<size_t> order;
  double start = milliseconds();
  auto add = [&](size_t mostOfRoutine, double most) {
    for (;;) {
      Routine *next = nullptr;
      double shortest = 0;
      for (auto &[name, routine] : routines) {
        if (routine.next >= std::min(mostOfRoutine, routine.kernels.size()))
          continue;
        double predicted =
            routine.rate * workOf(kernels[routine.kernels[routine.next]]);
        if (!next || predicted < shortest) {
          next = &routine;
          shortest = predicted;
        }
      }
      if (!next || milliseconds() - start + shortest * 1e-3 > most)
        break;
      size_t i = next->kernels[next->next++];
      double took = time(kernels[i], 0, shortest < longKernel);
      next->rate = took / std::max(1.0, workOf(kernels[i]));
      times[i].push_back(took);
      order.push_back(i);
    }
  };
  add(leastOfRoutine, (end - start) / 3);
  add(kernels.size(), (end - start) / usualPasses);
  // Then again, forwards and backwards.
  for (size_t pass = 1; pass < mostPasses; ++pass) {
    std::reverse(order.begin(), order.end());
    for (size_t i : order)
      if (milliseconds() + times[i][0] * 1e-3 < end)
        times[i].push_back(time(kernels[i], pass, times[i][0] < longKernel));
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::vector<double> &of = times[i];
    if (of.empty())
      continue;
    auto quarter = of.begin() + ptrdiff_t((of.size() - 1) / 4);
    std::nth_element(of.begin(), quarter, of.end());
    double firstQuarter = *quarter;
    Sample &sample = measured.kernels.emplace_back(
        sampleOf(kernels[i].facts, std::move(of)));
    // Other programs on the CPUs of one that is software only lengthen it.
    if (device.isSoftware())
      sample.median = std::max(firstQuarter, 1e-3);
  }
  measured.leftOut = unsigned(kernels.size() - measured.kernels.size());
}

} // namespace nnv12::tune
