//===- HostPlans.cpp - The plan that is fastest on this machine -----------===//

#include "tools/nnv12c/HostPlans.h"

#include "artifact/Digest.h"
#include "artifact/Hexadecimal.h"
#include "artifact/Limits.h"
#include "compiler/codegen/common/TemporaryFolder.h"
#include "compiler/device/CacheFolder.h"
#include "compiler/device/CostModel.h"
#include "compiler/plan/CostTable.h"
#include "tools/nnv12c/CodeRevision.h"
#include "tools/nnv12c/PlanRace.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <deque>
#include <memory>

using namespace mlir;
using namespace nnv12;

/// A plan whose first inference is expected to be so many times as late as that
/// of another one does not run.
static constexpr double tooLate = 1.25;

/// With `measured` first.
static std::vector<HostPlan> plansByCosts(const Costs &measured,
                                          const codegen::Target &target) {
  if (!measured.profile->measured)
    return {{"costs as predicted", measured}};
  auto predicted = std::make_shared<device::DeviceProfile>(hostBuiltin(target));
  predicted->identity = measured.profile->identity;
  // The speed of storage and memory while kernels were measured may have been
  // an exception.
  auto kernels = std::make_shared<device::DeviceProfile>(*predicted);
  kernels->measured = true;
  kernels->name = measured.profile->name + ", kernels alone";
  kernels->big = measured.profile->big;
  kernels->threadScaling = measured.profile->threadScaling;
  kernels->efficiency = measured.profile->efficiency;
  kernels->kernels = measured.profile->kernels;
  return {{"costs as measured", measured},
          {"costs as predicted", {predicted, /*mayLack=*/true}},
          {"kernels as measured", {kernels, /*mayLack=*/true}}};
}

/// Like `plan`, with other numbers of lanes.
static std::vector<HostPlan> plansByLanes(const HostPlan &plan,
                                          unsigned threads) {
  const device::DeviceProfile &profile = *plan.costs.profile;
  unsigned lanes =
      device::searchDevice(profile, threads ? threads : defaultThreads(profile))
          .preparationLanes.size();
  std::vector<unsigned> others = {0, lanes + 1};
  if (lanes > 1)
    others.push_back(lanes - 1);
  std::vector<HostPlan> plans(others.size(), plan);
  for (auto [plan, other] : llvm::zip(plans, others))
    plan.lanes = other;
  return plans;
}

static std::string textOf(const HostPlan &plan) {
  if (!plan.lanes)
    return plan.name;
  return llvm::formatv("{0}, {1} preparation lane{2}", plan.name, *plan.lanes,
                       *plan.lanes == 1 ? "" : "s");
}

static std::string lineOf(const char *what, const HostPlan &plan, double median,
                          double p90) {
  return llvm::formatv("  {0,-10} cold {1:f2} ms, p90 {2:f2} ms: {3}\n", what,
                       median, p90, textOf(plan));
}

namespace {
/// A plan, and its runs if its bundle lies in a folder.
struct Entry {
  HostPlan plan;
  Racer racer = {};
};

/// The search for the plan of one model.
class HostRace {
public:
  HostRace(HostBundles &bundles, const PlanOptions &how,
           const TemporaryFolder &folder)
      : bundles(bundles), how(how), folder(folder) {}

  /// Makes a plan, and adds it unless it decides as another one does, or is
  /// expected to be far behind `from`. Fails with a diagnostic.
  LogicalResult add(HostPlan plan, const Entry *from = nullptr) {
    PlanOptions options = how;
    options.lanes = plan.lanes;
    auto number = bundles.plan(plan.costs, options);
    if (failed(number))
      return failure();
    plan.number = *number;
    const HostBundles::Plan &made = bundles[*number];
    bool isLate =
        from && made.coldMs > tooLate * bundles[from->plan.number].coldMs;
    if (!isLate && llvm::none_of(entries, [&](const Entry &entry) {
          return bundles[entry.plan.number].decisions == made.decisions;
        }))
      entries.push_back({std::move(plan)});
    return success();
  }

  /// Runs new plans in turns with the best so far. Fails with a diagnostic; ""
  /// or a line that says why there is nothing to compare.
  FailureOr<std::string> run() {
    if (entries.size() < 2)
      return std::string();
    llvm::SmallVector<Racer *> racers;
    bool areNew = false;
    for (size_t i = 0; i < entries.size(); ++i) {
      Entry &entry = entries[i];
      bool isNew = entry.racer.bundle.empty();
      areNew |= isNew;
      if (isNew || i == best)
        racers.push_back(&entry.racer);
      if (!isNew)
        continue;
      entry.racer.bundle = folder.file(std::to_string(i) + ".nnv");
      auto fault = bundles.write(entry.plan.number, entry.racer.bundle);
      if (failed(fault) || !fault->empty())
        return fault;
    }
    if (!areNew)
      return std::string();
    llvm::errs() << "nnv12c: running " << racers.size()
                 << " plans in turns on this machine\n";
    std::string error = race(racers, folder);
    if (!error.empty())
      return error;
    const Racer *winner = ::fastest(racers);
    best = llvm::find_if(entries,
                         [&](auto &entry) { return &entry.racer == winner; }) -
           entries.begin();
    return std::string();
  }

