//===- Lanes.h - Preparations in the order of the plan ----------*- C++ -*-===//
//
// NNV12, section 3.3. Each lane of the plan is a queue. The thread that calls
// run has lane 0, the execute lane; thread i of the others (runtime/Team.h) has
// lane i. A thread with nothing ready in its queue takes pieces from the head
// of another's. The execute lane does so while it waits, and prefers the
// preparations that it waits for: it even repeats pieces that another thread
// has begun and does not finish in time. Where kernels will change, a thread
// without a lane prepares the new kernels' weights from the start. Any
// preparation may run anywhere after the preparations that it waits for
// (artifact/PlanVerifier.h), so a plan for more threads than there are is right
// as well.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_LANES_H
#define NNV12_RUNTIME_LANES_H

#include "runtime/PreparedWeights.h"

namespace nnv12::runtime {

class Lanes {
public:
  ~Lanes();

  struct Options {
    /// The number of threads that only prepare, and of others that call help().
    uint32_t preparing = 0, helping = 0;
    /// Whether the former do not even prepare, but wait for the storage alone.
    bool onlyReads = false;
    /// Whether threads also prepare weights for switches, and if so, whether
    /// they hold those back that release() has not named.
    bool continuous = false, holdsLater = false;
    /// Whether these may begin before there is a result.
    bool later = true;
    /// The memory that its threads need to decode: see Decoder::create().
    bool decodes = false;
    uint64_t largestSplit = 0;
    /// Ignored where others must do a lane's work.
    bool steal = true;
  };

  /// The number of threads that can work although they only prepare: one for
  /// each preparation lane, and one more that prepares for switches beside the
  /// first run.
  static uint32_t wantedThreads(const bundle::Program *program, bool continuous,
                                bool steal);

  using LaneList = flatbuffers::Vector<flatbuffers::Offset<bundle::Lane>>;

  /// Allocates. `scratch` has room of `stride` bytes for each thread, the
  /// execute lane's first.
  [[nodiscard]] bool create(Preparations &items, const LaneList *lanes,
                            const Options &options, uint8_t *scratch,
                            size_t stride, Events &events, Recorder &recorder,
                            artifact::Fault &fault);

  // For other threads than the execute lane's.

  /// Upload: prepares as well, and prefers to upload weights.
  enum class Role { Compute, Prepare, Read, Upload };
  enum class Help { Did, Nothing, Over };
  /// Lets thread `number` do a piece: of an operation if it computes, else of a
  /// preparation. Preparations for later runs begin once isLater(). Threads
  /// that prepare do them; where there are none, threads that compute do them
  /// while they are `idle`. Nothing: there may be a piece after the next event.
  /// Over: there never will be.
  Help help(uint32_t number, Role role, bool idle);
  bool hasLane(uint32_t number) const { return number < queues_.size(); }
  /// Whether it may ever do something.
  bool prepares(uint32_t number) const { return number < numPreparers_; }
  /// So many threads that only prepare were started. Where the system has
  /// refused one, or one that computes, lanes take from each other whatever the
  /// options said.
  void setThreads(uint32_t numPreparing, bool areAll);

  uint32_t numLanes() const { return static_cast<uint32_t>(queues_.size()); }
  Preparations &preparations() const { return *items_; }
  /// How many preparations will run for this session, sooner or later.
  uint32_t numWanted() const;
  /// How many of them are done.
  uint32_t numDone() const;
  /// Whether all of them are. For the execute lane.
  bool areAllDone();
  /// Whether all of them are done or dropped.
  bool areAllOver() const;
  /// The first of them that has failed, or `none`.
  uint32_t findFailed() const;
  bool hasFailed() const { return findFailed() != none; }
  /// Whether the session never wants a preparation.
  bool isUnwanted(uint32_t index) const {
    return wishOf(index) == Wish::Unwanted;
  }
  /// Whether some that `after` names are held back.
  bool areHeld(const After *after) const;

  // For the execute lane.

  /// Holds back no longer the preparations that `after` names, nor those that
  /// they wait for. The caller signals the event.
  void release(const After *after);
  /// When waitFor() gives up, a time of now().
  void setDeadline(uint64_t time) { deadline_ = time; }

