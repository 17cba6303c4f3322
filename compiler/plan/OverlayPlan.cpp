//===- OverlayPlan.cpp - A GPU's part of a model's plan -------------------===//

#include "compiler/plan/OverlayPlan.h"

#include "artifact/Limits.h"
#include "compiler/layers/StretchLifetimes.h"
#include "compiler/plan/SplitCandidates.h"
#include "compiler/search/SplitStretches.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace nnv12;

/// Points of hand-over behind the planned one, at most: each costs commands of
/// all that comes after it.
static constexpr unsigned mostLaterPoints = 3;

/// Splits keep tensors for longer. They are not worth an arena that is larger
/// by more than this.
static constexpr double mostArenaGrowth = 1.1;

/// Adds stretches, or says of those that are there when they are taken.
static void addStretches(const std::vector<search::Stretch> &ranges,
                         const search::StretchChoice &choice, bool cold,
                         bool warm, std::vector<PlacedStretch> &stretches) {
  for (const search::Stretch &range : ranges) {
    // The first run knows no splits.
    PlacedStretch added{
        range,
        {choice.begin() + range.first, choice.begin() + range.end()},
        {},
        {},
        cold && !range.split,
        warm};
    auto same = llvm::find_if(stretches, [&](const PlacedStretch &s) {
      return s.range == added.range && s.choice == added.choice;
    });
    if (same == stretches.end()) {
      stretches.push_back(std::move(added));
    } else {
      same->cold |= cold;
      same->warm |= warm;
    }
  }
  llvm::stable_sort(stretches,
                    [](const PlacedStretch &a, const PlacedStretch &b) {
                      return std::pair(a.range.first, b.range.count) <
                             std::pair(b.range.first, a.range.count);
                    });
}

static void addLaterPoints(const search::Problem &problem,
                           const search::Plan &cpu,
                           const search::Overlay &found,
                           std::vector<PlacedStretch> &stretches) {
  std::vector<double> rest(problem.layers.size() + 1, 0);
  for (size_t i = problem.layers.size(); i-- > 0;)
    rest[i] = rest[i + 1] + problem.chosen(cpu.choice, i).execute;
  auto suffixes =
      search::planWarmSuffixes(problem, cpu.choice, found.cold.choice);
  double least = rest[found.handOvers.front()] / 2;
  unsigned points = 0;
  for (uint32_t k : ArrayRef(found.handOvers).drop_front()) {
    if (rest[k] > least || points == mostLaterPoints)
      continue;
    search::OverlaySchedule schedule = found.cold;
    schedule.stretches = suffixes[k].stretches;
    // Only a prepared stretch can be taken.
    if (!search::checkOverlaySchedule(problem, schedule).empty())
      continue;
    addStretches(schedule.stretches, found.cold.choice, true, false, stretches);
    least = rest[k] / 2;
    ++points;
  }
}

/// Bytes of the CPUs' arena with stretches. Tensors that take others' memory in
/// place are not counted.
static double arenaSize(const ExecutionOrder &order,
                        const std::vector<search::Stretch> &stretches) {
  SmallVector<StretchRange> ranges;
  for (const search::Stretch &stretch : stretches)
    ranges.push_back({stretch.first, stretch.end(), stretch.split.has_value()});
  return double(placeInArena(StretchLifetimes::of(order, ranges).lifetimes,
                             artifact::gpuAlignment)
                    .size);
}

/// Takes places to cut from layers until a plan with splits needs no arena that
/// is much larger than a plan without. The split that enlarges it most loses
/// its first layer, and becomes shorter.
static void limitArena(const ExecutionOrder &order, const search::Choice &later,
                       const search::Options &how, search::Problem &problem) {
  search::StretchChoice choice =
      search::withFewPipelines(problem, search::fastestInStretches(problem));
  auto planWith = [&](const search::Options &options) {
    return search::planWarmStretches(problem, later, choice, options).stretches;
  };
  search::Options whole = how;
  whole.splits = search::Splits::Never;
  double most = mostArenaGrowth * arenaSize(order, planWith(whole));
  for (;;) {
    std::vector<search::Stretch> stretches = planWith(how);
    if (arenaSize(order, stretches) <= most)
      return;
    const search::Stretch *worst = nullptr;
    double least = 0;
    for (const search::Stretch &stretch : stretches) {
      if (!stretch.split)
        continue;
      std::vector<search::Stretch> others = stretches;
      llvm::erase(others, stretch);
      double size = arenaSize(order, others);
      if (!worst || size < least) {
        worst = &stretch;
        least = size;
      }
    }
    if (!worst)
      return;
    llvm::erase_if(problem.layers[worst->first].backs,
                   [&](const search::Back &back) {
                     return back.dim == worst->split->dim;
                   });
  }
}

