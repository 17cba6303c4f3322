//===- BenchOptions.h - The command line of nnv12-bench ---------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_BENCH_BENCHOPTIONS_H
#define NNV12_TOOLS_NNV12_BENCH_BENCHOPTIONS_H

#include "tools/common/Loading.h"
#include "tools/common/VideoInput.h"

namespace nnv12::bench {

struct BenchOptions {
  std::string bundle;
  std::string json;
  unsigned cold = 5;
  unsigned floor = 0;
  unsigned warm = 20;
  bool dropCaches = false, unbacked = false;
  bool profile = false;
  /// Set in the processes that cold runs start: where to report to.
  unsigned reportTo = 0;
  unsigned inputsFrom = 0;
  bool floorRun = false;
  tools::LoadOptions load;
  tools::RunOptions session;
  tools::InputOptions input;
  tools::VideoOptions video;
  /// Answers may be so old. Given: tolerances of reuse are tried.
  std::optional<double> maxAge;
};

} // namespace nnv12::bench

#endif // NNV12_TOOLS_NNV12_BENCH_BENCHOPTIONS_H
