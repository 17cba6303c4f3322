//===- VideoTimes.h - Predicted times of frames with reuse ------*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_VIDEOTIMES_H
#define NNV12_COMPILER_EMIT_VIDEOTIMES_H

#include "artifact/Bundle.h"
#include "compiler/search/FrameTimes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>

namespace nnv12 {

/// The costs of frames of a program with a part for video. The program has all
/// its kernels. `times` are the milliseconds of the executes of a later run, by
/// operation. `memoryGBps` is the memory bandwidth of a core.
search::FrameProblem frameProblemOf(const artifact::Program &program,
                                    llvm::ArrayRef<double> times,
                                    double memoryGBps);

/// The first execute of a program's tail (search::chooseTail). `video` has the
/// sets of all layers and inputs, and the check points that there would be
/// without a tail. No kernel is needed: tiles are taken for pixels.
size_t chooseVideoTail(const artifact::Program &program,
                       const artifact::ProgramVideo &video,
                       llvm::ArrayRef<double> times, double memoryGBps);

/// The share of an input that changes in a frame of a video, as long as nobody
/// knows the video.
constexpr double ordinaryShare = 0.1;

/// Prints one line on the times: for which changes reuse pays. A second one
/// compares it with a GPU's part of the plan, whose runs take `gpu`
/// milliseconds, if there is one. `plain`: milliseconds of a run of CPUs.
void printVideoTimes(const search::FrameTimes &times, double plain,
                     std::optional<double> gpu, llvm::raw_ostream &os);

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_VIDEOTIMES_H
