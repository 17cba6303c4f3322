//===- GpuPlan.h - What a GPU may take over of a program --------*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_GPUPLAN_H
#define NNV12_COMPILER_EMIT_GPUPLAN_H

#include "artifact/Bundle.h"
#include "compiler/emit/GpuCode.h"
#include "compiler/emit/ReadyWeights.h"
#include "compiler/emit/WeightTable.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nnv12 {

/// The program that a GPU is planned for, as planProgram() has made it.
struct PlannedProgram {
  mlir::func::FuncOp main;
  /// By operation of the program: the layer that it computes.
  llvm::ArrayRef<mlir::Operation *> layers;
  const ReadyWeights &ready;
  /// The segment that weights become.
  uint32_t weightsSegment;
};

/// Fills in `program.gpu` from the plan.gpu of its plan: dispatches with
/// barriers where they are needed, hand-overs, the GPU's memory, uploads,
/// records and lanes. Asks `code` for the kernels and adds to `weights` what
/// kernels read besides, and what the GPU reads in another form than the CPU;
/// they must lie at multiples of 256. Fails with a diagnostic.
mlir::LogicalResult planGpu(plan::GpuOp plan, const PlannedProgram &planned,
                            GpuCode &code, WeightTable &weights,
                            artifact::Program &program);

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_GPUPLAN_H
