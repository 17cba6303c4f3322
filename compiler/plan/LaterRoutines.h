//===- LaterRoutines.h - Routines that take over later ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_LATERROUTINES_H
#define NNV12_COMPILER_PLAN_LATERROUTINES_H

#include "compiler/codegen/cpu/Target.h"
#include "compiler/device/DeviceProfile.h"
#include "compiler/plan/PlanOptions.h"
#include "compiler/plan/PlannedLayer.h"
#include "llvm/ADT/ArrayRef.h"

namespace nnv12 {

/// Whether a change from the first's routine to the second's is worth its code:
/// it takes less than 99 % of the time.
bool gainsLater(const CostedCandidate &first, const CostedCandidate &later);

/// Mode::Auto: sets `later` of layers, whose `chosen` stays. `threads`: of the
/// execute lane.
/// With Memory::Default a megabyte of the weights and code of all that takes
/// over must gain DeviceProfile::laterMsPerMB of the threads' time, taken
/// together, in each later run: its worth does not depend on how many share the
/// work. Together the routines that take over use at most half
/// (laterPart) of the memory that the session and its weights use without them.
/// With Memory::Most every routine that gains takes over.
void chooseLaterRoutines(llvm::MutableArrayRef<PlannedLayer> layers,
                         unsigned threads, const device::DeviceProfile &profile,
                         const codegen::Target &target,
                         const PlanOptions &options);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_LATERROUTINES_H
