//===- PlanDevice.h - The device that a plan is made for --------*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_PLANDEVICE_H
#define NNV12_COMPILER_PLAN_PLANDEVICE_H

#include "compiler/codegen/cpu/Target.h"
#include "compiler/device/DeviceProfile.h"
#include "mlir/IR/Diagnostics.h"

#include <memory>

namespace nnv12 {

struct PlanDevice {
  codegen::Target target;
  std::shared_ptr<const device::DeviceProfile> profile; ///< never null
  /// Times that a measured profile lacks are predicted; else it is refused.
  bool mayPredict = false;
};

/// The target of this name with its costs: `given` if not null, else the
/// profile in file `path`, else the built-in one. Fails with a diagnostic at
/// `location` if there is no such target, the file is no profile, or it is for
/// another architecture.
mlir::FailureOr<PlanDevice>
planDevice(mlir::Location location, llvm::StringRef target,
           llvm::StringRef path,
           std::shared_ptr<const device::DeviceProfile> given);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_PLANDEVICE_H
