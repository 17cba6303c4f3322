//===- Model.h - A recording's facts about runs -----------------*- C++ -*-===//
//
// Times are nanoseconds. Medians are over warm runs: those after all weights
// were prepared and all kernels changed to.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12_PROF_MODEL_H
#define NNV12_TOOLS_NNV12_PROF_MODEL_H

#include "tools/common/Recorded.h"
#include "tools/common/Statistics.h"
#include "tools/nnv12-prof/Explain.h"
#include "tools/nnv12-prof/GpuPreparing.h"
#include "tools/nnv12-prof/SplitWaits.h"

#include <map>
#include <string>
#include <vector>

namespace nnv12::prof {

/// Some samples, which are kept in their order.
struct Distribution : tools::Statistics {
  std::vector<double> samples;

  void add(double sample) { samples.push_back(sample); }
  /// After the last one: sets the statistics.
  void close() {
    if (!samples.empty())
      static_cast<Statistics &>(*this) = Statistics(samples);
  }
};

struct Operation {
  uint32_t index = 0;
  /// The bundle's, which it points into; of the kernel that warm runs have if
  /// no GPU takes them over.
  nnv12_operation_info info = {};
  /// Warm runs have it in a stretch of a GPU's, whose kernel is another one.
  bool isOnGpu = false;
  Distribution time;
  double share = 0; ///< of the medians' sum
  /// Medians of a recording with pieces: the threads' computing in all, and how
  /// long the leader waited for the others at the end.
  double busy = 0, join = 0;
  /// The part of all threads' time in which they did nothing of this operation.
  double idle = 0;
  /// The part of the time that slow runs took more than the median one which
  /// was spent here.
  double slowShare = 0;
  Explanation explanation;

  /// The kernel's and routine's names, for people.
  const char *shownKernel() const { return isOnGpu ? "gpu" : info.kernel; }
  const char *shownRoutine() const { return isOnGpu ? "gpu" : info.routine; }
};

/// A counter in warm runs, the mean.
struct Counter {
  uint32_t counter = 0;         ///< nnv12_counter
  double perRun = 0;            ///< of all threads that compute
  std::vector<double> ofThread; ///< of each, those that prepare as well
};

/// A run that is whole.
struct Run {
  uint32_t number = 0, status = 0;
  uint64_t start = 0, end = 0;
  double time = 0;
  double operations = 0; ///< the sum of its operations
};

struct Thread {
  std::string name;
  /// Parts of the time of warm runs: computing, and waiting for others' tiles.
  /// The execute lane's alone, unless pieces were recorded.
  double busy = 0, waiting = 0;
};

/// The first run, and the preparations before it.
struct Cold {
  bool isKnown = false;
  double run = 0; ///< the time of the run alone
  /// By kind, on all threads: "read", "decode", "execute"...
  std::map<std::string, double> stages;
  double waits = 0; ///< for weights
  /// The operations that waited longest, each with its wait.
  std::vector<std::pair<uint32_t, double>> longestWaits;
  ColdWork work; ///< its time: from the first record to the end of the run
  Explanation explanation;
};

struct Profile {
  nnv12_recording_info info = {};
  uint64_t lost = 0;
  std::vector<Operation> operations;
  std::vector<Run> runs; ///< the warm ones
  Distribution time;     ///< of these
  /// The part of these runs' time that belongs to no operation.
  double gaps = 0;
  std::vector<Thread> threads;
  std::vector<Counter> counters;
  std::string countersState; ///< see tools::Recorded
  double othersCpu = -1;     ///< the same a run
  Cold cold;
  GpuPreparing gpu;
  std::vector<SplitWait> splits; ///< of warm runs
  Machine machine;
  Explanation explanation; ///< of a warm run
};

/// The profile of a recording of that bundle. The machine's rates may not be
/// known; findGpuPreparing() adds a GPU's preparations.
Profile makeProfile(const Bundle &bundle, const tools::Recorded &recorded,
                    const Machine &machine = Machine());

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_MODEL_H
