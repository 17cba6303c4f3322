//===- CostSource.h - Targets, and where costs come from --------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_COSTSOURCE_H
#define NNV12_TOOLS_NNV12C_COSTSOURCE_H

#include "compiler/codegen/cpu/Target.h"
#include "compiler/device/DeviceProfile.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "tools/nnv12c/CompileOptions.h"

#include <memory>

namespace nnv12 {

/// The targets that the options ask for, each once: those of --target, else the
/// profile's, else this machine. `profile` is that of --profile, or null. Not
/// every model has a use for their extensions.
mlir::FailureOr<std::vector<codegen::Target>>
targetsOf(const CompileOptions &options, const device::DeviceProfile *profile,
          mlir::MLIRContext &context);

/// The profiles of the options.
struct GivenProfiles {
  std::shared_ptr<const device::DeviceProfile> device; ///< of --profile or null
  std::optional<device::GpuProfile> gpu;               ///< of --gpu-profile
};

/// Reads the files of the options. Fails with a diagnostic.
mlir::FailureOr<GivenProfiles> readProfiles(const CompileOptions &options,
                                            mlir::MLIRContext &context);

/// Costs, and whether some of a measured profile may be missing.
struct Costs {
  std::shared_ptr<const device::DeviceProfile> profile;
  bool mayLack = false;
};
/// Whether costs of `target` are measured on this machine, see tuneHost().
/// `given` is the profile of --profile, or null.
bool isTuned(const CompileOptions &options, const codegen::Target &target,
             const device::DeviceProfile *given);

/// The costs that a plan of `main` for `target` is made with: those of
/// --profile where they are for this architecture (`given`); else, on this
/// machine's target and if the options say so, such as are measured now; else
/// the built-in ones. Fails with a diagnostic.
mlir::FailureOr<Costs>
resolveCosts(const CompileOptions &options, const codegen::Target &target,
             const std::shared_ptr<const device::DeviceProfile> &given,
             mlir::func::FuncOp main);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_COSTSOURCE_H
