//===- Preparations.cpp - Work before the work ----------------------------===//
#include "runtime/Preparations.h"

#include <algorithm>
#include <cassert>

namespace nnv12::runtime {

#ifdef NNV12_TEST_HOOKS
/// Tests delay threads here; see test/unit/runtime/LanesTest.cpp.
void (*beforePiece)() = nullptr;
#define BEFORE_PIECE() (beforePiece ? beforePiece() : (void)0)
#else
#define BEFORE_PIECE() (void)0
#endif

/// Bytes of a piece of a read between two looks whether another thread has read
/// it.
static constexpr uint64_t readAtOnce = 128 << 10;

/// How long a piece may take before a thread that waits for it computes it as
/// well. A thread that reads a page on its way also only waits for the storage,
/// and costs nothing.
static constexpr uint64_t readPatience = 1000000, patienceOfOthers = 500000;

void Listeners::add(Listener &listener) {
  Lock lock(mutex_);
  listener.next = first_;
  first_ = &listener;
}

void Listeners::remove(Listener &listener) {
  Lock lock(mutex_);
  takeOut(first_, listener, &Listener::next);
}

void Listeners::happen() {
  Lock lock(mutex_);
  for (Listener *it = first_; it; it = it->next)
    it->events->happen(Events::Preparation);
}

void Listeners::reset() {
  pthread_mutex_init(&mutex_, nullptr);
  first_ = nullptr;
}

bool Preparations::allocate(uint32_t first, size_t count,
                            const Preparations *before) {
  first_ = first;
  before_ = before;
  if (!items_.allocate(count) || !progress_.allocate(count))
    return false;
  for (size_t i = 0; i < count; ++i) {
    items_[i].progress.store(&progress_[i], std::memory_order_relaxed);
    items_[i].listeners = &listeners_;
  }
  return true;
}

void Preparations::cut(Item &item, uint64_t units, uint64_t perPiece) {
  item.units = units;
  // At least one piece, so that somebody finishes it.
  item.perPiece =
      std::max({perPiece, (units + mostPieces - 1) / mostPieces, uint64_t(1)});
  uint64_t pieces = (units + item.perPiece - 1) / item.perPiece;
  assert(pieces <= mostPieces);
  item.pieces = pieces ? static_cast<uint32_t>(pieces) : 1;
}

/// Whether all operations of `after` are done. `orDropped`: it suffices that
/// one of these preparations was dropped.
bool Preparations::areOver(const After *after, bool orDropped) const {
  for (uint32_t i = 0; after && i < after->size(); ++i) {
    uint32_t operation = after->Get(i);
    if (isPreparation(operation)) {
      End end = endOf(indexOf(operation));
      if (end != End::Done && !(orDropped && end == End::Dropped))
        return false;
    } else if (before_ && before_->isPreparation(operation) &&
               !before_->isDone(before_->indexOf(operation))) {
      return false;
    }
  }
  return true;
}

/// `pieces` by their bits.
void Preparations::finish(uint32_t index, uint64_t pieces, End end) {
  Item &item = items_[index];
  Progress &progress = progressOf(index);
  if (end == End::Done) {
    // Acquires and releases, so that a thread that sees it done sees all
    // threads' pieces.
    uint64_t all = bitsOf(0, item.pieces),
             before =
                 progress.finished.fetch_or(pieces, std::memory_order_acq_rel);
    if ((before | pieces) != all)
      return;
    // A thread that repeats the preparation has brought its source back.
    ended(index);
    if (before == all)
      return;
  }
  // A failed preparation never becomes done, so that nobody uses its result.
  // Threads that wait for it wake up and find that it has failed. In a child
  // process that is forked here it is open, or counted.
  if (end == End::Failed)
    failed_.fetch_add(1, std::memory_order_release);
  progress.end.store(end, std::memory_order_release);
  if (end == End::Open)
    progress.next.store(0, std::memory_order_release);
  item.listeners->happen();
}

void Preparations::restart() {
  listeners_.reset();
  for (Progress &progress : progress_)
    if (progress.end.load() == End::Open) {
      progress.next.store(0);
      progress.finished.store(0);
    }
}

void Preparations::drop(uint32_t index) {
  progressOf(index).next.store(items_[index].pieces, std::memory_order_relaxed);
  finish(index, 0, End::Dropped);
}

bool Preparations::workOnPiece(uint32_t index, Preparer &preparer) {
  Item &item = items_[index];
  // Looking before adding keeps the counter from overflowing.
  if (!hasPieces(index))
    return false;
  assert(isReady(index) && "a preparation comes after those it waits for");
  BEFORE_PIECE();
  uint32_t piece =
      progressOf(index).next.fetch_add(1, std::memory_order_relaxed);
  if (piece >= item.pieces)
    return false;
  progressOf(index).begun.store(now(), std::memory_order_relaxed);
  BEFORE_PIECE();
  return computePiece(index, piece, preparer);
}

/// False where it was given up.
bool Preparations::computePiece(uint32_t index, uint32_t piece,
                                Preparer &preparer) {
  Item &item = items_[index];
  uint64_t begin = piece * item.perPiece,
           end = std::min(begin + item.perPiece, item.units),
           bit = bitsOf(piece, piece + 1);
  // Another thread may have read these pages meanwhile; they may be of no more
  // use, and out of this process's memory.
  if (item.kind == RecordKind::Read)
    for (; end - begin > readAtOnce; begin += readAtOnce) {
      if (progressOf(index).finished.load(std::memory_order_acquire) & bit)
        return true;
      compute(index, begin, begin + readAtOnce, preparer);
      // Slow is not lost: two that read the same pages hinder each other.
      progressOf(index).begun.store(now(), std::memory_order_relaxed);
    }
  End result = compute(index, begin, end, preparer);
  finish(index, bit, result);
  return result != End::Open;
}

uint64_t Preparations::patience(uint32_t index) const {
  const Item &item = items_[index];
  if (!item.repeats)
    return never;
  uint64_t most =
               item.kind == RecordKind::Read ? readPatience : patienceOfOthers,
           held =
               now() - progressOf(index).begun.load(std::memory_order_relaxed);
  // A piece that has just been begun may have no time yet.
  return held < most ? most - held : 0;
}

void Preparations::repeat(uint32_t index, Preparer &preparer) {
  Item &item = items_[index];
  assert(item.repeats && !hasPieces(index) && isReady(index));
  for (uint32_t piece = 0; piece < item.pieces && endOf(index) != End::Failed;
       ++piece)
    if (!(progressOf(index).finished.load(std::memory_order_acquire) >> piece &
          1))
      (void)computePiece(index, piece, preparer);
}

bool Preparations::workOnRest(uint32_t index, Preparer &leader,
                              Workers &workers) {
  Item &item = items_[index];
  Step step = {};
  if (workers.threads() == 1 || !isTiles(index, step)) {
    bool any = false;
    while (workOnPiece(index, leader))
      any = true;
    return any;
  }
  assert(isReady(index) && "a preparation comes after those it waits for");
  uint32_t piece =
      progressOf(index).next.exchange(item.pieces, std::memory_order_relaxed);
  if (piece >= item.pieces)
    return false;
  progressOf(index).begun.store(now(), std::memory_order_relaxed);
  BEFORE_PIECE();
  step.begin += piece * item.perPiece;
  workers.run(step);
  finish(index, bitsOf(piece, item.pieces), End::Done);
  return true;
}

void Preparations::write(Record &record, uint32_t thread, uint32_t lane,
                         Recorder &recorder) const {
  record.thread = static_cast<uint8_t>(thread);
  record.lane = static_cast<uint8_t>(lane);
  record.flags = thread != lane ? NNV12_RECORD_STOLEN : 0;
  recorder.end(record);
}

} // namespace nnv12::runtime
