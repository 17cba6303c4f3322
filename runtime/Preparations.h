//===- Preparations.h - Reads, decodes and transforms -----------*- C++ -*-===//
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
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_PREPARATIONS_H
#define NNV12_RUNTIME_PREPARATIONS_H

#include "runtime/Decoder.h"
#include "runtime/LoadedBundle.h"
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

/// Where the operands of a session lie.
struct Memory {
  uint8_t *arena, *prepared;
};

/// The address of an operand that is not in a caller's buffer.
void *addressOf(const nnv12_bundle &bundle, const bundle::Operand *operand,
                Memory memory);
artifact::KernelFn kernelOf(const nnv12_bundle &bundle,
                            const bundle::Operation *operation);

/// All preparations of a program, by number among preparations; `after` has
/// numbers of operations. Any number of threads may call the functions
/// that are not for a certain one.
class Preparations {
public:
  /// Preparations with a mark in `skipped` will never run. `events` has an
  /// event for each that has finished or failed.
  [[nodiscard]] bool create(const nnv12_bundle &bundle, Memory memory,
                            const artifact::Array<bool> &skipped,
                            Events &events, artifact::Fault &fault);

  uint32_t size() const { return static_cast<uint32_t>(items_.size()); }

  bool isDone(uint32_t index) const {
    return items_[index].done.load(std::memory_order_acquire);
  }
  bool areDone(const After *after) const;
  /// Whether all preparations that `index` waits for are done.
  bool isReady(uint32_t index) const { return areDone(items_[index].after); }
  /// Whether there are pieces that nobody has begun.
  bool hasPieces(uint32_t index) const {
    const Item &item = items_[index];
    return item.next.load(std::memory_order_relaxed) < item.pieces;
  }
  /// Whether it is not one of those that were skipped.
  bool willRun(uint32_t index) const { return items_[index].pieces != 0; }
  const After *afterOf(uint32_t index) const { return items_[index].after; }
  /// Whether the program's operation of this number is a preparation.
  bool isPreparation(uint32_t operation) const {
    return operation >= executes_;
  }
  uint32_t indexOf(uint32_t operation) const { return operation - executes_; }
  uint32_t operationOf(uint32_t index) const { return executes_ + index; }
  bundle::OperationKind kindOf(uint32_t index) const {
    return items_[index].operation->kind();
  }

  /// Computes one piece of a preparation that is ready, if there is one left.
  bool workOnPiece(uint32_t index, Preparer &preparer);
  /// Computes all that is left of a preparation that is ready, for the leader
  /// of `workers`: a transform's tiles go over all of them.
  bool workOnRest(uint32_t index, Preparer &leader, Workers &workers);
  /// Nanoseconds until others may repeat pieces that a thread has begun: 0 if a
  /// thread has held one for longer than pieces take. The preparation must be
  /// ready and have no pieces left.
  uint64_t patience(uint32_t index) const;
  /// Computes again the pieces that other threads have begun and not finished.
  /// For threads that have nothing else to do.
  void repeat(uint32_t index, Preparer &preparer);

  uint32_t numDone() const {
    return doneCount_.load(std::memory_order_relaxed);
  }
  /// Set when a preparation has failed: that one and those that wait for it are
  /// never done. To be looked at before every wait.
  bool hasFailed() const { return failed_.load(std::memory_order_acquire); }
  bool reportFailure(artifact::Fault &fault) const;

  bool usesZstd() const { return zstd_; }
  /// The largest result that a decode puts together from planes.
  uint64_t largestSplit() const { return split_; }

private:
  struct Item {
    const bundle::Operation *operation;
    const After *after;
    artifact::KernelFn kernel;
    void **operands;
    uint64_t units;     ///< bytes of a read, tiles of a transform
    uint64_t first;     ///< tile of a transform
    uint64_t perPiece;  ///< units
    uint32_t pieces;    ///< mostPieces at most
    bool forgetsSource; ///< nothing else needs the weights that it reads
    bool repeats;       ///< whether its pieces may be computed twice
    std::atomic<uint32_t> next;     ///< the first piece that nobody has begun
    std::atomic<uint64_t> finished; ///< a bit a piece
    std::atomic<uint64_t> begun;    ///< when the last one was, or got on
    std::atomic<bool> done;
  };
  static constexpr uint64_t mostPieces = 64;

  /// Bits of the pieces [begin, end).
  static uint64_t bitsOf(uint32_t begin, uint32_t end) {
    uint64_t before = (uint64_t(1) << begin) - 1;
    return (end == mostPieces ? ~uint64_t(0) : (uint64_t(1) << end) - 1) &
           ~before;
  }

  [[nodiscard]] bool allocate(const nnv12_bundle &bundle,
                              artifact::Fault &fault);
  void resolve(Item &item, const nnv12_bundle &bundle, Memory memory,
               void **&operands);
  void computePiece(Item &item, uint32_t piece, Preparer &preparer);
  bool compute(Item &item, uint64_t begin, uint64_t end, Preparer &preparer);
  void finish(Item &item, uint64_t pieces, bool good);
  void forgetSource(const Item &item) const;

  uint32_t executes_ = 0; ///< of the program: operations before the first item
  artifact::Array<Item> items_;
  artifact::Array<void *> operandTable_;
  bool zstd_ = false;
  uint64_t split_ = 0;
  Events *events_ = nullptr;
  std::atomic<uint32_t> doneCount_{0};
  std::atomic<bool> failed_{false};
  std::atomic<const bundle::Operation *> culprit_{nullptr};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_PREPARATIONS_H
