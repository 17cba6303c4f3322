//===- PlanClaim.h - The claim that a proof checks --------------*- C++ -*-===//
#ifndef NNV12_COMPILER_VERIFY_PLANCLAIM_H
#define NNV12_COMPILER_VERIFY_PLANCLAIM_H

#include "artifact/Bundle.h"
#include "compiler/emit/GpuCode.h"
#include "compiler/emit/KernelTable.h"
#include "compiler/emit/WeightTable.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nnv12 {

/// The claim about a GPU's part of a program.
struct GpuClaim {
  /// By stretch: which routine of GPUs computes each of its layers, with which
  /// tensors in f16.
  plan::GpuOp plan;
  llvm::ArrayRef<mlir::Operation *> layers; ///< by their numbers in the plan
  const GpuCode &code;
};

/// The claim about a program's parts.
struct PlanClaim {
  mlir::func::FuncOp main;
  /// By operation of the program: the layer that it computes.
  llvm::ArrayRef<mlir::Operation *> layers;
  const KernelTable &kernels;
  const WeightTable &weights;
  std::optional<GpuClaim> gpu = std::nullopt;
  /// Kernels that compute parts of layers alone, by their numbers in the part
  /// for video; null: there is no such part.
  const KernelTable *cells = nullptr;
};

} // namespace nnv12

#endif // NNV12_COMPILER_VERIFY_PLANCLAIM_H
