//===- Workers.h - Threads that share the tiles of an operation -*- C++ -*-===//
//
// The CPU's executor. One thread, the caller, leads. For each step it publishes
// the tiles, works on its own part, takes tiles that others have not begun, and
// waits only for threads that are in the middle of a piece. A worker that the
// system has not scheduled in time, or that does something else, costs nothing.
// runtime/Team.h says which threads these are, and what they do between steps.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_WORKERS_H
#define NNV12_RUNTIME_WORKERS_H

#include "runtime/core/Executor.h"
#include "runtime/recorder/Recorder.h"
#include "runtime/system/Memory.h"
#include "runtime/system/RunningCpus.h"
#include "runtime/system/Threads.h"

namespace nnv12::runtime {

constexpr uint32_t maxThreads = RunningCpus::most;

class Workers : public Executor {
public:
  /// Makes room for `threads` threads, the leader included. `scratch` is where
  /// the threads' private memory begins, `stride` bytes for each: the leader's,
  /// those of `others` that are no workers, and then the workers'. `events` has
  /// an event for each operation.
  void create(uint32_t threads, uint8_t *scratch, size_t stride,
              uint32_t others, Events &events, Recorder &recorder);

  uint32_t threads() const { return count_; }
  /// The recorder of their steps.
  Recorder &recorder() const { return *recorder_; }
  /// Sets the number of threads that were started, before the first operation:
  /// no more than create() got.
  void setThreads(uint32_t threads) { count_ = threads; }

  /// The caller leads a run from here on.
  void beginRun() {
    if (count_ == 1)
      return;
    cpus_.note(0);
    runStart_.store(now(), std::memory_order_relaxed);
    isRunning_.store(true, std::memory_order_relaxed);
  }
  /// No operation follows before the next run.
  void endRun() {
    if (count_ > 1)
      isRunning_.store(false, std::memory_order_relaxed);
  }
  bool isRunning() const { return isRunning_.load(std::memory_order_relaxed); }
  /// When the last run began, a time of now().
  uint64_t runStart() const {
    return runStart_.load(std::memory_order_relaxed);
  }
  /// A worker has slept: it leaves the CPU of another thread. False where there
  /// is no other: while it spins, the other one cannot go on.
  bool wakesUp(uint32_t worker, ThreadCpus &own) {
    return cpus_.leaveShared(worker, own);
  }

  /// The other threads begin.
  Result submit(const Step &step, artifact::Fault &) override;
  /// The leader does the rest. Never fails.
  Result wait(const Step &step, artifact::Fault &) override;
  void fail(const char *) override {}
  /// Both, in less time.
  void run(const Step &step);
  /// Computes a step that begins at the tick `start`, and records each thread's
  /// part of it. Also records how long the leader waited for the others at the
  /// end. If the leader does the whole step, the step's own record says so.
  /// Returns the tick at which it ended.
  uint64_t runRecorded(const Step &step, uint64_t start);

  /// Does a worker's part of the operation that is under way, if `seen` is not
  /// its number, and sets `seen` to it. Whether there was one. Workers are
  /// numbered from 1.
  bool help(uint32_t worker, uint32_t &seen);

private:
  /// A contiguous part of the grid. Its owner and thieves take pieces from its
  /// front alike.
  struct alignas(64) Range {
    std::atomic<uint64_t> next;
    uint64_t end;
  };

  /// Whether there is something for more than the leader.
  bool isShared(const Step &step) const {
    return count_ > 1 && step.end - step.begin > 1;
  }
  void publish(const Step &step);
  void close();
  void leave();
  /// The number in the session of worker `index`; 0 is the leader.
  uint32_t threadOf(uint32_t index) const {
    return index ? index + others_ : 0;
  }
  /// The share of the operation's tiles, as records hold it.
  uint16_t partOf(uint64_t tiles) const {
    return static_cast<uint16_t>(tiles * 65535 / numTiles_);
  }
  void takePieces(uint32_t index);
  void takeRecorded(uint32_t index, Record &last);
  void helpRecorded(uint32_t worker);
  template <typename Taken> void takePieces(uint32_t index, Taken taken);
  void waitForWorkers();

  uint32_t count_ = 1;
  uint8_t *scratch_ = nullptr;
  size_t scratchStride_ = 0;
  uint32_t others_ = 0;
  Events *events_ = nullptr;
  Recorder *recorder_ = nullptr;

  // The current operation. Written by the leader while no worker has joined.
  artifact::KernelFn kernel_ = nullptr;
  void *const *operands_ = nullptr;
  const uint32_t *tiles_ = nullptr;
  uint64_t piece_ = 1;
  uint64_t firstTile_ = 0, numTiles_ = 1;
  bool isRecorded_ = false;
  uint32_t operation_ = 0; ///< where that is so
  Range ranges_[maxThreads];

  alignas(64) RunningCpus cpus_; ///< of the leader, and of the workers
  std::atomic<uint64_t> runStart_{0};
  /// Workers that spin look at it. All beside it hardly changes in a run.
  std::atomic<bool> isRunning_{false};

  /// Bits 0..7: workers that have joined. Bit 8: open for joining. Bit 9: the
  /// leader sleeps. Bits 10..31: number of the operation, modulo 2^22.
  alignas(64) std::atomic<uint32_t> state_{0};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_WORKERS_H
