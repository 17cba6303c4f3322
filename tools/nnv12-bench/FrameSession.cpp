//===- FrameSession.cpp - A session that runs on frames -------------------===//
#include "tools/nnv12-bench/FrameSession.h"

#include "tools/common/Report.h"
#include "tools/common/WarmUp.h"

#include <algorithm>

namespace nnv12::bench {

using namespace tools;

static SessionOptions sessionOptions(const BenchOptions &options,
                                     const nnv12_stream_options &stream) {
  SessionOptions result = options.session.session();
  result.stream = stream;
  return result;
}

FrameSession::FrameSession(const BenchOptions &options, const Bundle &bundle,
                           const nnv12_stream_options &stream)
    : options_(options), session_(openSession(options.bundle, bundle,
                                              sessionOptions(options, stream))),
      outputs_(makeOutputs(bundle)), out_(asOutputs(outputs_)) {
  for (uint32_t i = 0; i < bundle.numOutputs(); ++i)
    outputNames_.emplace_back(bundle.output(i).name);
  if (options.session.waitFor)
    prepareSession(options.bundle, session_, options.session.waitFor);
}

void FrameSession::warmUp(const std::vector<Input> &in) {
  tools::warmUp(session_, 2, [&] { run(in); });
}

void FrameSession::takeAnswer(const std::string &place, Answer &answer) const {
  size_t fault = makeAnswer(outputs_, answer);
  if (fault < outputs_.size())
    fail(options_.bundle + ": output '" + outputNames_[fault] + "': " + place +
         ": found NaN or infinity, expected finite numbers");
}

void PixelNoise::addTo(Levels &levels) {
  for (uint8_t &level : levels)
    level = uint8_t(std::clamp(int(level) + int(random_() % 3) - 1, 0, 255));
}

} // namespace nnv12::bench
