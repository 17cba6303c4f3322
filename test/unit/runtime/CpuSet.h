//===- CpuSet.h - CPUs of a mask, to be compared ----------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_RUNTIME_CPUSET_H
#define NNV12_TEST_UNIT_RUNTIME_CPUSET_H

#include "runtime/system/Cpus.h"

#include <set>

namespace nnv12::test {

/// None of an unknown mask.
inline std::set<int> cpusOf(const runtime::CpuMask &mask) {
  std::set<int> result;
  for (int cpu = 0; mask.isKnown() && cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &mask.cpus()))
      result.insert(cpu);
  return result;
}

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_RUNTIME_CPUSET_H
