//===- VideoEmitter.h - Emits reuse between frames of a video ---*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_VIDEOEMITTER_H
#define NNV12_COMPILER_EMIT_VIDEOEMITTER_H

#include "compiler/emit/ProgramEmitter.h"
#include "llvm/Support/raw_ostream.h"

namespace nnv12 {

/// Comparing a value takes about as long as so many multiply-adds, whose caches
/// are warm.
constexpr double leastCheckedWork = 128;

/// Says which execute is the first one of the tail: from there on each frame
/// with a change computes all of each layer, in the memory of plain runs. The
/// number of executes: there is no tail. The part for video has sets, inputs
/// and check points then, as they are without a tail, but no places.
using ChooseTail = llvm::function_ref<size_t(const artifact::ProgramVideo &)>;

/// Fills in `program.video` of an emitted program of `main`: a place in the
/// arena for each value that stays for the next frame, the sets of pixels that
/// depend on changes, and which tiles compute them. The rest of the program
/// stays as it is. Kernels in cells are added to `cells`, whose numbers are
/// those of `program.video.kernels`: the caller fills these in. With
/// `VideoReuse::Bounded` results of convolutions in f32 get check points, if a
/// value takes at least so many multiply-adds. Fails with a diagnostic where no
/// layer with rows and columns depends on a part of an input.
mlir::LogicalResult emitVideo(mlir::func::FuncOp main,
                              artifact::VideoReuse reuse,
                              const ExecutionOrder &order,
                              const KernelTable &kernels, KernelTable &cells,
                              EmittedProgram &emitted,
                              double checkedWork = leastCheckedWork,
                              ChooseTail chooseTail = nullptr);

/// Prints a line about a program's part for video: the memory of kept values,
/// and how parts of layers are computed in most frames.
void printVideoSummary(const artifact::Program &program, llvm::raw_ostream &os);

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_VIDEOEMITTER_H