/// Fills in which part of each layer is whose, where the stretch is split.
static void findParts(const search::Problem &problem,
                      const search::StretchChoice &choice,
                      PlacedStretch &stretch) {
  const search::Stretch &range = stretch.range;
  if (!range.split)
    return;
  stretch.fronts.resize(range.count);
  stretch.backs.resize(range.count);
  search::SplitWalk walk(problem, choice, range.split->dim);
  walk.begin(range.end() - 1, range.split->at);
  for (uint32_t i = range.count; i-- > 0;) {
    bool grows = walk.grow();
    assert(grows && "the search found it");
    (void)grows;
    stretch.fronts[i] = walk.frontEnd();
    stretch.backs[i] = walk.backStart();
  }
}

/// Fills in a stretch's tensors in f16, by `halves`, and its kernels.
static void findKernels(PlacedStretch &stretch, ArrayRef<PlannedLayer> layers,
                        const OverlayPlan &plan, StretchHalves &halves) {
  for (uint32_t i = 0; i < stretch.range.count; ++i) {
    const StretchCandidate &way = plan.wayOf(stretch, i);
    uint32_t layer = stretch.range.first + i;
    stretch.half.push_back(halves.of(layer, *way.routine, stretch.range.first,
                                     stretch.range.end()));
    SmallVector<codegen::HalfKernel> kernels;
    Operation *op = layers[layer].layer.op;
    stretch.kernels.push_back(stepsInHalf(way.routine->steps(op), op,
                                          *way.routine, stretch.half.back(),
                                          kernels)
                                  .kernels);
  }
}

FailureOr<std::optional<OverlayPlan>>
nnv12::planOverlay(Location location, const ExecutionOrder &order,
                   ArrayRef<PlannedLayer> layers,
                   const device::DeviceProfile &profile,
                   const codegen::Target &cpuTarget, search::Problem &problem,
                   const search::Plan &cpu, const search::Choice &later,
                   const PlanOptions &options) {
  auto target = codegen::GpuTarget::byName(options.gpu);
  if (!target)
    return emitError(location)
           << "GPU target: found '" << options.gpu << "', expected "
           << codegen::GpuTarget::choices();
  if (!profile.gpu) {
    device::DeviceProfile ordinary = profile;
    ordinary.gpu = device::builtinGpuProfile();
    return planOverlay(location, order, layers, ordinary, cpuTarget, problem,
                       cpu, later, options);
  }
  if (options.objective.energy > 0 && !profile.gpu->power)
    return emitError(location)
           << "--objective: found no gpu.power in the profile of '"
           << profile.gpu->name
           << "', expected the watts that plans for energy need";
  HalfUse use = options.gpuHalf ? HalfUse::All
                : target->features.has(codegen::GpuFeature::Storage16)
                    ? HalfUse::Exact
                    : HalfUse::None;
  OverlayPlan plan;
  plan.target = target->name;
  plan.profile = profile.gpu->name;
  bool rounds = options.gpuRounds || options.gpuForce;
  plan.candidates =
      stretchCandidates(order, layers, profile, *target, problem, use, rounds);
  auto stay = llvm::count_if(layers, [&](const PlannedLayer &layer) {
    return !rounds && roundsNumbers(layer.layer.op);
  });
  if (stay)
    emitRemark(location)
        << stay << " layers of quantised numbers stay on the CPU, whose bytes "
        << "they have; --quantized float makes layers of floats of them";
  search::Options how = searchOptions(options);
  bool knowsBoth = profile.gpu->beside > 0 && profile.gpu->besideCpu > 0;
  if (options.gpuForce || (options.split == Split::Auto && !knowsBoth))
    how.splits = search::Splits::Never;
  if (how.splits != search::Splits::Never)
    addSplits(layers, plan.candidates,
              {profile, cpuTarget, *target, problem.device.executeThreads},
              later, problem);
  if (options.gpuForce) {
    plan.found =
        search::forcedOverlay(problem, cpu, how, later, options.gpuForceFrom);
  } else {
    search::leaveToCpus(problem, later);
    if (how.splits == search::Splits::WherePays)
      limitArena(order, later, how, problem);
    plan.found = search::planOverlay(problem, cpu, how, later);
  }
  const search::Overlay &found = plan.found;
  if (found.start == search::OverlayStart::Never) {
    std::string why = "computes no layer of it";
    if (options.split == Split::Force)
      why = "and the CPU can share no layer of it";
    else if (!plan.candidates.kernels.empty())
      why = llvm::formatv("would take over nothing that it is faster at: CPUs "
                          "alone, warm, {0:f2} ms",
                          found.warm.cpuOnly);
    emitRemark(location) << "CPU only: " << plan.profile << " " << why;
    return std::optional<OverlayPlan>();
  }
  if (found.start == search::OverlayStart::AtOpen) {
    plan.timeline = search::simulateOverlay(problem, cpu.choice, cpu.schedule,
                                            found.cold, how.pipelineCache);
    addStretches(found.cold.stretches, found.cold.choice, true, false,
                 plan.stretches);
    addLaterPoints(problem, cpu, found, plan.stretches);
  }
  addStretches(found.warm.stretches, found.warm.choice, true, true,
               plan.stretches);
  StretchHalves halves(order, layers, use);
  for (PlacedStretch &stretch : plan.stretches) {
    findKernels(stretch, layers, plan, halves);
    findParts(problem, found.warm.choice, stretch);
  }
  return std::optional(std::move(plan));
}
