//===- OtherPrograms.h - The CPU time of other programs ---------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_OTHERPROGRAMS_H
#define NNV12_TOOLS_COMMON_OTHERPROGRAMS_H

#include <string>

namespace nnv12::tools {

/// Counts on all CPUs of the machine, from the construction on.
class OtherPrograms {
public:
  OtherPrograms();

  /// Nanoseconds of CPUs that were neither idle nor this process's nor those of
  /// processes that it has waited for; negative: not known, because the system
  /// does not say or too little time has passed for the hundredths of a second
  /// in which it counts.
  double cpuTime() const;
  /// How many CPUs that is on average; negative: not known.
  double cpus() const;

private:
  double passed() const;

  double busy_, own_, start_;
};

/// A line for people that measure while others take so many of `all` CPUs;
/// empty where it makes no difference, or is not known.
std::string busyText(double cpus, unsigned total);

/// Nanoseconds in which the CPUs did something, from the text of /proc/stat, of
/// `ticks` a second; negative: it does not say.
double busyTime(const std::string &stat, double ticks);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_OTHERPROGRAMS_H
