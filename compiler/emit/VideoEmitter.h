//===- VideoEmitter.h - Emits reuse between frames of a video ---*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_VIDEOEMITTER_H
#define NNV12_COMPILER_EMIT_VIDEOEMITTER_H

#include "compiler/emit/ProgramEmitter.h"

namespace nnv12 {

/// Fills in `program.video` of an emitted program of `main`: a place in the
/// arena for each value that stays for the next frame, the sets of pixels that
/// depend on changes, and which tiles compute them. The rest of the program
/// stays as it is. Fails with a diagnostic where no layer with rows and columns
/// depends on a part of an input.
mlir::LogicalResult emitVideo(mlir::func::FuncOp main,
                              const ExecutionOrder &order,
                              const KernelTable &kernels,
                              EmittedProgram &emitted);

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_VIDEOEMITTER_H
