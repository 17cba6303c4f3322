//===- Workers.cpp - Threads that share the tiles of an operation ---------===//
#include "runtime/Workers.h"

#include "runtime/FloatMode.h"

#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nnv12::runtime {

static constexpr uint32_t joinedMask = 0xff;
static constexpr uint32_t openBit = 1u << 8;
static constexpr uint32_t leaderSleepsBit = 1u << 9;
static constexpr uint32_t numberShift = 10;

/// How long to spin before sleeping. A wake-up costs some 5 to 50 us; layers
/// that one thread computes alone are mostly shorter than this.
static constexpr uint64_t spinNanoseconds = 40000;

/// A thread's range goes in so many pieces, of which others may take the rest.
static constexpr uint64_t piecesPerRange = 8;

/// A kernel may use 256 KiB; the rest is for signal frames and sanitizers.
static constexpr size_t stackSize = 1u << 20;

// Both kinds of sleeper wait on `state`; the bit says who is meant.
static constexpr uint32_t wakeWorkers = 1, wakeLeader = 2;

static void futexWait(std::atomic<uint32_t> &word, uint32_t value,
                      uint32_t who) {
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, nullptr, nullptr,
          who);
}

static void futexWake(std::atomic<uint32_t> &word, uint32_t who) {
  syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr,
          nullptr, who);
}

static inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  __asm__ volatile("isb" ::: "memory");
#endif
}

static uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

/// Spins until `done()` or until the time is over; returns what done() said.
template <typename Done> static bool spinUntil(Done done) {
  uint64_t deadline = 0;
  for (;;) {
    for (int i = 0; i < 32; ++i) {
      if (done())
        return true;
      pause();
    }
    uint64_t time = now();
    if (deadline == 0)
      deadline = time + spinNanoseconds;
    else if (time >= deadline)
      return false;
  }
}

uint32_t availableCpus() {
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return n < 1 ? 1 : static_cast<uint32_t>(n);
}

/// The `n`-th CPU that this process may use, or -1.
static int nthCpu(uint32_t n) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return -1;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set) && n-- == 0)
      return cpu;
  return -1;
}

bool Workers::start(uint32_t threads, bool pin, uint8_t *scratchMemory,
                    size_t stride, artifact::Fault &fault) {
  count = threads;
  scratch = scratchMemory;
  scratchStride = stride;
  if (!workers.allocate(count - 1))
    return fault.set(artifact::Fault::OutOfMemory, "no memory for threads");

  // The application's signals are none of our threads' business.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stackSize);
  int error = 0;
  for (uint32_t i = 1; i < count && error == 0; ++i) {
    Worker &worker = workers[i - 1];
    worker.all = this;
    worker.index = i;
    worker.cpu = pin ? nthCpu(i) : -1;
    error = pthread_create(&worker.thread, &attributes, threadMain, &worker);
    started += error == 0;
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
  if (worker->cpu >= 0) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(worker->cpu, &set);
    // A hint: where it is refused, the thread runs anywhere.
    sched_setaffinity(0, sizeof set, &set);
  }
  worker->all->work(worker->index);
  return nullptr;
}

void Workers::work(uint32_t index) {
  FloatMode mode;
  uint32_t seen = 0;
  while (join(seen)) {
    takePieces(index);
    leave();
  }
}

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
  if ((before & joinedMask) == 1 && (before & leaderSleepsBit))
    futexWake(state, wakeLeader);
}

// Clang's check of function pointers reads what stands before the function,
// which generated code does not have.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
void Workers::takePieces(uint32_t index) {
  void *mine = scratch + index * scratchStride;
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
void Workers::run(artifact::KernelFn fn, void *const *addresses,
                  uint64_t tiles) {
  if (count == 1 || tiles <= 1) {
    if (tiles)
      fn(addresses, 0, static_cast<int64_t>(tiles), scratch);
    return;
  }
  kernel = fn;
  operands = addresses;
  for (uint32_t i = 0; i < count; ++i) {
    ranges[i].next.store(tiles * i / count, std::memory_order_relaxed);
    ranges[i].end = tiles * (i + 1) / count;
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
