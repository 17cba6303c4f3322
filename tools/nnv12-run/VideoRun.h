//===- VideoRun.h - Runs a bundle on each frame of a video ------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_RUN_VIDEORUN_H
#define NNV12_TOOLS_NNV12_RUN_VIDEORUN_H

#include "tools/nnv12-run/RunCommand.h"

namespace nnv12::run {

/// Runs the session on each frame of --video and writes a line about each as
/// soon as it is known: the number of the frame, the milliseconds of its run,
/// and the top class, or the largest values of outputs. Ends the process where
/// a frame or a run is faulty, and where nobody reads the lines any more.
void runVideo(const CommandLine &options, const Bundle &bundle,
              Session &session);

} // namespace nnv12::run

#endif // NNV12_TOOLS_NNV12_RUN_VIDEORUN_H
