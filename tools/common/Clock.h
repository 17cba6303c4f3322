//===- Clock.h - Time of the system's clocks --------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_CLOCK_H
#define NNV12_TOOLS_COMMON_CLOCK_H

#include <cerrno>
#include <cstdint>
#include <ctime>

namespace nnv12::tools {

inline uint64_t nanoseconds(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time;
  clock_gettime(clock, &time);
  return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

inline void sleepUntil(uint64_t nanoseconds) {
  timespec time = {time_t(nanoseconds / 1000000000),
                   long(nanoseconds % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) ==
         EINTR)
    ;
}

inline double milliseconds(clockid_t clock = CLOCK_MONOTONIC) {
  return double(nanoseconds(clock)) * 1e-6;
}

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_CLOCK_H
