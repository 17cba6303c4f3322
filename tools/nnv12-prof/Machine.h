//===- Machine.h - The best rates of this machine ---------------*- C++ -*-===//
//
// Roofs that measured times are compared with. About a third of a second.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12_PROF_MACHINE_H
#define NNV12_TOOLS_NNV12_PROF_MACHINE_H

#include <string>
#include <vector>

namespace nnv12::prof {

/// By all threads that compute, together. 0: not known.
struct Machine {
  /// Multiplications with additions of floats, a nanosecond.
  double multiplyAdds = 0;

  /// Memory that is read again and again.
  struct Memory {
    double bytes; ///< so much in all
    double rate;  ///< bytes a nanosecond
  };
  /// By size, from sizes that fit caches to sizes that do not.
  std::vector<Memory> memory;

  double faultNs = 0; ///< the first use of a page
  /// How fast the CPUs are that the process may use, beside the machine's
  /// fastest ones: 1 where all are alike.
  double speed = 1;

  /// Bytes a nanosecond of something that has so many.
  double memoryRate(double bytes) const;
};

/// Measures the rates of `threads` threads with the instructions of a target
/// such as "x86-64-v3", now, beside all other programs that run.
Machine measureMachine(const std::string &target, unsigned threads);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_MACHINE_H
