//===- NNInference.h - Shapes that several layers infer ---------*- C++ -*-===//
#ifndef NNV12_DIALECTS_NN_NNINFERENCE_H
#define NNV12_DIALECTS_NN_NNINFERENCE_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"

#include <optional>

namespace nnv12::nn {

/// Output extents of a sliding window over `input`'s spatial dimensions; fails
/// with a diagnostic where there is a location.
mlir::FailureOr<llvm::SmallVector<int64_t>>
windows(std::optional<mlir::Location> loc, mlir::RankedTensorType input,
        llvm::ArrayRef<int64_t> kernel, llvm::ArrayRef<int64_t> strides,
        llvm::ArrayRef<int64_t> dilations, llvm::ArrayRef<int64_t> low,
        llvm::ArrayRef<int64_t> high);

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_NNINFERENCE_H
