//===- StaleTimes.h - Measured times of other code --------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_STALETIMES_H
#define NNV12_TOOLS_NNV12C_STALETIMES_H

#include "compiler/codegen/cpu/Target.h"
#include "compiler/device/DeviceProfile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nnv12 {

/// Removes from a measured profile the times of those kernels of `main` for
/// which this compiler generates other code for `target`, and returns how many
/// they are. Where the profile is of this compiler's own revision, tuned for
/// the same, it has none, and nothing is generated to find out. The profile is
/// of this revision afterwards; entries of kernels that `main` has no use for
/// are removed as well, uncounted. Fails with a diagnostic.
mlir::FailureOr<size_t> dropStaleTimes(mlir::func::FuncOp main,
                                       const codegen::Target &target,
                                       device::DeviceProfile &profile);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_STALETIMES_H
