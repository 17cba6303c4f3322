//===- LayoutSelection.cpp - Layouts by the costs of the net --------------===//

#include "compiler/select/LayoutSelection.h"

#include "compiler/layers/OutputCopies.h"
#include "compiler/plan/PlanTimes.h"
#include "compiler/select/LayoutNet.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"

#include <cassert>
#include <random>
#include <set>

using namespace mlir;
using namespace nnv12;

/// The least gain for which a plan is taken, as a part of its time.
static constexpr double worthPredicted = 0.05, worthMeasured = 0.02;
/// A first result may be so much later, of equal ones.
static constexpr double asSoon = 1.005;
/// Plans of answers are searched for in this part of the steps.
static constexpr unsigned shorterBy = 32;

static bool isAsSoonAs(const PlanTimes &a, const PlanTimes &b) {
  return a.cold <= b.cold * asSoon;
}

static bool isBetter(const PlanTimes &a, const PlanTimes &b, Mode mode,
                     double worth) {
  return a.sum(mode) < b.sum(mode) * (1 - worth);
}

namespace {
struct Answers {
  std::vector<search::NetChoice> all; ///< distinct, the more likely ones first
  bool exact = true;
  /// The part of an answer's cost that the best one may cost less.
  double gap = 0;
};
} // namespace

static Answers answers(const LayoutNet &net, const PlanOptions &options) {
  Answers result;
  std::set<std::vector<uint32_t>> seen;
  auto add = [&](search::NetChoice choice) {
    if (choice.cost < search::impossible &&
        seen.insert(choice.signatures).second)
      result.all.push_back(std::move(choice));
  };
  search::Net warm = net.net();
  auto addUniform = [&] {
    for (uint8_t schema : {LayoutNet::dense, LayoutNet::blocked})
      add(search::uniform(warm, schema));
  };
  switch (options.layouts) {
  case Layouts::First:
    break;
  case Layouts::Greedy:
    add(search::greedy(warm));
    break;
  case Layouts::Uniform:
    addUniform();
    break;
  case Layouts::Random: {
    std::mt19937 random(options.layoutSeed);
    std::vector<uint32_t> chosen = net.own();
    for (size_t i = 0; i < chosen.size(); ++i)
      chosen[i] = random() % net.numSignatures(i);
    add(search::priced(warm, chosen));
    break;
  }
  case Layouts::Net: {
    seen.insert(net.own());
    std::set<std::vector<double>> prices;
    search::Net priced = warm;
    for (search::Balance balance : search::balances()) {
      net.price(priced, balance);
      // Most balances change no difference between signatures.
      std::vector<double> differences;
      for (const search::NetLayer &layer : priced.layers)
        for (const search::Signature &signature : layer.signatures)
          differences.push_back(signature.cost - layer.signatures[0].cost);
      if (!prices.insert(std::move(differences)).second)
        continue;
      auto choice = search::dprs(priced, options.layoutLimits, net.own());
      if (!choice.exact) {
        result.exact = false;
        result.gap = std::max(result.gap, 1 - choice.bound / choice.cost);
      }
      add(std::move(choice));
    }
    add(search::greedy(warm));
    addUniform();
    break;
  }
  }
  return result;
}

namespace {
class LayoutSelection {
public:
  LayoutSelection(func::FuncOp main, const PlanDevice &device,
                  const PlanOptions &options)
      : main(main), net(main), device(device), options(options) {
    // Copies of outputs may come to be, which nobody has measured.
    this->device.mayPredict = true;
  }

