//===- FrameSession.h - A session that runs on frames -----------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_BENCH_FRAMESESSION_H
#define NNV12_TOOLS_NNV12_BENCH_FRAMESESSION_H

#include "tools/common/VideoAges.h"
#include "tools/nnv12-bench/BenchOptions.h"

#include <random>

namespace nnv12::bench {

/// A session that takes turns with others on the same frames.
class FrameSession {
public:
  /// Options and bundle must outlive it.
  FrameSession(const BenchOptions &options, const Bundle &bundle,
               const nnv12_stream_options &stream);

  /// Runs until nothing is left to prepare.
  void warmUp(const std::vector<Input> &in);
  void run(const std::vector<Input> &in) {
    tools::runSession(options_.bundle, session_, in, out_);
  }
  /// The next frame is as the first one.
  void forget() { session_.reset(); }
  /// The answer of the last run, to a frame that `place` names.
  void takeAnswer(const std::string &place, tools::Answer &answer) const;
  const Session &session() const { return session_; }

private:
  const BenchOptions &options_;
  Session session_;
  std::vector<tools::Tensor> outputs_;
  std::vector<Output> out_;
  std::vector<std::string> outputNames_;
};

/// Noise of pixels: the same for the same seed, on each machine.
class PixelNoise {
public:
  explicit PixelNoise(unsigned seed) : random_(seed) {}
  /// Adds -1, 0 or 1 to each level.
  void addTo(tools::Levels &levels);

private:
  std::mt19937 random_;
};

} // namespace nnv12::bench

#endif // NNV12_TOOLS_NNV12_BENCH_FRAMESESSION_H
