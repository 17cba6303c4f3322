//===- ModelTuning.h - Times of kernels inside of their model ---*- C++ -*-===//
//
// Kernels are measured one by one (HostTuning.h). Inside of a model they find
// other caches, and neighbours that use the same memory. SoftNeuro, section V:
// profile the fastest candidates in the whole network.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12C_MODELTUNING_H
#define NNV12_TOOLS_NNV12C_MODELTUNING_H

#include "compiler/plan/ModelPlan.h"
#include "tools/nnv12c/HostTuning.h"

namespace nnv12 {

/// Writes to a file the bundle in which each layer is computed by its
/// PlanOptions::rank-th routine by the costs of `profile`. Fails with a
/// diagnostic; "" or a line that says why it cannot be written.
using WriteRankedBundle = llvm::function_ref<mlir::FailureOr<std::string>(
    unsigned rank, std::shared_ptr<const device::DeviceProfile> profile,
    const std::string &file)>;

/// Measures the three fastest routines of each layer of `main` on as many
/// threads as plans for `options` have, by warm runs of three bundles, and
/// gives `profile` their times (KernelTime::inModel). A layer's other routines
/// become as much slower as the one that slows down most. Nothing runs where
/// all are known. The times are remembered. Where bundles cannot be run
/// `profile` stays as it is, with a warning; fails with a diagnostic where the
/// model cannot be compiled.
mlir::LogicalResult
measureInModel(mlir::func::FuncOp main, const codegen::Target &target,
               const PlanOptions &options, const TuneOptions &tuning,
               device::DeviceProfile &profile, WriteRankedBundle write);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_MODELTUNING_H