  FailureOr<SelectedLayouts> run(ModelPlan first, bool constantsStay) {
    CostTable costs(*device.profile, device.target, first.threads);
    net.addSignatures(first, costs, options, constantsStay);
    bool isNet = options.layouts == Layouts::Net;
    PlanTimes times = PlanTimes::of(first);
    SelectedLayouts best = {{}, main, std::move(first)};
    if (net.numFree() == 0) {
      best.report = "as preferred: no layer has another layout" + unmeasured();
      addNotes(best, net.own(), "");
      return best;
    }
    double worth = options.layoutMargin.value_or(
        device.profile->measured ? worthMeasured : worthPredicted);
    Answers answered = answers(net, options);
    const std::vector<search::NetChoice> &all = answered.all;
    std::string notes = unmeasured();
    if (!answered.exact)
      notes += llvm::formatv("; no exact answer: the best one costs at most "
                             "{0:f1} % less",
                             100 * answered.gap);
    const search::NetChoice *chosen = nullptr;
    PlanTimes least = times;
    PlanOptions shorter = options;
    shorter.steps /= shorterBy;
    for (const search::NetChoice &choice : all) {
      auto selected = planOf(choice, shorter);
      if (failed(selected))
        return failure();
      PlanTimes found = PlanTimes::of(selected->plan);
      if (isNet && !isAsSoonAs(found, times))
        continue;
      // A baseline is taken whatever it costs.
      double gain = chosen ? 0 : worth;
      if ((!isNet && !chosen) || isBetter(found, least, options.mode, gain)) {
        chosen = &choice;
        least = found;
      }
    }
    std::string none = llvm::formatv(
        "as preferred: {0} of {1} layers may have others, {2} answer{3} of the "
        "net, none gains {4:f0} %{5}",
        net.numFree(), net.own().size(), all.size(), all.size() == 1 ? "" : "s",
        100 * worth, notes);
    auto keepFirst = [&] {
      best.report = none;
      addNotes(best, net.own(),
               llvm::formatv("none gains {0:f0} %", 100 * worth).str());
      return std::move(best);
    };
    if (!chosen)
      return keepFirst();
    auto selected = planOf(*chosen, options);
    if (failed(selected))
      return failure();
    PlanTimes found = PlanTimes::of(selected->plan);
    if (isNet && !(isAsSoonAs(found, times) &&
                   isBetter(found, times, options.mode, worth)))
      return keepFirst();
    size_t adapts = chosen->adapts.size();
    selected->report = llvm::formatv(
        "{0} of {1} layers in others than preferred, {2} adapt{3}: {4:f3} of "
        "the cold time, {5:f3} of the warm time{6}",
        selected->changed, net.own().size(), adapts, adapts == 1 ? "" : "s",
        found.cold / times.cold, found.warm / times.warm, notes);
    addNotes(*selected, chosen->signatures, isNet ? "others gain nothing" : "");
    return selected;
  }

private:
  FailureOr<SelectedLayouts> planOf(const search::NetChoice &choice,
                                    const PlanOptions &how) {
    OwningOpRef<ModuleOp> module = net.build(choice);
    auto main = module->lookupSymbol<func::FuncOp>("main");
    copyOutputs(main);
    assert(succeeded(verify(*module)) && "layers are valid in any layouts");
    auto plan = planModel(main, device, how);
    if (failed(plan))
      return failure();
    SelectedLayouts result = {std::move(module), main, std::move(*plan)};
    result.changed =
        llvm::count_if(choice.signatures, [](uint32_t s) { return s != 0; });
    return result;
  }

  /// `kept` tells why a layer that may have others has none.
  void addNotes(SelectedLayouts &selected, ArrayRef<uint32_t> chosen,
                StringRef kept) const {
    uint32_t next = 0;
    for (Operation &op : selected.main.getBody().front()) {
      if (isa<nn::ConstantOp>(op) || op.hasTrait<OpTrait::IsTerminator>())
        continue;
      std::string &note = selected.notes[&op];
      if (isa<nn::AdaptOp>(op)) {
        note = "an adapt";
      } else if (next == chosen.size()) {
        note = "a copy"; // behind the layers, of outputs
      } else {
        uint32_t layer = next++;
        StringRef why = net.whyFixed(layer);
        if (why.empty())
          why = kept;
        note = chosen[layer] ? "others" : "as preferred";
        if (!chosen[layer] && !why.empty())
          note += (": " + why).str();
      }
    }
  }

  std::string unmeasured() const {
    unsigned number = net.numUnmeasured();
    return number ? llvm::formatv("; {0} signatures were not measured", number)
                  : std::string();
  }

  func::FuncOp main;
  LayoutNet net;
  PlanDevice device;
  const PlanOptions &options;
};
} // namespace

FailureOr<SelectedLayouts> nnv12::selectLayouts(func::FuncOp main,
                                                const PlanDevice &device,
                                                const PlanOptions &options,
                                                bool constantsStay) {
  auto first = planModel(main, device, options);
  if (failed(first))
    return failure();
  if (options.layouts == Layouts::First)
    return SelectedLayouts{{}, main, std::move(*first)};
  assert(options.gpu.empty() && "GPUs share the layouts of preferred routines");
  return LayoutSelection(main, device, options)
      .run(std::move(*first), constantsStay);
}
