//===- ProfileVideo.h - Runs a clip for its profile -------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_PROFILEVIDEO_H
#define NNV12_TOOLS_NNV12_PROF_PROFILEVIDEO_H

#include "tools/common/Loading.h"
#include "tools/common/VideoInput.h"
#include "tools/nnv12-prof/StoredProgram.h"
#include "tools/nnv12-prof/VideoProfile.h"

namespace nnv12::prof {

/// How the stream that is profiled reuses values. Ends the process where the
/// bundle has no part for video, or less than the options ask for.
nnv12_stream_options chooseProfiledStream(const tools::VideoOptions &options,
                                          const std::string &path,
                                          const Bundle &bundle);

/// Runs the frames of a clip in two sessions that take turns, a plain one and a
/// stream as `session` says, on CPUs alone, and records both. Each waits so
/// many milliseconds for preparations before its first run. Ends the process
/// with one line where a frame or a run is faulty.
VideoProfile profileVideo(const std::string &path, const Bundle &bundle,
                          tools::VideoInput &video, SessionOptions session,
                          unsigned waitFor);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_PROFILEVIDEO_H
