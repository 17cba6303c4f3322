//===- VideoTrials.h - Finds tolerances for a video -------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_BENCH_VIDEOTRIALS_H
#define NNV12_TOOLS_NNV12_BENCH_VIDEOTRIALS_H

#include "tools/nnv12-bench/BenchOptions.h"

namespace nnv12::bench {

/// Tries tolerances of reuse on the first half of --video, and the best of them
/// within --max-age on the second half (ToleranceChoice.h). Prints a table, or
/// writes JSON. Times do not count, so that a bundle and a clip have the same
/// result each time. Ends the process where a frame or a run is faulty, or the
/// bundle has no such reuse.
void tryTolerances(const BenchOptions &options);

} // namespace nnv12::bench

#endif // NNV12_TOOLS_NNV12_BENCH_VIDEOTRIALS_H
