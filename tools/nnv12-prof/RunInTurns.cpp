//===- RunInTurns.cpp - Measures two bundles, run by run ------------------===//
#include "tools/nnv12-prof/RunInTurns.h"

#include "tools/common/Clock.h"
#include "tools/common/Loading.h"
#include "tools/common/Recorded.h"
#include "tools/common/Statistics.h"
#include "tools/common/WarmUp.h"

#include <map>
#include <memory>

namespace nnv12::prof {

namespace {

/// A bundle's recorded session in one block.
class Contestant {
public:
  Contestant(const Side &side, SessionOptions options)
      : side_(side),
        recorder_(*side.bundle, options, NNV12_RECORD_OPERATION, runsKept) {
    options.recorder = recorder_.get();
    session_ = std::make_unique<Session>(
        tools::openSession(side.path, *side.bundle, options));
    tools::warmUp(*session_, /*least=*/4, [&] { run(); });
    firstRun_ = numRuns_;
  }

  void run() {
    tools::runSession(side_.path, *session_, side_.inputs, side_.outputs);
    ++numRuns_;
  }

  /// After the last run.
  struct Times {
    double run;
    std::map<std::string, double> layers;
  };
  Times times() const;

private:
  // Older records are lost: blocks are short, and there are many.
  static constexpr uint32_t runsKept = 1000;

  const Side &side_;
  Recorder recorder_;
  std::unique_ptr<Session> session_;
  uint32_t numRuns_ = 0, firstRun_ = 0;
};

} // namespace

/// Layers without a name are their kernel's.
static std::string nameOf(const nnv12_operation_info &operation) {
  return *operation.layer ? operation.layer
                          : "(" + std::string(operation.kernel) + ")";
}

Contestant::Times Contestant::times() const {
  tools::Recorded recorded;
  Recording recording = recorder_.recording();
  recorded.read(recording);
  std::vector<nnv12_record> warm;
  std::vector<double> runs;
  for (const nnv12_record &record : recorded.records) {
    if (record.run < firstRun_)
      continue;
    warm.push_back(record);
    if (record.kind == NNV12_RECORD_WHOLE_RUN)
      runs.push_back(double(record.duration_ns));
  }
  uint32_t count = side_.bundle->info().num_operations;
  std::map<std::string, std::vector<double>> samples;
  for (const std::vector<uint64_t> &times :
       tools::operationTimes(warm, count)) {
    std::map<std::string, double> ofLayers;
    for (uint32_t i = 0; i < count; ++i)
      ofLayers[nameOf(side_.bundle->operation(i))] += double(times[i]);
    for (const auto &[layer, time] : ofLayers)
      samples[layer].push_back(time);
  }
  Times result = {tools::median(runs), {}};
  for (const auto &[layer, times] : samples)
    result.layers[layer] = tools::median(times);
  return result;
}

/// The sides take turns to begin: neither always follows the other.
static void runBlock(Contestant &first, Contestant &second, double end,
                     unsigned &runs) {
  constexpr unsigned leastRounds = 3;
  for (unsigned i = 0; i < leastRounds || double(tools::nanoseconds()) < end;
       ++i) {
    first.run();
    second.run();
    second.run();
    first.run();
    runs += 2;
  }
}

static std::vector<Series> seriesOf(const Bundle &before, const Bundle &after) {
  std::vector<Series> series;
  std::map<std::string, bool> seen;
  for (const Bundle *bundle : {&before, &after})
    for (uint32_t i = 0; i < bundle->info().num_operations; ++i) {
      std::string name = nameOf(bundle->operation(i));
      if (seen.emplace(name, true).second)
        series.push_back({name, {}, {}});
    }
  return series;
}

Turns runInTurns(const Side &before, const Side &after,
                 const SessionOptions &options, unsigned blocks,
                 double seconds) {
  Turns turns;
  turns.layers = seriesOf(*before.bundle, *after.bundle);
  double start = double(tools::nanoseconds());
  for (unsigned block = 0; block < blocks; ++block) {
    double end = start + seconds * 1e9 * (block + 1) / blocks;
    // The session that is made first may have the better memory.
    bool isSwapped = block % 2;
    Contestant first(isSwapped ? after : before, options);
    Contestant second(isSwapped ? before : after, options);
    runBlock(first, second, end, turns.runs);
    Contestant::Times old = (isSwapped ? second : first).times(),
                      now = (isSwapped ? first : second).times();
    turns.run.before.push_back(old.run);
    turns.run.after.push_back(now.run);
    for (Series &series : turns.layers) {
      if (auto found = old.layers.find(series.name); found != old.layers.end())
        series.before.push_back(found->second);
      if (auto found = now.layers.find(series.name); found != now.layers.end())
        series.after.push_back(found->second);
    }
  }
  return turns;
}

} // namespace nnv12::prof