  const Entry &fastest() const { return entries[best]; }
  const std::deque<Entry> &all() const { return entries; }

private:
  HostBundles &bundles;
  const PlanOptions &how;
  const TemporaryFolder &folder;
  std::deque<Entry> entries; ///< which stay where they are
  size_t best = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// The memory of earlier races
//===----------------------------------------------------------------------===//

// A file each, beside the profile of the machine (ProfileCache.h), named by the
// text of the plan that would be taken unseen: after any change of layers, of
// costs or of kernels that is another one.

namespace nnv12 {
/// The result of a race of plans.
struct FastestPlan {
  std::string costs;                            ///< a name
  std::optional<unsigned> lanes = std::nullopt; ///< see PlanOptions
  double medianMs = 0, p90Ms = 0;               ///< of its cold runs
};

/// For llvm::json::parse().
static bool fromJSON(const llvm::json::Value &json, FastestPlan &plan,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper fields(json, path);
  return fields && fields.map("costs", plan.costs) &&
         fields.map("median_ms", plan.medianMs) &&
         fields.map("p90_ms", plan.p90Ms) && fields.map("lanes", plan.lanes) &&
         plan.lanes.value_or(0) < artifact::maxLanes;
}
} // namespace nnv12

/// The file for the plan of such text, where plans have `lanes` if that is
/// said. "" without a folder: nothing is remembered.
static std::string memoryPath(const std::string &folder,
                              const std::string &plan,
                              std::optional<unsigned> lanes) {
  if (folder.empty())
    return "";
  std::string text = codeRevision() + ("\n" + plan);
  artifact::Digest digest = artifact::digestOf(text.data(), text.size());
  return folder + "/" + artifact::hexadecimal(digest.bytes, 16) +
         (lanes ? "-" + std::to_string(*lanes) : "") + ".plan";
}

/// Nothing where there is no file. If it is of no use, `error` becomes a line
/// that says so.
static std::optional<FastestPlan> readPlan(const std::string &path,
                                           std::string &error) {
  if (path.empty() || !device::isCacheFile(path, error))
    return std::nullopt;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    error = path + ": " + buffer.getError().message();
    return std::nullopt;
  }
  auto plan = llvm::expectedToOptional(
      llvm::json::parse<FastestPlan>((*buffer)->getBuffer()));
  if (!plan)
    error = path + ": is damaged";
  return plan;
}

/// "" or a line that says why it could not be written.
static std::string writePlan(const std::string &path, const FastestPlan &plan) {
  if (path.empty())
    return "";
  llvm::json::Object object{{"costs", plan.costs},
                            {"median_ms", plan.medianMs},
                            {"p90_ms", plan.p90Ms}};
  if (plan.lanes)
    object["lanes"] = *plan.lanes;
  return device::writeCacheFile(
      path, llvm::formatv("{0:2}\n", llvm::json::Value(std::move(object))));
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

/// The chosen plan, then the others.
static std::string reportOf(const HostRace &race) {
  const Entry &best = race.fastest();
  std::string report =
      lineOf("run here", best.plan, best.racer.median(), best.racer.p90());
  for (const Entry &entry : race.all())
    if (&entry != &best && entry.racer.hasRun())
      report += lineOf("", entry.plan, entry.racer.median(), entry.racer.p90());
  return report;
}

FailureOr<HostPlan> nnv12::chooseHostPlan(const Costs &measured,
                                          const codegen::Target &target,
                                          const PlanOptions &options,
                                          const TuneOptions &tuning,
                                          HostBundles &bundles) {
  std::vector<HostPlan> plans = plansByCosts(measured, target);
  for (HostPlan &plan : plans)
    plan.lanes = options.lanes;
  // A bundle that is in memory anyway says nothing of a first inference.
  std::string cache = usableCacheFolder(tuning);
  TemporaryFolder folder(cache);
  HostRace race(bundles, options, folder);
  if (failed(race.add(plans.front())))
    return failure();
  auto give = [&](const llvm::Twine &reason) {
    warnOfHost(reason + "; plans are not compared");
    return race.all().front().plan;
  };
  if (!folder.error.empty())
    return give("no folder for temporary files: " + folder.error);

  std::string memory = memoryPath(
      cache, bundles[race.fastest().plan.number].text, options.lanes);
  std::string error;
  if (auto known = readPlan(memory, error)) {
    auto plan = llvm::find_if(
        plans, [&](const HostPlan &plan) { return plan.name == known->costs; });
    if (plan != plans.end()) {
      plan->lanes = known->lanes;
      plan->report = lineOf("run here", *plan, known->medianMs, known->p90Ms);
      if (plan == plans.begin() && plan->lanes == options.lanes) {
        plan->number = race.fastest().plan.number;
        return *plan;
      }
      PlanOptions how = options;
      how.lanes = plan->lanes;
      auto number = bundles.plan(plan->costs, how);
      if (failed(number))
        return failure();
      plan->number = *number;
      return *plan;
    }
    error = "plan '" + known->costs + "' is not known";
  }
  if (!error.empty())
    warnOfHost(error + "; plans are compared anew");

  for (const HostPlan &plan : llvm::drop_begin(plans))
    if (failed(race.add(plan)))
      return failure();
  auto fault = race.run();
  if (succeeded(fault) && fault->empty() && !options.lanes) {
    const Entry &best = race.fastest();
    for (const HostPlan &plan : plansByLanes(best.plan, options.threads))
      if (failed(race.add(plan, &best)))
        return failure();
    fault = race.run();
  }
  if (failed(fault))
    return failure();
  if (!fault->empty())
    return give(*fault);
  const Entry &best = race.fastest();
  if (!best.racer.hasRun())
    return best.plan; // all are the same
  error = writePlan(memory, {best.plan.name, best.plan.lanes,
                             best.racer.median(), best.racer.p90()});
  if (!error.empty())
    warnOfHost(error + "; which plan is fastest is forgotten");
  HostPlan chosen = best.plan;
  chosen.report = reportOf(race);
  return chosen;
}
