//===- TensorNames.h - Values by the names of tensors -----------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_TENSORNAMES_H
#define NNV12_COMPILER_IMPORT_TENSORNAMES_H

#include "mlir/IR/Value.h"

#include <string>
#include <utility>
#include <vector>

namespace nnv12 {

/// The values that tensors of the model's graph became, by their names there,
/// in the order of its nodes: those that are still in use. Several names may
/// have one value.
struct TensorNames {
  std::vector<std::pair<std::string, mlir::Value>> tensors;
};

} // namespace nnv12

#endif // NNV12_COMPILER_IMPORT_TENSORNAMES_H
