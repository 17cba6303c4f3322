//===- OtherPrograms.h - What other programs take of the CPUs ---*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_OTHERPROGRAMS_H
#define NNV12_TOOLS_NNV12_PROF_OTHERPROGRAMS_H

#include <string>

namespace nnv12::prof {

/// Of all CPUs of the machine, from its making on.
class OtherPrograms {
public:
  OtherPrograms();

  /// Nanoseconds of CPUs that were neither idle nor this process's; negative:
  /// not known, because the system does not say or too little time has passed
  /// for the hundredths of a second in which it counts.
  double cpuTime() const;

private:
  double busy, own, start;
};

/// Nanoseconds in which the CPUs did something, by what /proc/stat says, of
/// `ticks` a second; negative: it does not say.
double busyTime(const std::string &stat, double ticks);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_OTHERPROGRAMS_H
