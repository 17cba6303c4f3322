//===- CostSource.cpp - Targets, and where costs come from ----------------===//

#include "tools/nnv12c/CostSource.h"

using namespace mlir;
using namespace nnv12;
using SharedProfile = std::shared_ptr<const device::DeviceProfile>;

static LogicalResult refuse(MLIRContext &context, const llvm::Twine &message) {
  return emitError(UnknownLoc::get(&context)) << message;
}

FailureOr<std::vector<codegen::Target>>
nnv12::targetsOf(const CompileOptions &options,
                 const device::DeviceProfile *profile, MLIRContext &context) {
  std::vector<std::string> names = options.targets;
  if (names.empty())
    names = {profile && !profile->target.empty() ? profile->target : "host"};
  std::vector<codegen::Target> targets;
  for (const std::string &name : names) {
    std::vector<codegen::Target> named = codegen::Target::allNamed(name);
    // A device is one target, of which --target may name a whole architecture.
    auto one = codegen::Target::byName(name);
    if (options.targets.empty() && one)
      named = {std::move(*one)};
    if (named.empty())
      return refuse(context, "--target: found '" + name +
                                 "', expected one of " +
                                 codegen::Target::allNames());
    for (codegen::Target &target : named) {
      // Measured code is scheduled for the device's processor.
      if (profile && profile->measured &&
          device::baseOf(profile->target) == target.base && name != "host" &&
          !target.tuneFor(profile->tune))
        return refuse(context, "--profile " + options.profile +
                                   ": tune: found '" + profile->tune +
                                   "', expected a processor that LLVM knows");
      if (llvm::none_of(targets,
                        [&](auto &t) { return t.name == target.name; }))
        targets.push_back(std::move(target));
    }
  }
  if (profile && llvm::none_of(targets, [&](auto &t) {
        return t.architecture == profile->architecture;
      }))
    return refuse(context, "--profile " + options.profile +
                               ": found a device of architecture '" +
                               profile->architecture + "', expected '" +
                               targets.front().architecture +
                               "', that of --target");
  return targets;
}

bool nnv12::isTuned(const CompileOptions &options,
                    const codegen::Target &target,
                    const device::DeviceProfile *given) {
  auto host = codegen::Target::byName("host");
  return llvm::is_contained(options.targets, "host") && !given && host &&
         host->upTo(target.extension).name == target.name;
}

FailureOr<GivenProfiles> nnv12::readProfiles(const CompileOptions &options,
                                             MLIRContext &context) {
  GivenProfiles given;
  std::string error;
  if (!options.profile.empty()) {
    auto profile = device::readProfile(options.profile, error);
    if (!profile)
      return refuse(context, error);
    // A profile may be another device's, but not to compile for this one.
    if (llvm::is_contained(options.targets, "host"))
      error = device::foreignDevice(*profile);
    if (!error.empty())
      return refuse(context, options.profile + ": " + error);
    given.device = std::make_shared<device::DeviceProfile>(std::move(*profile));
  }
  if (options.gpuProfile.empty())
    return given;
  auto profile = device::readProfile(options.gpuProfile, error);
  if (!profile)
    return refuse(context, error);
  if (!profile->gpu)
    return refuse(context, "--gpu-profile " + options.gpuProfile +
                               ": found no `gpu`, expected a profile of a "
                               "device with a GPU");
  given.gpu = std::move(profile->gpu);
  return given;
}

/// The costs of --profile. Times of other code than is generated now are left
/// out, which is said.
static FailureOr<Costs> givenCosts(const CompileOptions &options,
                                   const codegen::Target &target,
                                   const device::DeviceProfile &given,
                                   func::FuncOp main) {
  auto profile = std::make_shared<device::DeviceProfile>(given);
  auto stale =
      dropStaleTimes(main, target, *profile, options.tuning.otherLayouts);
  if (failed(stale))
    return failure();
  if (*stale)
    llvm::errs() << "nnv12c: warning: " << options.profile << ": found "
                 << *stale
                 << " times of kernels that have changed since they were "
                    "measured; these are predicted (measure again with "
                    "nnv12-tune)\n";
  return Costs{profile, /*mayLack=*/*stale != 0};
}

/// Without --storage-mbps.
static FailureOr<Costs> storedCosts(const CompileOptions &options,
                                    const codegen::Target &target,
                                    const SharedProfile &given,
                                    func::FuncOp main) {
  if (given && given->architecture == target.architecture)
    return givenCosts(options, target, *given, main);
  if (isTuned(options, target, given.get())) {
    auto tuned = tuneHost(main, target, options.tuning);
    if (failed(tuned))
      return failure();
    return Costs{std::make_shared<device::DeviceProfile>(std::move(*tuned)),
                 /*mayLack=*/true};
  }
  // Where nothing else is said, code is for this machine.
  return Costs{std::make_shared<device::DeviceProfile>(
      options.targets.empty()
          ? hostBuiltin(target)
          : device::builtinProfile(target.architecture, target.name))};
}

FailureOr<Costs> nnv12::resolveCosts(const CompileOptions &options,
                                     const codegen::Target &target,
                                     const SharedProfile &given,
                                     func::FuncOp main) {
  auto costs = storedCosts(options, target, given, main);
  if (failed(costs) || options.storageMBps <= 0)
    return costs;
  auto profile = std::make_shared<device::DeviceProfile>(*costs->profile);
  device::setStorage(*profile, options.storageMBps);
  costs->profile = std::move(profile);
  return costs;
}
