//===- OverlayEmitter.h - Emits a GPU's part of a program -------*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_OVERLAYEMITTER_H
#define NNV12_COMPILER_EMIT_OVERLAYEMITTER_H

#include "compiler/emit/GpuCode.h"
#include "compiler/emit/ProgramEmitter.h"

namespace nnv12 {

/// Where the front ends that a dispatch computes, if it does not compute all of
/// its layer.
std::optional<Cut> cutOf(plan::DispatchOp dispatch);

/// The operation of an execute in later runs: the replacement of its switch, if
/// it has one.
const artifact::Operation &laterOf(const artifact::Program &program,
                                   uint32_t execute);

/// Fills in `program.gpu` of an emitted program from the plan.gpu of its plan:
/// dispatches with barriers where they are needed, parts of stretches that are
/// split, hand-overs, the GPU's memory, uploads, records and lanes. Asks `code`
/// for the GPU's kernels, and `kernels` for those of parts. Adds to `weights`
/// the kernels' tables, and weights that the GPU reads in another form than the
/// CPU; they must lie at multiples of 256. Fails with a diagnostic.
mlir::LogicalResult emitOverlay(const ExecutionOrder &order, plan::GpuOp plan,
                                GpuCode &code, KernelTable &kernels,
                                WeightTable &weights, EmittedProgram &emitted);

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_OVERLAYEMITTER_H
