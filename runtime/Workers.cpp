//===- Workers.cpp - Threads that share the tiles of an operation ---------===//
#include "runtime/Workers.h"

#include "runtime/Cpus.h"
#include "runtime/FloatMode.h"

#include <cassert>
#include <cstring>

namespace nnv12::runtime {

static constexpr uint32_t joinedMask = 0xff;
static constexpr uint32_t openBit = 1u << 8;
static constexpr uint32_t leaderSleepsBit = 1u << 9;
static constexpr uint32_t numberShift = 10;

/// A thread's range goes in so many pieces, of which others may take the rest.
static constexpr uint64_t piecesPerRange = 8;

// Both kinds of sleeper wait on `state`; the bit says who is meant.
static constexpr uint32_t wakeWorkers = 1, wakeLeader = 2;

bool Workers::start(uint32_t threads, bool pin, uint8_t *scratchMemory,
                    size_t stride, uint32_t numOthers, FirstTouch &touched,
                    artifact::Fault &fault) {
  assert(threads >= 1 && threads <= maxThreads);
  count = threads;
  others = numOthers;
  firstTouch = &touched;
  scratch = scratchMemory;
  scratchStride = stride;
  if (!workers.allocate(count - 1))
    return fault.set(artifact::Fault::OutOfMemory, "no memory for threads");

  Cpus cpus;
  if (pin)
    cpus.find();
  ThreadStarter starter;
  allowed = starter.callersCpus();
  int error = 0;
  for (uint32_t i = 1; i < count && error == 0; ++i) {
    Worker &worker = workers[i - 1];
    worker.all = this;
    worker.index = i;
    worker.cpu = cpus.at(Cpus::Fast, i);
    error = starter.start(worker.thread, threadMain, &worker);
    started += error == 0;
  }
  if (error)
    return fault.set(artifact::Fault::OutOfMemory,
                     "threads: found %u, expected %u: %s", started + 1, count,
                     strerror(error));
  return true;
}

Workers::~Workers() {
  stop.store(true);
  // A new number, so that who is about to sleep on the old state does not.
  state.fetch_add(1u << numberShift);
  futexWake(state, wakeWorkers);
  for (uint32_t i = 0; i < started; ++i)
    pthread_join(workers[i].thread, nullptr);
}

void *Workers::threadMain(void *argument) {
  auto *worker = static_cast<Worker *>(argument);
  worker->all->allowed.apply();
  pinTo(worker->cpu);
  worker->all->work(worker->index);
  return nullptr;
}

/// There was no operation yet.
bool Workers::isIdle() const {
  return state.load(std::memory_order_relaxed) == 0;
}

void Workers::work(uint32_t index) {
  FloatMode mode;
  while (isIdle() && firstTouch->touchNext())
    continue;
  uint32_t seen = 0;
  while (join(seen)) {
    takePieces(index);
    leave();
  }
}

/// Sleeps for as long as there is no operation. Nobody waits for a worker that
/// has not joined, but ~Workers, which ends the sleep.
bool Workers::join(uint32_t &seen) {
  auto isNew = [&](uint32_t value) {
    return (value & openBit) && value >> numberShift != seen;
  };
  for (;;) {
    uint32_t value = 0;
    bool found = spinUntil([&] {
      value = state.load(std::memory_order_acquire);
      return isNew(value) || stop.load(std::memory_order_relaxed);
    });
    if (!found) {
      // Announce first, look again, then sleep: the leader publishes first and
      // looks for sleepers then, so one of both sees the other.
      sleepers.fetch_add(1);
      value = state.load();
      if (!isNew(value) && !stop.load())
        futexWait(state, value, wakeWorkers);
      sleepers.fetch_sub(1);
      value = state.load();
    }
    if (stop.load())
      return false;
    while (isNew(value)) {
      if (!state.compare_exchange_weak(value, value + 1,
                                       std::memory_order_acq_rel,
                                       std::memory_order_acquire))
        continue;
      seen = value >> numberShift;
      return true;
    }
  }
}

void Workers::leave() {
  uint32_t before = state.fetch_sub(1, std::memory_order_acq_rel);
  assert((before & joinedMask) != 0 && "who leaves has joined");
  if ((before & joinedMask) == 1 && (before & leaderSleepsBit))
    futexWake(state, wakeLeader);
}

// Clang's check of function pointers reads what stands before the function,
// which generated code does not have.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
void Workers::takePieces(uint32_t index) {
  void *mine = scratch + (index ? index + others : 0) * scratchStride;
  for (uint32_t i = 0; i < count; ++i) {
    Range &range = ranges[(index + i) % count];
    // Looking before adding keeps the counter from overflowing, and an empty
    // range's cache line shared.
    while (range.next.load(std::memory_order_relaxed) < range.end) {
      uint64_t begin = range.next.fetch_add(piece, std::memory_order_relaxed);
      if (begin >= range.end)
        break;
      uint64_t end = begin + piece < range.end ? begin + piece : range.end;
      kernel(operands, static_cast<int64_t>(begin), static_cast<int64_t>(end),
             mine);
    }
  }
}

/// Bounded by one piece of each worker that has joined, which depends on
/// nobody: nobody joins any more, and no kernel waits.
void Workers::waitForWorkers() {
  auto nobody = [&] {
    return (state.load(std::memory_order_acquire) & joinedMask) == 0;
  };
  if (spinUntil(nobody))
    return;
  uint32_t value = state.fetch_or(leaderSleepsBit) | leaderSleepsBit;
  while (value & joinedMask) {
    futexWait(state, value, wakeLeader);
    value = state.load(std::memory_order_acquire);
  }
}

#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
void Workers::run(artifact::KernelFn fn, void *const *addresses, uint64_t first,
                  uint64_t end) {
  assert(first <= end);
  uint64_t tiles = end - first;
  if (count == 1 || tiles <= 1) {
    if (tiles)
      fn(addresses, static_cast<int64_t>(first), static_cast<int64_t>(end),
         scratch);
    return;
  }
  assert((state.load() & (openBit | joinedMask)) == 0 &&
         "one operation at a time");
  kernel = fn;
  operands = addresses;
  for (uint32_t i = 0; i < count; ++i) {
    ranges[i].next.store(first + tiles * i / count, std::memory_order_relaxed);
    ranges[i].end = first + tiles * (i + 1) / count;
  }
  piece = tiles / (count * piecesPerRange);
  if (piece == 0)
    piece = 1;

  uint32_t number = (state.load(std::memory_order_relaxed) >> numberShift) + 1;
  state.store(number << numberShift | openBit);
  if (sleepers.load())
    futexWake(state, wakeWorkers);
  takePieces(0);
  state.fetch_and(~openBit, std::memory_order_acq_rel);
  waitForWorkers();
}

} // namespace nnv12::runtime
