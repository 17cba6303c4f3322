//===- Preparations.h - Work before the work --------------------*- C++ -*-===//
//
// A preparation is, like an execute, a grid of independent pieces: chunks of
// the file, ranges of tiles, one compressed frame. Threads take pieces one by
// one. So a thread that comes to help (NNV12, section 3.3, workload stealing)
// shares the rest of a running preparation, and is soon free again for
// something more urgent.
//
// A piece may be computed more than once: each one that finishes it leaves the
// same bytes in memory that nothing else is ever written to, and the first one
// counts. So nobody needs to wait for a thread that has begun one and then lost
// its CPU.
//
// The progress of a preparation may be shared by sessions: their threads take
// its pieces alike, and all of them hear of its end.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_PREPARATIONS_H
#define NNV12_RUNTIME_PREPARATIONS_H

#include "runtime/Decoder.h"
#include "runtime/Workers.h"

namespace nnv12::runtime {

using After = flatbuffers::Vector<uint32_t>;

/// The state of a thread that prepares.
struct Preparer {
  uint32_t thread = 0; ///< 0: the one that calls run; else its number, its lane
  uint8_t *scratch = nullptr;
  bool inBackground = false; ///< whether it has begun to prepare for later runs
  Decoder decoder;
};

/// A session that hears of the end of preparations. In one list at a time.
struct Listener {
  Events *events;
  Listener *next;
};

class Listeners : artifact::NonCopyable {
public:
  void add(Listener &listener);
  /// Nobody uses its events after this.
  void remove(Listener &listener);
  /// A preparation has ended.
  void happen();
  /// In a child process, whose copy a thread of the parent may have held.
  void reset();

private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  Listener *first_ = nullptr;
};

/// How far a preparation is.
struct Progress {
  enum class End : uint8_t {
    Open, ///< or given up: somebody may begin it again
    Done,
    Dropped, ///< it will never be done, which is no error
    Failed
  };
  std::atomic<uint32_t> next;     ///< the first piece that nobody has begun
  std::atomic<End> end;           ///< Open until then
  std::atomic<uint64_t> finished; ///< a bit a piece
  std::atomic<uint64_t> begun;    ///< when the last piece was, or got on
};

/// The preparations of a program, or of its overlay, by number among these.
/// `after` has numbers of operations, and those of the overlay come last. Any
/// number of threads may call the functions that are not for a certain one.
class Preparations : artifact::NonCopyable {
public:
  using End = Progress::End;

  uint32_t size() const { return static_cast<uint32_t>(items_.size()); }
  End endOf(uint32_t index) const {
    return progressOf(index).end.load(std::memory_order_acquire);
  }
  bool isDone(uint32_t index) const { return endOf(index) == End::Done; }
  bool areDone(const After *after) const {
    return areOver(after, /*orDropped=*/false);
  }
  /// Whether all preparations that `index` waits for are done, or were dropped
  /// here.
  bool isReady(uint32_t index) const {
    return areOver(items_[index].after, /*orDropped=*/true);
  }
  /// Whether there are pieces that nobody has begun.
  bool hasPieces(uint32_t index) const {
    return progressOf(index).next.load(std::memory_order_relaxed) <
           items_[index].pieces;
  }
  const After *afterOf(uint32_t index) const { return items_[index].after; }
  /// Whether an operation is one of these preparations.
  bool isPreparation(uint32_t operation) const {
    return operation - first_ < items_.size();
  }
  uint32_t indexOf(uint32_t operation) const { return operation - first_; }
  uint32_t operationOf(uint32_t index) const { return first_ + index; }
  RecordKind kindOf(uint32_t index) const { return items_[index].kind; }

  /// Computes one piece of a preparation that is ready, if there is one left.
  /// False where there was none, or it was given up.
  bool workOnPiece(uint32_t index, Preparer &preparer);
  /// Computes all that is left of a preparation that is ready, for the leader
  /// of `workers`: tiles go over all of them.
  bool workOnRest(uint32_t index, Preparer &leader, Workers &workers);
  /// Nanoseconds until others may repeat pieces that a thread has begun: 0 if a
  /// thread has held one for longer than pieces take. The preparation must be
  /// ready and have no pieces left.
  uint64_t patience(uint32_t index) const;
  /// Computes again the pieces that other threads have begun and not finished.
  /// For threads that have nothing else to do.
  void repeat(uint32_t index, Preparer &preparer);
  /// Ends a preparation that nobody has begun, and will never be done.
  void drop(uint32_t index);
  Listeners &listeners() { return listeners_; }

  /// How many have failed. Such a preparation, and those that wait for it, are
  /// never done. To be looked at before every wait.
  uint32_t numFailed() const { return failed_.load(std::memory_order_acquire); }

  /// Writes a record of a part of preparation `index`, of lane `lane`.
  virtual void write(Record &record, uint32_t thread, uint32_t lane,
                     Recorder &recorder) const;

protected:
  /// `first`: the number of the first one among operations. Operations before
  /// that are executes, or preparations of `before`.
  [[nodiscard]] bool allocate(uint32_t first, size_t count,
                              const Preparations *before);
  ~Preparations() = default;

  struct Item {
    const After *after;
    std::atomic<Progress *> progress;
    Listeners *listeners;
    uint64_t units;    ///< bytes of a read, tiles of a transform
    uint64_t perPiece; ///< units
    uint32_t pieces;   ///< mostPieces at most, one at least
    RecordKind kind;
    bool repeats; ///< whether its pieces may be computed twice
  };
  static constexpr uint64_t mostPieces = 64;

  Progress &progressOf(uint32_t index) const {
    return *items_[index].progress.load(std::memory_order_acquire);
  }
  /// Cuts `units` into pieces.
  static void cut(Item &item, uint64_t units, uint64_t perPiece);

  /// Computes a part of a piece. Done: there is nothing against the whole being
  /// done once all of it is computed.
  virtual End compute(uint32_t index, uint64_t begin, uint64_t end,
                      Preparer &preparer) = 0;
  /// Whether units are tiles of a kernel, which is `step` then.
  virtual bool isTiles(uint32_t, Step &) const { return false; }
  /// It has been done.
  virtual void ended(uint32_t) {}

  /// Begins the unfinished ones again, in a child process: the parent's threads
  /// and sessions are not there.
  void restart();

  artifact::Array<Item> items_;

private:
  bool areOver(const After *after, bool orDropped) const;
  /// Bits of the pieces [begin, end).
  static uint64_t bitsOf(uint32_t begin, uint32_t end) {
    uint64_t before = (uint64_t(1) << begin) - 1;
    return (end == mostPieces ? ~uint64_t(0) : (uint64_t(1) << end) - 1) &
           ~before;
  }
  bool computePiece(uint32_t index, uint32_t piece, Preparer &preparer);
  void finish(uint32_t index, uint64_t pieces, End end);

  artifact::Array<Progress> progress_;
  Listeners listeners_;
  uint32_t first_ = 0;
  const Preparations *before_ = nullptr;
  std::atomic<uint32_t> failed_{0};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_PREPARATIONS_H
