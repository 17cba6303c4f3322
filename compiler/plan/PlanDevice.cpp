//===- PlanDevice.cpp - The device that a plan is made for ----------------===//

#include "compiler/plan/PlanDevice.h"

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
