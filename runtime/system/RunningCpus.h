//===- RunningCpus.h - Threads that leave each other's CPUs -----*- C++ -*-===//
//
// A system often wakes a thread on the CPU of the thread that woke it, though
// others idle, and may leave both there for seconds. Linux does so in many
// virtual machines, which do not tell it that CPUs share a cache. Then one of
// two threads that share an operation waits while the other one spins, and a
// run takes longer than on one thread. So the threads of a session note their
// CPUs, and a thread that wakes up on another one's CPU leaves it.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_SYSTEM_RUNNINGCPUS_H
#define NNV12_RUNTIME_SYSTEM_RUNNINGCPUS_H

#include "runtime/system/Cpus.h"

#include <atomic>

namespace nnv12::runtime {

/// The CPUs of a thread.
struct ThreadCpus {
  CpuMask allowed; ///< by the system and the application
  CpuMask chosen;  ///< of these, by leaveShared(); unknown: all
};

/// The CPU on which each thread of a group was seen last. Any of them may call
/// at any time.
class RunningCpus {
public:
  static constexpr uint32_t most = 64;

  RunningCpus();

  /// The calling thread has this number.
  void note(uint32_t thread);
  /// Has the calling thread leave a CPU on which one of a lower number runs.
  /// False where it may use no other: then it should not spin.
  bool leaveShared(uint32_t thread, ThreadCpus &own);

private:
  bool isTaken(int cpu, uint32_t end) const;

  std::atomic<int16_t> cpus_[most]; ///< or -1
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_SYSTEM_RUNNINGCPUS_H
