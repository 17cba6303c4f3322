//===- Lanes.h - Threads that follow the plan -------------------*- C++ -*-===//
//
// NNV12, section 3.3. Each preparation lane is a thread that follows its queue.
// Lane 0, the execute lane, is the thread that calls run. A lane with nothing
// ready in its queue takes pieces from the head of another's; the execute lane
// does so while it waits, and prefers what it waits for. Where kernels will
// change, a thread without a lane prepares for that from the start. As any
// preparation may run anywhere after those that it waits for
// (artifact/PlanVerifier.h), a plan for more threads than there are, or than
// could be started, is right as well.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_LANES_H
#define NNV12_RUNTIME_LANES_H

#include "runtime/FirstTouch.h"
#include "runtime/Preparations.h"

namespace nnv12::runtime {

class Lanes {
public:
  Lanes() = default;
  Lanes(const Lanes &) = delete;
  Lanes &operator=(const Lanes &) = delete;
  /// Ends and joins the threads, in the middle of the plan if need be.
  ~Lanes();

  struct Options {
    /// How many threads to start, at most.
    uint32_t threads = ~0u;
    /// Whether what switches need is prepared as well.
    bool continuous = false;
    bool pin = false;
    /// Of the session: lanes are pinned to CPUs behind theirs.
    uint32_t computing = 1;
    /// Ignored where a lane has no thread, and others must do its work.
    bool steal = true;
  };

  /// How many threads start() will start: one a preparation lane, and one more
  /// for what switches need, if options allow.
  static uint32_t numThreads(const bundle::Program *program,
                             const Options &options);

  /// Allocates. `scratch` has room of `stride` bytes for each thread, the
  /// execute lane's first; threads that have nothing to prepare serve
  /// `firstTouch`.
  bool create(const nnv12_bundle &bundle, const Options &options, Memory memory,
              uint8_t *scratch, size_t stride, FirstTouch &firstTouch,
              const Trace &trace, artifact::Fault &fault);
  /// The threads begin. Those that cannot be started are done without.
  void start();

  uint32_t threads() const { return started; }
  const Preparations &preparations() const { return items; }
  /// How many preparations will run, sooner or later.
  uint32_t numWanted() const { return wanted; }

  // For the execute lane.

  /// An entry of its own queue. What another thread has begun is left to it.
  void prepare(uint32_t index, Workers &workers);
  /// Returns when all of `after` are done, and prepares meanwhile. False when a
  /// preparation has failed.
  bool waitFor(const After *after, Workers &workers);
  /// Whether there is something left that no lane's thread will prepare.
  bool mayPrepareInBackground() const {
    return (!started || !mayHelp()) && items.numDone() < wanted &&
           !items.hasFailed();
  }
  /// Between runs: prepares some of that for about `nanoseconds`.
  void prepareInBackground(uint64_t nanoseconds);

private:
  /// Preparations in the order in which a lane does them.
  struct Queue {
    uint32_t *entries;
    uint32_t count;
    /// Entries before this one have no pieces left. Behind the truth at times.
    std::atomic<uint32_t> head;
  };

  struct Thread {
    Lanes *lanes = nullptr;
    Preparer preparer;
    int cpu = -1;
    uint64_t startTime = 0;
    pthread_t handle = {};
  };

  static constexpr uint32_t none = ~0u;

  bool collect(const bundle::Program *program, bool continuous,
               Array<bool> &skipped, artifact::Fault &fault);
  bool makeMembers(const bundle::Program *program, const Options &options,
                   uint8_t *scratch, size_t stride, artifact::Fault &fault);
  void chooseCpus(const bundle::Program *program, uint32_t computing);
  static void *threadMain(void *thread);
  void work(Preparer &preparer);
  uint32_t findReady(Queue &queue, bool reads);
  uint32_t findReady(Array<Queue> &queues, uint32_t own, bool reads = true);
  bool isEmpty(const Queue &queue) const;
  bool isEmpty(const Array<Queue> &queues, uint32_t own) const;
  bool mayHelp() const { return steal.load(std::memory_order_relaxed); }
  /// Whether there is nothing left that is worth doing.
  bool isOver() const {
    return stop.load(std::memory_order_relaxed) || items.hasFailed();
  }
  uint32_t findNeeded(const After *after) const;
  /// Pieces of a preparation, one after another, while there are some, and no
  /// more than `most`.
  void workOn(uint32_t index, Preparer &preparer, uint32_t most);
  void record(uint32_t index, uint32_t thread, uint64_t start) const;

  Preparations items;
  Array<uint32_t> entryTable;
  Array<uint32_t> laneOf; ///< by preparation
  Array<Queue> queues, backgrounds;
  uint32_t wanted = 0;
  std::atomic<bool> steal{true};
  const Trace *trace = nullptr;
  FirstTouch *firstTouch = nullptr;
  CpuMask allowed; ///< to whom started the lanes
  std::atomic<bool> stop{false};
  /// The execute lane's, which is no thread of ours, and then one a thread.
  Thread *members = nullptr;
  uint32_t numMembers = 0, started = 0;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_LANES_H
