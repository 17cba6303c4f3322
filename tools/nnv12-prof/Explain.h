//===- Explain.h - Why a run takes the time that it takes -------*- C++ -*-===//
//
// Divides the time of each operation by fixed rules among causes and names the
// one to look at first. Time that a thread lost (it waited, had no CPU, took
// page faults) is taken off first; the rest is the kernel's own time and
// belongs to the roof that it is nearer to (Williams, Waterman, Patterson,
// "Roofline", 2009). Knows neither recordings nor bundles. Times are
// nanoseconds.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12_PROF_EXPLAIN_H
#define NNV12_TOOLS_NNV12_PROF_EXPLAIN_H

#include "tools/nnv12-prof/Machine.h"

#include <array>
#include <string>
#include <vector>

namespace nnv12::prof {

enum class Cause : uint8_t {
  Compute,    ///< multiply-adds
  Memory,     ///< bytes that are read and written
  Imbalance,  ///< threads wait at the end for those that have more to do
  Dispatch,   ///< threads begin late
  Weights,    ///< waiting for weights, or preparing them
  Faults,     ///< the first use of pages
  Preemption, ///< threads that could run have no CPU
  Frequency,  ///< CPUs slower than the machine's fastest
  Gpu,        ///< a GPU's computing, and waiting until it is ready
  HandOver    ///< giving work to a GPU, and seeing that it is finished
};
constexpr unsigned numCauses = 10;

/// "compute", "memory"...
const char *causeName(Cause cause);

/// Where a stretch of time went.
struct Explanation {
  std::array<double, numCauses> parts = {}; ///< their sum is the time
  /// The time saved without the cause. For compute and memory this is the time
  /// above the best that the machine is known to do.
  std::array<double, numCauses> gains = {};
  bool isKnown = false;
  /// The cause to look at first: the one with the largest gain, without the
  /// kernel's own causes, if that gain is a twentieth of the time at least;
  /// else the kernel's own bound.
  Cause cause = Cause::Compute;
  std::string text; ///< for people: that one's figures

  double part(Cause cause) const { return parts[unsigned(cause)]; }
  double givesBack() const { return gains[unsigned(cause)]; }
};

/// The work of an operation, and its times in warm runs: means, but for the
/// least.
struct Work {
  double time = 0;
  double least = 0; ///< a tenth of its times is below
  double multiplyAdds = 0, bytes = 0;
  uint64_t tiles = 0;
  /// Times of all threads together, where pieces were recorded, else 0: until
  /// the first tiles and between tiles; after the last ones; of threads that
  /// took no tiles.
  double late = 0, tail = 0, absent = 0;
  double leastIdle = 0; ///< as `least`, of the sum of these
  /// A GPU computes it, by whose clock the times are: nothing that is known of
  /// CPUs and their threads applies.
  bool isOnGpu = false;

  double idle() const { return late + tail + absent; }
};

/// Facts about whole warm runs.
struct RunWork {
  unsigned threads = 1;  ///< that compute
  double time = 0;       ///< of a run, outside of operations as well
  double withoutCpu = 0; ///< of all threads, which could have run
  /// The CPU time of other programs, which can have taken away that much at
  /// most; negative: not known.
  double othersCpu = -1;
  double pageFaults = 0; ///< of all threads
  /// From handing work to a GPU until it was seen to be finished, without the
  /// time of its kernels; and all of that where kernels are not known.
  double handOver = 0, onGpu = 0;
};

/// Explains all operations of a run. Where the machine is not known the best of
/// the operations stands in for it.
std::vector<Explanation> explainOperations(const std::vector<Work> &work,
                                           const RunWork &run,
                                           const Machine &machine);

/// Explains a warm run by its operations' explanations; the time between
/// operations is dispatch.
Explanation explainRun(const std::vector<Explanation> &operations,
                       const RunWork &run);

/// A first run.
struct ColdWork {
  double time = 0;
  /// Time of the execute lane: waiting for weights or preparing them itself;
  /// and the part of that in which some thread waited for the storage.
  double weights = 0, reading = 0;
  uint64_t storedBytes = 0; ///< that are read, before the run as well
  double executes = 0;      ///< of its operations on the CPU
  double unlike = 0;        ///< that of those which a GPU computes in warm runs
  double pageFaults = 0;    ///< of the execute lane
  double withoutCpu = 0;    ///< of the execute lane
  double gpuWait = 0;       ///< of the execute lane, until a GPU was ready
  /// A GPU's computing, and as RunWork::handOver.
  double onGpu = 0, handOver = 0;
};

/// Explains the difference to a warm run, and the warm run in it.
Explanation explainCold(const ColdWork &work, const Explanation &warm,
                        const Machine &machine);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_EXPLAIN_H
