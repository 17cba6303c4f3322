//===- SplitCandidates.h - Where layers can be cut in two -------*- C++ -*-===//
//
// From layers, and a device profile that has a GPU, to the places at which CPU
// and GPU can share a layer (CoDL), and the costs of both sides.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_PLAN_SPLITCANDIDATES_H
#define NNV12_COMPILER_PLAN_SPLITCANDIDATES_H

#include "compiler/codegen/cpu/Target.h"
#include "compiler/plan/PlannedLayer.h"
#include "compiler/plan/StretchCandidates.h"

namespace nnv12 {

/// The processors that share layers.
struct SplitDevice {
  const device::DeviceProfile &profile; ///< has a GPU
  const codegen::Target &cpu;
  const codegen::GpuTarget &gpu;
  unsigned threads; ///< of the execute lane
};

/// Adds fronts, backs and reaches to `problem`, whose stretches have
/// `candidates`. `later`: by layer, the candidate whose time is that of the
/// routine in later runs.
void addSplits(llvm::ArrayRef<PlannedLayer> layers,
               const StretchCandidates &candidates, const SplitDevice &device,
               const search::Choice &later, search::Problem &problem);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_SPLITCANDIDATES_H
