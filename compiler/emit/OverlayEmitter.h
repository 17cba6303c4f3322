//===- OverlayEmitter.h - Emits a GPU's part of a program -------*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_OVERLAYEMITTER_H
#define NNV12_COMPILER_EMIT_OVERLAYEMITTER_H

#include "compiler/emit/GpuCode.h"
#include "compiler/emit/ProgramEmitter.h"

namespace nnv12 {

/// Fills in `program.gpu` of an emitted program from the plan.gpu of its plan:
/// dispatches with barriers where they are needed, hand-overs, the GPU's
/// memory, uploads, records and lanes. Asks `code` for the kernels and adds to
/// `weights` the kernels' tables, and weights that the GPU reads in another
/// form than the CPU; they must lie at multiples of 256. Fails with a
/// diagnostic.
mlir::LogicalResult emitOverlay(const ExecutionOrder &order, plan::GpuOp plan,
                                GpuCode &code, WeightTable &weights,
                                EmittedProgram &emitted);

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_OVERLAYEMITTER_H
