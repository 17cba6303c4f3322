//===- ProgramPlan.h - Operations, memory, lanes of a program ---*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_PROGRAMPLAN_H
#define NNV12_COMPILER_EMIT_PROGRAMPLAN_H

#include "artifact/Bundle.h"
#include "compiler/emit/KernelTable.h"
#include "compiler/emit/ReadyWeights.h"
#include "compiler/emit/WeightTable.h"
#include "dialects/plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace nnv12 {

/// Fills in operations, preparations, lanes, switches and the sizes of arena
/// and prepared memory of `program`: every operand of `main`'s layers placed,
/// every stage of `plan` in its lane. Emits the kernels that this needs and
/// adds the weights, in execution order. Without a plan (null) each layer runs
/// the routine that it would get by default, and weights are stored as that
/// routine reads them. Fails, with a diagnostic, for a layer whose `nn.routine`
/// does not compute it. `layers` becomes the layer of each operation. `ready`,
/// if not null, gets what preparations make.
///
/// Where the plan has a plan.gpu, tensors of the arena lie at multiples of 256,
/// and what a stretch reads of those before it stays as it is until its end: so
/// the CPU can compute all of it again when the GPU fails in the middle.
mlir::LogicalResult planProgram(mlir::func::FuncOp main, plan::ProgramOp plan,
                                KernelTable &kernels, WeightTable &weights,
                                uint32_t weightsSegment,
                                artifact::Program &program,
                                std::vector<mlir::Operation *> &layers,
                                ReadyWeights *ready = nullptr);

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_PROGRAMPLAN_H
