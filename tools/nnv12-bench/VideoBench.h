//===- VideoBench.h - Measures runs over the frames of a video --*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_BENCH_VIDEOBENCH_H
#define NNV12_TOOLS_NNV12_BENCH_VIDEOBENCH_H

#include "tools/nnv12-bench/BenchOptions.h"

namespace nnv12::bench {

/// Measures the bundle's warm runs over the frames of --video, and how old
/// answers are where pixels have noise and where frames are left out
/// (VideoAges.h). Prints a table, or writes JSON. Ends the process where a
/// frame or a run is faulty.
void benchVideo(const BenchOptions &options);

} // namespace nnv12::bench

#endif // NNV12_TOOLS_NNV12_BENCH_VIDEOBENCH_H
