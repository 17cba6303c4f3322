//===- Cpus.h - Which CPUs there are ----------------------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_CPUS_H
#define NNV12_RUNTIME_CPUS_H

#include <cstdint>

namespace nnv12::runtime {

/// How many CPUs this process may use.
uint32_t availableCpus();

/// CPUs that this process may use, by speed where they differ. None before
/// find(), which reads a file of the system for each.
class Cpus {
public:
  /// Which end of them is wanted.
  enum Kind { Any, Fast, Slow };

  void find();
  /// The `n`-th CPU of the kind, round and round, or -1. Any: in the order of
  /// their numbers. Fast: of the fastest and those of at least 60 % of
  /// their speed (as nnv12-tune has it). Slow: of the others. Where all are
  /// alike, of all.
  int at(Kind kind, uint32_t n) const;

private:
  static constexpr uint32_t mostCpus = 256;
  uint32_t count = 0;
  uint32_t numFast = 0;
  int16_t all[mostCpus];
  bool isFast[mostCpus];
};

/// Keeps the calling thread on `cpu`, unless that is -1. A hint: where it is
/// refused, the thread runs anywhere.
void pinTo(int cpu);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_CPUS_H
