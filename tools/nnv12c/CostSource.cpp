//===- CostSource.cpp - Targets, and where costs come from ----------------===//

#include "tools/nnv12c/CostSource.h"

#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace nnv12;
using SharedProfile = std::shared_ptr<const device::DeviceProfile>;

FailureOr<std::vector<codegen::Target>>
nnv12::targetsOf(const CompileOptions &options,
                 const device::DeviceProfile *profile, MLIRContext &context) {
  std::vector<std::string> names = options.targets;
  if (names.empty())
    names = {profile && !profile->target.empty() ? profile->target : "host"};
  std::vector<codegen::Target> targets;
  for (const std::string &name : names) {
    auto target = codegen::Target::byName(name);
    if (!target)
      return emitError(UnknownLoc::get(&context))
             << "--target: found '" << name << "', expected one of "
             << codegen::Target::names();
    if (llvm::none_of(targets, [&](auto &t) { return t.name == target->name; }))
      targets.push_back(std::move(*target));
  }
  if (profile && llvm::none_of(targets, [&](auto &t) {
        return t.architecture == profile->architecture;
      }))
    return emitError(UnknownLoc::get(&context))
           << "--profile " << options.profile
           << ": found a device of architecture '" << profile->architecture
           << "', expected '" << targets.front().architecture
           << "', that of --target";
  return targets;
}

FailureOr<SharedProfile> nnv12::readProfileOption(const CompileOptions &options,
                                                  MLIRContext &context) {
  if (options.profile.empty())
    return SharedProfile();
  std::string error;
  auto profile = device::readProfile(options.profile, error);
  if (!profile)
    return emitError(UnknownLoc::get(&context)) << error;
  // For another device is what profiles are for; for this one it must be this
  // one's.
  if (llvm::is_contained(options.targets, "host")) {
    error = device::foreignDevice(*profile);
    if (!error.empty())
      return emitError(UnknownLoc::get(&context))
             << options.profile << ": " << error;
  }
  return SharedProfile(
      std::make_shared<device::DeviceProfile>(std::move(*profile)));
}

/// Without --storage-mbps.
static FailureOr<Costs> storedCosts(const CompileOptions &options,
                                    const codegen::Target &target,
                                    SharedProfile given, func::FuncOp main) {
  if (given && given->architecture == target.architecture)
    return Costs{given};
  auto host = codegen::Target::byName("host");
  if (options.tuneHost && !given && host && host->name == target.name) {
    auto tuned = tuneHost(main, target, options.tuning);
    if (failed(tuned))
      return failure();
    return Costs{std::make_shared<device::DeviceProfile>(std::move(*tuned)),
                 /*mayLack=*/true};
  }
  auto builtin = std::make_shared<device::DeviceProfile>(
      device::builtinProfile(target.architecture, target.name));
  // Where nothing else is said, code is for this machine, and so is its number
  // of CPUs.
  if (options.targets.empty())
    builtin->big.count =
        std::max(1u, llvm::hardware_concurrency().compute_thread_count());
  return Costs{builtin};
}

FailureOr<Costs> nnv12::resolveCosts(const CompileOptions &options,
                                     const codegen::Target &target,
                                     SharedProfile given, func::FuncOp main) {
  auto costs = storedCosts(options, target, std::move(given), main);
  if (failed(costs) || options.storageMBps <= 0)
    return costs;
  auto profile = std::make_shared<device::DeviceProfile>(*costs->profile);
  device::setStorage(*profile, options.storageMBps);
  costs->profile = std::move(profile);
  return costs;
}
