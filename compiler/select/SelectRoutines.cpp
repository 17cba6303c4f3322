//===- SelectRoutines.cpp - Chooses by a search ---------------------------===//

#include "compiler/select/SelectRoutines.h"

#include "compiler/select/LaterRoutines.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;

Selection nnv12::selectRoutines(func::FuncOp main,
                                const device::DeviceProfile &profile,
                                const codegen::Target &target,
                                const PlanOptions &plan) {
  Selection selection;
  selection.threads = plan.threads ? plan.threads : defaultThreads(profile);
  CostTable costs(profile, target, selection.threads);
  std::vector<ExecutedLayer> layers = executedLayers(main);
  search::Options options = searchOptions(plan);
  options.memoryLimit = profile.preparedMB * 1e6;
  options.memoryMost = profile.mostPreparedMB * 1e6;
  search::Problem problem;
  problem.device = costs.device(plan);
  for (ExecutedLayer &layer : layers) {
    std::vector<CostedCandidate> candidates =
        costs.candidates(layer, options.storedForms, options.mappedWeights);
    assert(!candidates.empty() && "each layer has a routine");
    costs.add(problem, layer, candidates);
    selection.layers.push_back({std::move(layer), std::move(candidates)});
  }
  selection.kernels = costs.kernels();
  selection.plan = search::plan(problem, options);
  assert(selection.plan.choice.size() == selection.layers.size());
  for (auto [layer, chosen] :
       llvm::zip(selection.layers, selection.plan.choice)) {
    assert(chosen < layer.candidates.size() &&
           "the search chooses among the candidates");
    layer.chosen = layer.warm = chosen;
  }
  if (!switches(plan))
    return selection;
  if (plan.mode == Mode::Auto) {
    chooseLaterRoutines(selection, profile, target, plan.memory);
    return selection;
  }
  for (auto [layer, later] :
       llvm::zip(selection.layers, search::warmChoice(problem)))
    if (gainsLater(layer.candidates[layer.chosen], layer.candidates[later]))
      layer.warm = later;
  return selection;
}
