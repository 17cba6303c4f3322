//===- Workers.cpp - Threads that share the tiles of an operation ---------===//
#include "runtime/Workers.h"

#include <algorithm>
#include <cassert>

namespace nnv12::runtime {

#ifdef NNV12_TEST_HOOKS
/// Tests delay threads here; see test/unit/runtime/TeamTest.cpp.
void (*beforeTiles)() = nullptr;
#define BEFORE_TILES() (beforeTiles ? beforeTiles() : (void)0)
#else
#define BEFORE_TILES() (void)0
#endif

static constexpr uint32_t joinedMask = 0xff;
static constexpr uint32_t openBit = 1u << 8;
static constexpr uint32_t leaderSleepsBit = 1u << 9;
static constexpr uint32_t numberShift = 10;

/// A thread's range goes in so many pieces, of which others may take the rest.
static constexpr uint64_t piecesPerRange = 8;

static constexpr uint32_t anyone = ~0u;

void Workers::create(uint32_t threads, uint8_t *scratch, size_t stride,
                     uint32_t others, Events &events, Recorder &recorder) {
  assert(threads >= 1 && threads <= maxThreads);
  count_ = threads;
  others_ = others;
  scratch_ = scratch;
  scratchStride_ = stride;
  events_ = &events;
  recorder_ = &recorder;
}

bool Workers::help(uint32_t worker, uint32_t &seen) {
  uint32_t value = state_.load(std::memory_order_acquire);
  while ((value & openBit) && value >> numberShift != seen)
    if (state_.compare_exchange_weak(value, value + 1,
                                     std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
      seen = value >> numberShift;
      if (isRecorded_)
        helpRecorded(worker);
      else
        takePieces(worker);
      leave();
      return true;
    }
  return false;
}

/// A thread that sees that the worker has left sees its records.
void Workers::helpRecorded(uint32_t worker) {
  Record last = {};
  last.start = recorder_->ticks();
  takeRecorded(worker, last);
  if (last.count)
    recorder_->write(last);
}

void Workers::leave() {
  uint32_t before = state_.fetch_sub(1, std::memory_order_acq_rel);
  assert((before & joinedMask) != 0 && "who leaves has joined");
  if ((before & joinedMask) == 1 && (before & leaderSleepsBit))
    futexWake(state_, anyone);
}

/// Runs a kernel for tiles, or for those in a list: neighbours in one call.
// Clang's check of function pointers reads what stands before the function,
// which generated code does not have.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
static inline void runTiles(artifact::KernelFn kernel, void *const *operands,
                            const uint32_t *tiles, uint64_t begin, uint64_t end,
                            void *scratch) {
  if (!tiles) {
    kernel(operands, static_cast<int64_t>(begin), static_cast<int64_t>(end),
           scratch);
    return;
  }
  while (begin < end) {
    int64_t first = tiles[begin], last = first;
    while (++begin < end && tiles[begin] == last + 1)
      ++last;
    kernel(operands, first, last + 1, scratch);
  }
}

/// `taken(begin, tiles)` is told of each range of which this thread took some,
/// before and after.
template <typename Taken>
inline void Workers::takePieces(uint32_t index, Taken taken) {
  void *mine = scratch_ + threadOf(index) * scratchStride_;
  for (uint32_t i = 0; i < count_; ++i) {
    Range &range = ranges_[(index + i) % count_];
    // Looking before adding keeps the counter from overflowing, and an empty
    // range's cache line shared.
    while (range.next.load(std::memory_order_relaxed) < range.end) {
      uint64_t begin = range.next.fetch_add(piece_, std::memory_order_relaxed);
      if (begin >= range.end)
        break;
      uint64_t end = begin + piece_ < range.end ? begin + piece_ : range.end;
      BEFORE_TILES();
      runTiles(kernel_, operands_, tiles_, begin, end, mine);
      taken(begin, end);
    }
    taken(0, 0);
  }
}

void Workers::takePieces(uint32_t index) {
  takePieces(index, [](uint64_t, uint64_t) {});
}

/// One record for all that the thread takes of a range. `last`, where the time
/// when it began is set, becomes the last one, which is not written yet.
void Workers::takeRecorded(uint32_t index, Record &last) {
  Record next = {};
  next.kind = RecordKind::Tiles;
  next.index = operation_;
  next.thread = static_cast<uint8_t>(threadOf(index));
  next.start = last.start;
  uint64_t first = 0, tiles = 0;
  takePieces(index, [&](uint64_t begin, uint64_t end) {
    if (tiles == 0)
      first = begin;
    tiles += end - begin;
    if (begin != end || tiles == 0)
      return;
    if (last.count)
      recorder_->write(last);
    uint64_t time = recorder_->ticks();
    next.ticks = time - next.start;
    next.first = partOf(first - firstTile_);
    next.count = partOf(tiles);
    last = next;
    next.start = time;
    tiles = 0;
  });
}

/// Bounded by one piece of each worker that has joined, which depends on
/// nobody: nobody joins any more, and no kernel waits.
void Workers::waitForWorkers() {
  auto nobody = [&] {
    return (state_.load(std::memory_order_acquire) & joinedMask) == 0;
  };
  if (spinUntil(nobody))
    return;
  uint32_t value = state_.fetch_or(leaderSleepsBit) | leaderSleepsBit;
  while (value & joinedMask) {
    futexWait(state_, value, anyone);
    value = state_.load(std::memory_order_acquire);
  }
  // It may have woken up where the last worker runs.
  cpus_.note(0);
}

void Workers::publish(const Step &step) {
  assert((state_.load() & (openBit | joinedMask)) == 0 &&
         "one operation at a time");
  kernel_ = step.kernel;
  operands_ = step.operands;
  tiles_ = step.tiles;
  uint64_t tiles = step.end - step.begin;
  for (uint32_t i = 0; i < count_; ++i) {
    ranges_[i].next.store(step.begin + tiles * i / count_,
                          std::memory_order_relaxed);
    ranges_[i].end = step.begin + tiles * (i + 1) / count_;
  }
  piece_ = std::max(tiles / (count_ * piecesPerRange), uint64_t(1));

  uint32_t number = (state_.load(std::memory_order_relaxed) >> numberShift) + 1;
  state_.store(number << numberShift | openBit, std::memory_order_release);
  events_->happen(Events::Operation);
}

void Workers::close() {
  state_.fetch_and(~openBit, std::memory_order_acq_rel);
  waitForWorkers();
}

void Workers::run(const Step &step) {
  assert(step.begin <= step.end);
  if (isShared(step)) {
    publish(step);
    takePieces(0);
    close();
  } else if (step.begin != step.end) {
    runTiles(step.kernel, step.operands, step.tiles, step.begin, step.end,
             scratch_);
  }
}

Executor::Result Workers::submit(const Step &step, artifact::Fault &) {
  if (isShared(step))
    publish(step);
  return Result::Done;
}

Executor::Result Workers::wait(const Step &step, artifact::Fault &) {
  if (!isShared(step)) {
    run(step);
    return Result::Done;
  }
  takePieces(0);
  close();
  return Result::Done;
}

uint64_t Workers::runRecorded(const Step &step, uint64_t start) {
  if (!isShared(step)) {
    run(step);
    return recorder_->ticks();
  }
  // Nobody looks at these before the operation is published.
  isRecorded_ = true;
  operation_ = step.operation;
  firstTile_ = step.begin;
  numTiles_ = step.end - step.begin;
  publish(step);
  Record last = {}, join = {};
  last.start = start;
  takeRecorded(0, last);
  join.kind = RecordKind::Join;
  join.index = step.operation;
  join.start = last.start + last.ticks;
  close();
  isRecorded_ = false;
  // Nobody waits for these records.
  uint64_t time = recorder_->ticks();
  join.ticks = time - join.start;
  if (last.count)
    recorder_->write(last);
  recorder_->write(join);
  return time;
}

} // namespace nnv12::runtime
