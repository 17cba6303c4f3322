//===- HostPlans.cpp - The plan that is fastest on this machine -----------===//

#include "tools/nnv12c/HostPlans.h"

#include "artifact/MappedFile.h"
#include "compiler/codegen/common/TemporaryFolder.h"
#include "compiler/device/CostModel.h"
#include "compiler/plan/CostTable.h"
#include "tools/nnv12c/PlanMemory.h"
#include "tools/nnv12c/PlanRace.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstring>
#include <deque>
#include <memory>

using namespace mlir;
using namespace nnv12;

static void warnOfHost(const llvm::Twine &message) {
  llvm::errs() << "nnv12c: warning: --target host: " << message << "\n";
}

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

static bool areEqual(const std::string &a, const std::string &b) {
  artifact::MappedFile files[2];
  artifact::Fault fault;
  return files[0].open(a.c_str(), fault) && files[1].open(b.c_str(), fault) &&
         files[0].size() == files[1].size() &&
         memcmp(files[0].data(), files[1].data(), files[0].size()) == 0;
}

namespace {
/// A plan whose bundle lies in a folder.
struct Entry {
  HostPlan plan;
  Racer racer;
};

/// The search for the plan of one model.
class HostRace {
public:
  HostRace(const TemporaryFolder &folder, WriteHostBundle write)
      : folder(folder), write(write) {}

  /// Adds plans, but none whose bundle is like another's. Fails with a
  /// diagnostic; "" or a line that says why a bundle cannot be written.
  FailureOr<std::string> add(ArrayRef<HostPlan> plans) {
    for (const HostPlan &plan : plans) {
      std::string file = folder.file(std::to_string(entries.size()) + ".nnv");
      auto fault = write(plan, file);
      if (failed(fault) || !fault->empty())
        return fault;
      if (llvm::none_of(entries, [&](const Entry &entry) {
            return areEqual(entry.racer.bundle, file);
          }))
        entries.push_back({plan, {file}});
    }
    return std::string();
  }

  /// Adds plans, and runs new ones in turns with the best so far. Fails
  /// with a diagnostic; "" or a line that says why there is nothing to compare.
  FailureOr<std::string> compare(ArrayRef<HostPlan> plans) {
    auto fault = add(plans);
    return failed(fault) || !fault->empty() ? fault : run();
  }

  const Entry &fastest() const { return entries[best]; }
  const std::deque<Entry> &all() const { return entries; }

private:
  std::string run() {
    llvm::SmallVector<Racer *> racers;
    for (size_t i = 0; i < entries.size(); ++i)
      if (i >= begun || i == best)
        racers.push_back(&entries[i].racer);
    begun = entries.size();
    if (racers.size() < 2)
      return "";
    llvm::errs() << "nnv12c: running " << racers.size()
                 << " plans in turns on this machine\n";
    std::string error = race(racers, folder);
    if (!error.empty())
      return error;
    const Racer *winner = ::fastest(racers);
    best = llvm::find_if(entries,
                         [&](auto &entry) { return &entry.racer == winner; }) -
           entries.begin();
    return "";
  }

  const TemporaryFolder &folder;
  WriteHostBundle write;
  std::deque<Entry> entries; ///< which stay where they are
  size_t begun = 0;          ///< so many have run
  size_t best = 0;
};
} // namespace

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

FailureOr<HostChoice> nnv12::chooseHostPlan(const Costs &measured,
                                            const codegen::Target &target,
                                            const PlanOptions &options,
                                            const TuneOptions &tuning,
                                            WriteHostBundle write) {
  std::vector<HostPlan> plans = plansByCosts(measured, target);
  for (HostPlan &plan : plans)
    plan.lanes = options.lanes;
  auto give = [&](const llvm::Twine &reason) {
    warnOfHost(reason + "; plans are not compared");
    return HostChoice{plans.front()};
  };
  // A bundle that is in memory anyway says nothing of a first inference.
  std::string cache = usableCacheFolder(tuning);
  TemporaryFolder folder(cache);
  if (!folder.error.empty())
    return give("no folder for temporary files: " + folder.error);
  HostRace race(folder, write);
  auto fault = race.add(plans.front());
  if (failed(fault))
    return failure();
  if (!fault->empty())
    return give(*fault);

  PlanMemory memory(cache, race.fastest().racer.bundle, options.lanes);
  std::string error;
  if (auto known = memory.read(error)) {
    auto plan = llvm::find_if(
        plans, [&](const HostPlan &plan) { return plan.name == known->costs; });
    if (plan != plans.end()) {
      plan->lanes = known->lanes;
      return HostChoice{
          *plan, lineOf("run here", *plan, known->medianMs, known->p90Ms)};
    }
    error = "plan '" + known->costs + "' is not known";
  }
  if (!error.empty())
    warnOfHost(error + "; plans are compared anew");

  fault = race.compare(ArrayRef(plans).drop_front());
  if (succeeded(fault) && fault->empty() && !options.lanes)
    fault = race.compare(plansByLanes(race.fastest().plan, options.threads));
  if (failed(fault))
    return failure();
  if (!fault->empty())
    return give(*fault);
  const Entry &best = race.fastest();
  if (!best.racer.hasRun())
    return HostChoice{best.plan}; // all are the same
  error = memory.write(
      {best.plan.name, best.plan.lanes, best.racer.median(), best.racer.p90()});
  if (!error.empty())
    warnOfHost(error + "; which plan is fastest is forgotten");
  return HostChoice{best.plan, reportOf(race)};
}
