//===- ModelPlan.cpp - The plan of a model --------------------------------===//

#include "compiler/plan/ModelPlan.h"

#include "compiler/plan/LaterRoutines.h"
#include "compiler/search/Simulator.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;

FailureOr<PlanDevice>
nnv12::planDevice(Location location, StringRef name, StringRef path,
                  std::shared_ptr<const device::DeviceProfile> given) {
  auto target = codegen::Target::byName(name);
  if (!target)
    return emitError(location)
           << "target: found '" << name << "', expected one of "
           << codegen::Target::names();
  if (!given && path.empty())
    given = std::make_shared<device::DeviceProfile>(
        device::builtinProfile(target->architecture, target->name));
  if (!given) {
    std::string error;
    auto profile = device::readProfile(path.str(), error);
    if (!profile)
      return emitError(location) << error;
    given = std::make_shared<device::DeviceProfile>(std::move(*profile));
  }
  assert(given && "a profile was given, read, or is built in");
  if (given->architecture != target->architecture)
    return emitError(location)
           << "device profile '" << (path.empty() ? given->name : path.str())
           << "': architecture: found '" << given->architecture
           << "', expected '" << target->architecture << "' for target '"
           << target->name << "'";
  return PlanDevice{std::move(*target), std::move(given)};
}

std::vector<const CostedCandidate *>
nnv12::fastestOfRoutines(const std::vector<CostedCandidate> &candidates) {
  std::vector<const CostedCandidate *> fastest;
  for (const CostedCandidate &candidate : candidates) {
    auto known = llvm::find_if(fastest, [&](const CostedCandidate *other) {
      return other->routine == candidate.routine;
    });
    if (known == fastest.end())
      fastest.push_back(&candidate);
    else if (candidate.costs.execute < (*known)->costs.execute)
      *known = &candidate;
  }
  llvm::stable_sort(fastest,
                    [](const CostedCandidate *a, const CostedCandidate *b) {
                      return a->costs.execute < b->costs.execute;
                    });
  return fastest;
}

/// Leaves the candidates of one routine.
static void keepRank(std::vector<CostedCandidate> &candidates, unsigned rank) {
  std::vector<const CostedCandidate *> fastest = fastestOfRoutines(candidates);
  const Routine *routine =
      fastest[std::min<size_t>(rank, fastest.size() - 1)]->routine;
  llvm::erase_if(candidates, [&](const CostedCandidate &candidate) {
    return candidate.routine != routine;
  });
}

/// Searches over all candidates on the execute lane, for the first inference
/// and for later ones.
static search::Schedule chooseRoutines(ModelPlan &plan, CostTable &costs,
                                       const PlanOptions &options) {
  const device::DeviceProfile &profile = *plan.device.profile;
  search::Options how = searchOptions(options);
  how.memoryLimit = profile.preparedMB * 1e6;
  how.memoryMost = profile.mostPreparedMB * 1e6;
  search::Problem problem;
  problem.device = costs.device(options);
  for (ExecutedLayer &layer : executedLayers(plan.order)) {
    std::vector<CostedCandidate> candidates = costs.candidates(layer, options);
    assert(!candidates.empty() && "each layer has a routine");
    if (options.rank)
      keepRank(candidates, *options.rank);
    costs.add(problem, layer, candidates);
    plan.layers.push_back({std::move(layer), std::move(candidates)});
  }
  plan.kernels = costs.kernels();
  search::Plan found = search::plan(problem, how);
  assert(found.choice.size() == plan.layers.size());
  for (auto [layer, chosen] : llvm::zip(plan.layers, found.choice)) {
    assert(chosen < layer.candidates.size() &&
           "the search chooses among the candidates");
    layer.chosen = layer.later = chosen;
  }
  if (options.mode == Mode::Auto && switches(options))
    chooseLaterRoutines(plan.layers, plan.threads, profile, plan.device.target,
                        options);
  else if (switches(options))
    for (auto [layer, later] :
         llvm::zip(plan.layers, search::warmChoice(problem)))
      if (gainsLater(layer.first(), layer.candidates[later]))
        layer.later = later;
  return std::move(found.schedule);
}

/// Fills in the problem in which nothing is left to choose, and its results.
static void settle(ModelPlan &plan, search::Schedule found, CostTable &costs,
                   const PlanOptions &options) {
  plan.problem.device = costs.device(options);
  double weightBytes = 0;
  for (PlannedLayer &layer : plan.layers) {
    costs.add(plan.problem, layer.layer, layer.first());
    search::Candidate later = plan.problem.layers.back().candidates[0];
    const Routine *routine = layer.laterRoutine();
    later.execute = layer.first().costs.execute;
    if (routine) {
      later.routine = routine->name().str();
      later.execute = layer.candidates[layer.later].costs.execute;
      layer.laterTransform =
          costs.laterTransform(layer.layer, layer.first(), *routine);
    }
    plan.warmTime += later.execute;
    plan.problem.layers.back().candidates.push_back(std::move(later));
    plan.cpu.choice.push_back(0);
    plan.later.push_back(1);
    weightBytes += layer.first().costs.bytes;
  }
  plan.cpu.schedule = std::move(found);
  assert(search::checkSchedule(plan.problem, plan.cpu.choice, plan.cpu.schedule)
             .empty() &&
         "the chosen candidates are prepared as they were when it was found");
  plan.start = device::startUs(*plan.device.profile, plan.layers.size(),
                               weightBytes, plan.threads) *
               1e-3;
}

double nnv12::coldTime(const ModelPlan &plan) {
  return plan.start +
         search::simulate(plan.problem, plan.cpu.choice, plan.cpu.schedule)
             .finish;
}

FailureOr<ModelPlan> nnv12::planModel(func::FuncOp main,
                                      const PlanDevice &device,
                                      const PlanOptions &options) {
  const device::DeviceProfile &profile = *device.profile;
  unsigned threads =
      options.threads ? options.threads : defaultThreads(profile);
  ModelPlan plan(main, device, threads);
  CostTable costs(profile, device.target, threads);
  search::Schedule schedule = chooseRoutines(plan, costs, options);
  std::string missing = device::missingKernels(profile, plan.kernels);
  if (!missing.empty() && !device.mayPredict)
    return main->getParentOp()->emitError(missing);
  plan.laterWaits = options.mode == Mode::Auto &&
                    llvm::any_of(plan.layers, [](const PlannedLayer &layer) {
                      return layer.laterRoutine() != nullptr;
                    });
  settle(plan, std::move(schedule), costs, options);
  if (options.gpu.empty())
    return plan;
  auto overlay =
      planOverlay(main.getLoc(), plan.order, plan.layers, profile,
                  device.target, plan.problem, plan.cpu, plan.later, options);
  if (failed(overlay))
    return failure();
  plan.overlay = std::move(*overlay);
  return plan;
}