  /// Does an entry of the execute lane's own queue. Leaves pieces to the
  /// threads that have begun them.
  void prepare(uint32_t index, Workers &workers);
  /// Returns when all that `operation` of the program comes after is done, and
  /// prepares meanwhile. False when a preparation has failed or the deadline is
  /// over.
  bool waitFor(uint32_t operation, const After *after, Workers &workers);
  /// Says that there is a first result. From now on threads prepare for later
  /// runs, even where the plan makes that wait for the result.
  void beginLater();
  /// Whether threads may prepare for later runs.
  bool isLater() const { return later_.load(std::memory_order_relaxed); }
  /// Whether preparations are left that no thread of their own will do.
  bool mayPrepareInBackground() {
    return (!numPreparing() || onlyReads_ || !mayHelp()) && !areAllDone() &&
           !hasFailed();
  }
  /// Between runs: prepares weights of that kind for about `nanoseconds`.
  /// Whether there were some.
  bool prepareInBackground(uint64_t nanoseconds);

  static constexpr uint32_t none = ~0u;

private:
  /// Whether the session wants a preparation: others may differ.
  enum class Wish : uint8_t { Unwanted, Held, Wanted };
  Wish wishOf(uint32_t index) const {
    return wishes_[index].load(std::memory_order_acquire);
  }
  /// Preparations in the order in which a lane does them.
  struct Queue {
    uint32_t *entries;
    uint32_t count;
    /// Entries before this one have ended. May lag behind. Others may be given
    /// up by another session's thread, and have all their pieces again.
    std::atomic<uint32_t> head;
  };

  [[nodiscard]] bool collect(const LaneList *lanes, const Options &options,
                             artifact::Fault &fault);
  [[nodiscard]] bool makePreparers(uint32_t count, const Options &options,
                                   uint8_t *scratch, size_t stride,
                                   artifact::Fault &fault);
  /// A bit for each RecordKind.
  using Kinds = uint32_t;
  static constexpr Kinds reads = 1u << uint32_t(RecordKind::Read),
                         uploads = 1u << uint32_t(RecordKind::GpuUpload);
  Kinds kindsOf(Role role) const;
  bool isOf(uint32_t index, Kinds kinds) const {
    return kinds >> uint32_t(items_->kindOf(index)) & 1;
  }
  uint32_t findReady(Queue &queue, Kinds kinds);
  uint32_t findReady(Array<Queue> &queues, uint32_t own, Kinds kinds);
  bool isEmpty(const Queue &queue, Kinds kinds) const;
  bool isEmpty(const Array<Queue> &queues, uint32_t own, Kinds kinds) const;
  uint32_t numPreparing() const {
    return preparing_.load(std::memory_order_relaxed);
  }
  bool mayHelp() const { return steal_.load(std::memory_order_relaxed); }
  uint32_t findNeeded(const After *after, bool begun) const;
  bool waitForOthers(uint32_t begun, uint32_t seen);
  /// Pieces of a preparation, one after another, while there are some, and no
  /// more than `most`.
  void workOn(uint32_t index, Preparer &preparer, uint32_t most);
  void record(uint32_t index, uint32_t thread, uint64_t start);
  void recordWait(uint32_t operation, uint64_t &since);

  Preparations *items_ = nullptr;
  Array<uint32_t> entryTable_;
  Array<uint32_t> laneOf_; ///< by preparation
  Array<std::atomic<Wish>> wishes_;
  Array<Queue> queues_, backgrounds_;
  uint32_t doneBefore_ = 0; ///< all wanted ones before this one are done
  uint64_t deadline_ = never;
  std::atomic<bool> steal_{true};
  std::atomic<bool> later_{false}; ///< see isLater()
  bool onlyReads_ = false;
  Recorder *recorder_ = nullptr;
  Events *events_ = nullptr;
  std::atomic<uint32_t> preparing_{0}; ///< threads that only prepare
  /// The first answer of findFailed(): each run gives the same.
  mutable std::atomic<uint32_t> failed_{none};
  /// The execute lane's, and then one a thread.
  Preparer *preparers_ = nullptr;
  uint32_t numPreparers_ = 0;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_LANES_H
