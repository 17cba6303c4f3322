//===- Cpus.h - Which CPUs there are ----------------------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_SYSTEM_CPUS_H
#define NNV12_RUNTIME_SYSTEM_CPUS_H

#include <cstdint>
#include <sched.h>

namespace nnv12::runtime {

/// How many CPUs this process may use: those that the calling thread may run
/// on, but no more than its control groups give it the time of.
uint32_t availableCpus();

/// The time that control groups give this process, in CPUs, rounded up: the
/// least of its own groups and those around them, of version 2 (cpu.max) and of
/// version 1 (cpu.cfs_quota_us). ~0 where nothing is said. `root` is a folder
/// that stands for that of the system's files: for tests.
uint32_t grantedCpus(const char *root = "");

/// Reads the system's facts for availableCpus() and Cpus::find(). It takes a
/// tenth of a millisecond, so callers do it while they wait for the storage.
void askForCpus();

/// CPUs that a thread may use; of unknown ones nothing is asked for.
class CpuMask {
public:
  /// Gets the CPUs of the calling thread.
  void get() { known_ = sched_getaffinity(0, sizeof set_, &set_) == 0; }
  void add(int cpu);
  /// The calling thread may use these, and no others. A hint: where it is
  /// refused, the thread runs anywhere.
  void apply() const {
    if (known_)
      sched_setaffinity(0, sizeof set_, &set_);
  }
  bool isKnown() const { return known_; }
  const cpu_set_t &cpus() const { return set_; }

private:
  cpu_set_t set_ = {};
  bool known_ = false;
};

/// CPUs that this process may use, by speed where they differ. None before
/// find(), which reads files of the system where askForCpus() has not.
class Cpus {
public:
  /// The kind of CPU that is wanted.
  enum Kind { Any, Fast, Slow };

  void find();
  /// The `n`-th CPU of the kind, round and round, or -1. Any: in the order of
  /// their numbers. Fast: of the fastest and those of at least 60 % of
  /// their speed (as nnv12-tune has it). Slow: of the others. Where all are
  /// alike, of all.
  int at(Kind kind, uint32_t n) const;
  /// CPUs of the kind on which the caller did not run when find() was called,
  /// in `parts` equal parts: this one. Unknown where they are fewer.
  CpuMask part(Kind kind, uint32_t index, uint32_t parts) const;
  /// Whether there are fast and slow ones.
  bool differ() const { return numFast_ != count_; }
  /// All of them.
  const CpuMask &allowed() const { return mask_; }

private:
  static constexpr uint32_t mostCpus = 256;
  bool matches(Kind kind, uint32_t i) const;

  CpuMask mask_;
  uint32_t count_ = 0;
  uint32_t numFast_ = 0;
  int caller_ = -1;
  int16_t all_[mostCpus];
  bool isFast_[mostCpus];
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_SYSTEM_CPUS_H
