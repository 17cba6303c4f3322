//===- LaterRoutines.cpp - Routines that take over later ------------------===//

#include "compiler/plan/LaterRoutines.h"

#include "artifact/RuntimePolicy.h"
#include "compiler/codegen/cpu/CpuRoutine.h"
#include "compiler/routines/KernelKey.h"
#include "compiler/search/Later.h"
#include "compiler/search/Search.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace nnv12;

/// The execute of a routine that takes over needs this part of the other's
/// time at most.
static constexpr double leastGain = 0.99;

/// Routines that take over may take this part of the memory without them.
static constexpr double laterPart = 0.5;

/// A kernel's code: of convolutions some kilobytes, in pages.
static constexpr double codeBytes = 4096;

bool nnv12::gainsLater(const CostedCandidate &first,
                       const CostedCandidate &later) {
  return later.costs.execute < first.costs.execute * leastGain;
}

/// Whether floats of narrow weights are worth their memory whatever that costs:
/// a file of floats would take as much, and would not be faster then.
static bool isWorthFloats(const CostedCandidate &first,
                          const CostedCandidate &later) {
  constexpr double leastGainOfFloats = 0.98;
  return later.costs.execute < first.costs.execute * leastGainOfFloats;
}

/// The name of the layer's main weights in a form.
static std::string weightsName(const PlannedLayer &layer,
                               const std::string &form) {
  auto constant = layer.layer.weights().getDefiningOp<nn::ConstantOp>();
  return llvm::formatv("weights {0} {1} {2}",
                       constant.getValue().getAsOpaquePointer(),
                       constant.getType().getAsOpaquePointer(), form);
}

/// Bytes that the session takes for its first run: weights, the file's
/// included, activations, inputs and outputs. Rounded weights count as the
/// floats that they were: later runs are no slower for them.
static double memoryOf(ArrayRef<PlannedLayer> layers, bool areRounded) {
  double sum = 0;
  for (const PlannedLayer &layer : layers) {
    const search::Candidate &chosen = layer.first().costs;
    // A decoded or transformed source leaves memory (runtime/Preparations.h).
    bool isForgotten = chosen.prepared > 0 && chosen.bytes >= leastForgotten;
    sum += chosen.prepared + (isForgotten ? 0 : chosen.bytes) +
           layer.layer.uncachedBytes;
    if (areRounded && chosen.readsNarrow)
      sum += double(nn::storageSize(layer.layer.weights())) - chosen.bytes;
  }
  return sum;
}

void nnv12::chooseLaterRoutines(MutableArrayRef<PlannedLayer> layers,
                                unsigned threads,
                                const device::DeviceProfile &profile,
                                const codegen::Target &target,
                                const PlanOptions &options) {
  /// Bytes of the weights and code that routines need, each once, by name.
  llvm::MapVector<std::string, double, std::map<std::string, unsigned>> needs;
  auto add = [&](const std::string &name, double bytes) {
    return uint32_t(needs.try_emplace(name, bytes).first - needs.begin());
  };
  auto executeCode = [&](const PlannedLayer &layer, const Routine &routine) {
    Operation *op = layer.layer.op;
    return "execute " +
           kernelKey(op, routine,
                     codegen::CpuRoutine::of(routine).targetOf(op, target));
  };
  auto transformCode = [&](const PlannedLayer &layer, const Routine &routine) {
    return "transform " + transformKey(layer.layer.op, routine, target.base);
  };
  auto widenCode = [&](const PlannedLayer &layer, const Candidate &chosen) {
    auto type = nn::typeOf(layer.layer.weights());
    return "widen " +
           widenKey(type, plan::text(*chosen.storage.narrow), target.base);
  };
  // The first inference has these anyway.
  for (const PlannedLayer &layer : layers) {
    const CostedCandidate &chosen = layer.first();
    add(executeCode(layer, *chosen.routine), 0);
    if (chosen.costs.form.empty() || chosen.costs.readsNarrow)
      continue;
    if (chosen.storage.storage != plan::Storage::transformed)
      add(transformCode(layer, *chosen.routine), 0);
    add(weightsName(layer, chosen.costs.form), 0);
  }

  search::LaterProblem problem;
  std::vector<std::vector<unsigned>> candidates;
  for (const PlannedLayer &layer : layers) {
    const CostedCandidate &chosen = layer.first();
    std::vector<search::LaterRoutine> &routines = problem.layers.emplace_back();
    std::vector<unsigned> &of = candidates.emplace_back();
    const Routine *last = nullptr;
    for (auto [i, later] : llvm::enumerate(layer.candidates)) {
      // Candidates of a routine stand together; how weights would be stored
      // makes no difference any more.
      if (later.routine == last || !gainsLater(chosen, later) ||
          !search::derivable(chosen.costs, later.costs))
        continue;
      last = later.routine;
      search::LaterRoutine routine;
      routine.gain = threads * (chosen.costs.execute - later.costs.execute);
      routine.needs = {add(executeCode(layer, *later.routine), codeBytes)};
      auto form = later.routine->weightForm(layer.layer.op);
      bool isNarrow = later.costs.readsNarrow; // and in the file
      if (!isNarrow && chosen.costs.readsNarrow) {
        double bytes = isWorthFloats(chosen, later)
                           ? 0
                           : double(nn::storageSize(layer.layer.weights()));
        routine.needs.push_back(add(weightsName(layer, ""), bytes));
        routine.needs.push_back(add(widenCode(layer, chosen), codeBytes));
      }
      if (form && !isNarrow) {
        routine.needs.push_back(
            add(weightsName(layer, form->name), double(form->bytes)));
        if (form->name != chosen.costs.form)
          routine.needs.push_back(
              add(transformCode(layer, *later.routine), codeBytes));
      }
      routines.push_back(std::move(routine));
      of.push_back(i);
    }
  }
  for (auto &[name, bytes] : needs)
    problem.bytes.push_back(bytes);
  if (options.memory == Memory::Default) {
    problem.price = profile.laterMsPerMB * 1e-6;
    problem.most = laterPart * memoryOf(layers, options.keepsNarrow);
  }
  search::LaterChoice choice = search::chooseLater(problem);
  for (auto [layer, of, later] : llvm::zip(layers, candidates, choice))
    if (later)
      layer.later = of[*later];
}
