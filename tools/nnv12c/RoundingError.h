//===- RoundingError.h - Error of f16 on a GPU ------------------*- C++ -*-===//
//
// No GPU is needed to say it: the CPU computes the model as it is and with the
// GPU's roundings, and both are run on random inputs. The freedom of GPUs is
// not in it: rounding to f16 is to nearest here, and sums are added in the
// CPU's order.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12C_ROUNDINGERROR_H
#define NNV12_TOOLS_NNV12C_ROUNDINGERROR_H

#include "compiler/codegen/common/TemporaryFolder.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace nnv12 {

/// A copy of a planned model without its plan, which rounds the tensors that
/// the GPU has in f16 in later runs: weights, and results of layers.
mlir::OwningOpRef<mlir::ModuleOp> roundedAsOnGpu(mlir::ModuleOp planned);

/// The error of all outputs of f32.
struct RoundingError {
  double largest = 0;   ///< |a - b|
  double magnitude = 0; ///< the largest |b|
  double mean = 0;      ///< of |a - b|
};

/// Runs both bundles on the same random inputs, by nnv12-run, which stands
/// beside this program, and compares those of the outputs that `isF32` marks.
/// Returns "" or one line that says why not.
std::string compareRounded(const std::string &rounded, const std::string &exact,
                           const std::vector<bool> &isF32,
                           const TemporaryFolder &folder, RoundingError &error);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_ROUNDINGERROR_H
