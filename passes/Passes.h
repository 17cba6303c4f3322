//===- Passes.h - Passes on nn layers ---------------------------*- C++ -*-===//
#ifndef NNV12_PASSES_PASSES_H
#define NNV12_PASSES_PASSES_H

#include "compiler/device/DeviceProfile.h"
#include "compiler/select/Options.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace nnv12 {
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

/// The same with costs that the caller has, in place of option `profile`.
using SharedProfile = std::shared_ptr<const device::DeviceProfile>;
std::unique_ptr<mlir::Pass> createSelectRoutines(SelectRoutinesOptions options,
                                                 SharedProfile profile);
std::unique_ptr<mlir::Pass> createPlanWeights(PlanWeightsOptions options,
                                              SharedProfile profile);
std::unique_ptr<mlir::Pass> createPlaceGpu(PlaceGpuOptions options,
                                           SharedProfile profile);
std::unique_ptr<mlir::Pass> createSchedule(ScheduleOptions options,
                                           SharedProfile profile);
} // namespace nnv12

#endif // NNV12_PASSES_PASSES_H
