//===- Cores.h - Big and little cores of this machine -----------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_CORES_H
#define NNV12_TOOLS_NNV12_TUNE_CORES_H

#include "artifact/NonCopyable.h"
#include "runtime/system/Cpus.h"

#include <string>
#include <vector>

namespace nnv12::tune {

/// The CPUs that this process may use, by kind, each in ascending order.
struct Cores {
  std::vector<unsigned> big; ///< at least one
  std::vector<unsigned> little;
};

/// Sorts `cpus` by `folder`/cpuN/cpu_capacity (Arm) or, without that,
/// cpuN/cpufreq/cpuinfo_max_freq: a little core has less than six tenths of
/// the largest capacity, or three quarters of the highest frequency (x86 gives
/// each core its own turbo, a few per cent apart). Where a file is missing all
/// are big.
Cores sortCores(const std::vector<unsigned> &cpus,
                const std::string &folder = "/sys/devices/system/cpu");

/// The CPUs that this process may run on.
std::vector<unsigned> usableCpus();

/// The name of the CPU in /proc/cpuinfo: "Intel(R) ..." or "0x41/0xd0b".
std::string coreName(unsigned cpu);

/// Keeps the calling thread, and threads that it starts, on `cpus` while this
/// lives.
class OnCores : artifact::NonCopyable {
public:
  explicit OnCores(const std::vector<unsigned> &cpus);
  ~OnCores();

private:
  runtime::CpuMask before;
};

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_CORES_H
