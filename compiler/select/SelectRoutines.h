//===- SelectRoutines.h - Chooses by a search -------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_SELECT_SELECTROUTINES_H
#define NNV12_COMPILER_SELECT_SELECTROUTINES_H

#include "compiler/select/Selection.h"

namespace nnv12 {

/// Searches (search::plan) over all candidates of `main`'s layers.
Selection selectRoutines(mlir::func::FuncOp main,
                         const device::DeviceProfile &profile,
                         const codegen::Target &target,
                         const PlanOptions &plan);

} // namespace nnv12

#endif // NNV12_COMPILER_SELECT_SELECTROUTINES_H
