//===- PlanningPass.h - What the passes of a plan begin with ----*- C++ -*-===//
#ifndef NNV12_PASSES_PLAN_PLANNINGPASS_H
#define NNV12_PASSES_PLAN_PLANNINGPASS_H

#include "compiler/select/PlanDevice.h"
#include "passes/Passes.h"

#include <algorithm>
#include <cmath>

namespace nnv12 {

/// Absurd numbers of a profile give absurd times: thirty years stand for all
/// that is longer, or else they would be no integers.
inline int64_t nanoseconds(double milliseconds) {
  return std::llround(std::clamp(milliseconds * 1e6, 0.0, 1e18));
}

/// A pass over @main with the costs of a device. `Base` is what Passes.td makes
/// of it, with option `profile`.
template <typename Base> class PlanningPass : public Base {
public:
  PlanningPass() = default;
  /// `profile`, if not null, stands in for the option.
  template <typename Options>
  PlanningPass(Options options, SharedProfile profile = nullptr)
      : Base(std::move(options)), given(std::move(profile)) {}

protected:
  /// Fails with a diagnostic.
  virtual mlir::LogicalResult run(mlir::ModuleOp module,
                                  mlir::func::FuncOp main) = 0;

  /// Of option `lanes`, see PlanOptions.
  static std::optional<unsigned> lanesOf(int lanes) {
    return lanes < 0 ? std::nullopt : std::optional<unsigned>(lanes);
  }
  /// See planDevice().
  mlir::FailureOr<PlanDevice> device(mlir::Location location,
                                     llvm::StringRef target) const {
    return planDevice(location, target, this->profile, given);
  }

private:
  void runOnOperation() final {
    mlir::ModuleOp module = this->getOperation();
    auto main = module.lookupSymbol<mlir::func::FuncOp>("main");
    if (!main)
      module.emitError("found no function @main");
    if (!main || failed(run(module, main)))
      this->signalPassFailure();
  }

  SharedProfile given;
};

} // namespace nnv12

#endif // NNV12_PASSES_PLAN_PLANNINGPASS_H
