//===- RunningCpus.cpp - Threads that leave each other's CPUs -------------===//
#include "runtime/system/RunningCpus.h"

#include <initializer_list>

namespace nnv12::runtime {

RunningCpus::RunningCpus() {
  for (std::atomic<int16_t> &cpu : cpus_)
    cpu.store(-1, std::memory_order_relaxed);
}

void RunningCpus::note(uint32_t thread) {
  auto cpu = static_cast<int16_t>(sched_getcpu());
  // Mostly it is the same one, and other threads keep the cache line.
  if (cpus_[thread].load(std::memory_order_relaxed) != cpu)
    cpus_[thread].store(cpu, std::memory_order_relaxed);
}

/// Whether one of the threads before `end` runs on the CPU.
bool RunningCpus::isTaken(int cpu, uint32_t end) const {
  for (uint32_t i = 0; i < end; ++i)
    if (cpus_[i].load(std::memory_order_relaxed) == cpu)
      return true;
  return false;
}

bool RunningCpus::leaveShared(uint32_t thread, ThreadCpus &own) {
  note(thread);
  int cpu = cpus_[thread].load(std::memory_order_relaxed);
  // Only one of two leaves.
  if (cpu < 0 || !isTaken(cpu, thread))
    return true;
  CpuMask now;
  now.get();
  // Another choice than its own is somebody else's.
  if (!own.chosen.isKnown() || !CPU_EQUAL(&now.cpus(), &own.chosen.cpus()))
    own.allowed = now;
  // At best nobody's. A CPU that was noted long ago may be free now.
  for (uint32_t end : {most, thread}) {
    CpuMask free;
    for (int other = 0; other < CPU_SETSIZE; ++other)
      if (CPU_ISSET(other, &own.allowed.cpus()) && !isTaken(other, end))
        free.add(other);
    if (!free.isKnown())
      continue;
    free.apply();
    own.chosen = free;
    note(thread);
    return true;
  }
  return false;
}

} // namespace nnv12::runtime
