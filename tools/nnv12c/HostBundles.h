//===- HostBundles.h - Bundles of one model by several plans ----*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_HOSTBUNDLES_H
#define NNV12_TOOLS_NNV12C_HOSTBUNDLES_H

#include "compiler/select/LayoutSelection.h"
#include "tools/nnv12c/CostSource.h"
#include "tools/nnv12c/ProgramCode.h"

#include <vector>

namespace nnv12 {

/// Plans of a model for the CPUs of this machine alone, and their bundles. The
/// plans of one model have most kernels in common. These are compiled once: a
/// bundle has the kernels of its plan and of those that were written before.
class HostBundles {
public:
  /// `model` must outlive this; its plan.program is written again and again.
  HostBundles(const CompileOptions &options, mlir::ModuleOp model,
              const codegen::Target &target);

  struct Plan {
    SelectedLayouts selected;
    std::string text;      ///< of all that was decided, and of predicted times
    std::string decisions; ///< the same without times
    double coldMs = 0;     ///< predicted
  };

  /// Makes a plan with such costs and returns its number, from 0 on. Fails with
  /// a diagnostic where the model cannot be compiled. `other` is a model that
  /// has most kernels in common with `model`, and takes its place.
  mlir::FailureOr<unsigned> plan(const Costs &costs, PlanOptions how,
                                 mlir::ModuleOp other = {});
  const Plan &operator[](unsigned number) const { return plans[number]; }
  /// Takes a plan out; it cannot be written anymore.
  SelectedLayouts take(unsigned number) {
    return std::move(plans[number].selected);
  }

  /// Writes the bundle of a plan. Fails with a diagnostic where the model
  /// cannot be compiled; "" or a line that says why the file cannot be written.
  mlir::FailureOr<std::string> write(unsigned number, const std::string &file);

private:
  const CompileOptions &options;
  mlir::ModuleOp model;
  codegen::Target target;
  std::vector<Plan> plans;
  SharedCode shared;
};

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_HOSTBUNDLES_H
