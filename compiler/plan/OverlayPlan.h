//===- OverlayPlan.h - A GPU's part of a model's plan -----------*- C++ -*-===//
#ifndef NNV12_COMPILER_PLAN_OVERLAYPLAN_H
#define NNV12_COMPILER_PLAN_OVERLAYPLAN_H

#include "compiler/plan/PlanOptions.h"
#include "compiler/plan/StretchCandidates.h"
#include "compiler/search/Overlay.h"
#include "mlir/IR/Diagnostics.h"

namespace nnv12 {

/// A stretch with the candidates that compute its layers.
struct PlacedStretch {
  search::Stretch range;
  /// For each of its layers the index of a candidate.
  std::vector<unsigned> choice;
  /// Each layer's tensors in f16, and the keys of its kernels.
  std::vector<codegen::HalfTensors> half = {};
  std::vector<std::vector<std::string>> kernels = {};
  bool cold = false, warm = false;
  /// By layer of a split: the GPU has the positions before `fronts`, the CPU
  /// all from `backs` on.
  std::vector<uint32_t> fronts = {}, backs = {};
};

struct OverlayPlan {
  std::string target;  ///< of its kernels, as codegen::GpuTarget::name
  std::string profile; ///< name of the one that its times are by
  StretchCandidates candidates;
  search::Overlay found;
  /// The first run with the overlay, where it hands over.
  search::Timeline timeline;
  /// By the first layer, the longest first.
  std::vector<PlacedStretch> stretches;

  const StretchCandidate &wayOf(const PlacedStretch &stretch,
                                uint32_t i) const {
    return candidates.layers[stretch.range.first + i][stretch.choice[i]];
  }
};

/// Plans the part of a plan for CPUs, with which the problem's layers agree,
/// that the GPU of the options takes over; adds the GPU's candidates to
/// `problem`. None where it takes over nothing, which a remark says. Fails with
/// a diagnostic where there is no such GPU. Behind the planned point of
/// hand-over the first run may go on to three others, where the CPUs have a
/// half, a quarter and an eighth of the rest before them.
mlir::FailureOr<std::optional<OverlayPlan>>
planOverlay(mlir::Location location, const ExecutionOrder &order,
            llvm::ArrayRef<PlannedLayer> layers,
            const device::DeviceProfile &profile,
            const codegen::Target &cpuTarget, search::Problem &problem,
            const search::Plan &cpu, const search::Choice &later,
            const PlanOptions &options);

} // namespace nnv12

#endif // NNV12_COMPILER_PLAN_OVERLAYPLAN_H
