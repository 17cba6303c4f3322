//===- Clock.h - Time in milliseconds ---------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_CLOCK_H
#define NNV12_TOOLS_COMMON_CLOCK_H

#include <ctime>

namespace nnv12::tools {

inline double milliseconds() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) * 1e3 + double(time.tv_nsec) * 1e-6;
}

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_CLOCK_H
