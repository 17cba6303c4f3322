//===- Workers.h - Threads that share the tiles of a step -------*- C++ -*-===//
//
// One thread, the caller, leads. For each operation it publishes the grid,
// works on its own part, takes what others have not begun, and waits only for
// threads that are in the middle of a piece: a worker that the system has not
// scheduled in time costs nothing. Workers spin briefly between operations and
// then sleep in a futex.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_WORKERS_H
#define NNV12_RUNTIME_WORKERS_H

#include "artifact/Bundle.h"
#include "artifact/Fault.h"
#include "runtime/FirstTouch.h"
#include "runtime/Memory.h"
#include "runtime/Threads.h"

namespace nnv12::runtime {

constexpr uint32_t maxThreads = 64;

class Workers {
public:
  Workers() = default;
  Workers(const Workers &) = delete;
  Workers &operator=(const Workers &) = delete;
  /// Ends and joins the threads.
  ~Workers();

  /// Starts `threads` - 1 threads. `scratch` is where the threads' private
  /// memory begins, `scratchStride` bytes for each: the leader's, those of
  /// `others` threads that are not ours, and then the workers'. Until the first
  /// operation they serve `firstTouch`.
  bool start(uint32_t threads, bool pin, uint8_t *scratch, size_t scratchStride,
             uint32_t others, FirstTouch &firstTouch, artifact::Fault &fault);

  uint32_t threads() const { return count; }

  /// Runs `kernel` on tiles [first, end). For the leader alone.
  void run(artifact::KernelFn kernel, void *const *operands, uint64_t first,
           uint64_t end);

private:
  /// A contiguous part of the grid. Its owner and thieves take pieces from its
  /// front alike.
  struct alignas(64) Range {
    std::atomic<uint64_t> next;
    uint64_t end;
  };

  struct Worker {
    Workers *all;
    uint32_t index;
    int cpu; ///< to pin to, or -1
    pthread_t thread;
  };

  static void *threadMain(void *worker);
  void work(uint32_t index);
  bool isIdle() const;
  /// Blocks until there is an operation that `seen` does not name and joins it.
  /// False when the threads shall end.
  bool join(uint32_t &seen);
  void leave();
  void takePieces(uint32_t index);
  void waitForWorkers();

  uint32_t count = 1;
  uint32_t started = 0;
  uint8_t *scratch = nullptr;
  size_t scratchStride = 0;
  uint32_t others = 0;
  FirstTouch *firstTouch = nullptr;
  CpuMask allowed; ///< to whom started the threads
  Array<Worker> workers;

  // The current operation. Written by the leader while no worker has joined.
  artifact::KernelFn kernel = nullptr;
  void *const *operands = nullptr;
  uint64_t piece = 1;
  Range ranges[maxThreads];

  /// Bits 0..7: workers that have joined. Bit 8: open for joining. Bit 9: the
  /// leader sleeps. Bits 10..31: number of the operation, modulo 2^22.
  alignas(64) std::atomic<uint32_t> state{0};
  alignas(64) std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stop{false};
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_WORKERS_H
