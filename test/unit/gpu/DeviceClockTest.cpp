//===- DeviceClockTest.cpp - A device's time stamps in the host's time ----===//
#include "runtime/gpu/DeviceClock.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using nnv12::runtime::DeviceClock;

namespace {

/// A device, its queue and a host whose clocks count differently: the device's
/// ticks are 32 ns, the host's 0.4.
struct Machine {
  double hostPerNs = 2.5, devicePerNs = 1 / 32.0;
  double drift = 3e-6; ///< of the device's clock
  uint64_t hostStart = uint64_t(1) << 52, deviceStart = 12345678;
  uint64_t mask = ~uint64_t(0);
  double now = 0; ///< nanoseconds
  std::mt19937_64 random{7};

  uint64_t host(double ns) const {
    return hostStart + uint64_t(ns * hostPerNs);
  }
  uint64_t device(double ns) const {
    return (deviceStart + uint64_t(ns * devicePerNs * (1 + drift))) & mask;
  }
  double latency(double least, double mean) {
    return least + std::exponential_distribution<double>(1 / mean)(random);
  }

  /// A submission of that length, `gap` after the last one. Returns when it
  /// started and ended on the device.
  std::pair<double, double> submit(DeviceClock &clock, double length,
                                   double gap) {
    double handed = now + gap, start = handed + latency(3000, 4000),
           end = start + length, seen = end + latency(2500, 5000);
    // Now and then the host is away.
    if (random() % 20 == 0)
      seen += 1e6;
    clock.observe(host(handed), device(start), device(end), host(seen));
    now = seen;
    return {start, end};
  }
  double errorNs(const DeviceClock &clock, double ns) const {
    return double(int64_t(clock.hostTicks(device(ns)) - host(ns))) / hostPerNs;
  }
};

double percentile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[size_t(part * double(values.size() - 1))];
}

} // namespace

TEST(DeviceClock, IsKnownFromTheFirstSubmission) {
  Machine machine;
  DeviceClock clock;
  EXPECT_FALSE(clock.isKnown());
  auto [start, end] = machine.submit(clock, 2e6, 1000);
  ASSERT_TRUE(clock.isKnown());
  // Both times lie within the hand-over and its end.
  EXPECT_LT(std::fabs(machine.errorNs(clock, start)), 60e3);
  EXPECT_LT(std::fabs(machine.errorNs(clock, end)), 1.1e6);
}

TEST(DeviceClock, IsRightToTwoMicroseconds) {
  Machine machine;
  DeviceClock clock;
  std::vector<double> errors;
  for (unsigned i = 0; i < 4000; ++i) {
    double length = 2e5 + double(machine.random() % 3000000);
    auto [start, end] = machine.submit(clock, length, 2e6);
    if (i < 64)
      continue;
    for (unsigned k = 0; k <= 4; ++k)
      errors.push_back(
          std::fabs(machine.errorNs(clock, start + (end - start) * k / 4)));
    EXPECT_GE(clock.margin(), 0) << i;
  }
  EXPECT_LT(percentile(errors, 0.5), 1000);
  EXPECT_LT(percentile(errors, 0.95), 2000);
}

TEST(DeviceClock, TakesWhatTheDriverTells) {
  Machine machine;
  DeviceClock clock;
  std::vector<double> errors;
  for (unsigned i = 0; i < 200; ++i) {
    // A moment between the call and its return.
    if (i % 8 == 0) {
      double call = machine.now + 1e5, moment = call + 400,
             back = moment + 400 + machine.latency(0, 100);
      uint64_t stamp = machine.device(moment);
      clock.observe(machine.host(call), stamp, stamp, machine.host(back));
      machine.now = back;
    }
    auto [start, end] = machine.submit(clock, 1e6, 1e5);
    if (i >= 16)
      errors.push_back(std::fabs(machine.errorNs(clock, end)));
  }
  EXPECT_LT(percentile(errors, 0.95), 500);
}

/// The line is one that no bound of the last ones forbids.
TEST(DeviceClock, KeepsWithinAllBounds) {
  Machine machine;
  DeviceClock clock;
  struct Seen {
    uint64_t before, first, last, after;
  };
  std::vector<Seen> all;
  for (unsigned i = 0; i < 300; ++i) {
    double handed = machine.now + 1e4,
           start = handed + machine.latency(100, 8000), end = start + 3e5,
           seen = end + machine.latency(100, 8000);
    all.push_back({machine.host(handed), machine.device(start),
                   machine.device(end), machine.host(seen)});
    clock.observe(all[i].before, all[i].first, all[i].last, all[i].after);
    machine.now = seen;
    if (i < 8)
      continue;
    for (size_t k = all.size() - std::min<size_t>(all.size(), 56);
         k < all.size(); ++k) {
      ASSERT_GE(clock.hostTicks(all[k].first) + 2, all[k].before) << i;
      ASSERT_LE(clock.hostTicks(all[k].last), all[k].after + 2) << i;
    }
  }
}

TEST(DeviceClock, GoesAround) {
  for (unsigned bits : {32u, 36u, 64u}) {
    Machine machine;
    machine.mask = ~uint64_t(0) >> (64 - bits);
    machine.deviceStart = machine.mask - 5000;
    DeviceClock clock(bits);
    for (unsigned i = 0; i < 300; ++i) {
      auto [start, end] = machine.submit(clock, 1e6, 2e8);
      if (i > 64) {
        ASSERT_LT(std::fabs(machine.errorNs(clock, start)), 20e3) << bits;
        ASSERT_LT(std::fabs(machine.errorNs(clock, end)), 20e3) << bits;
      }
    }
  }
}

TEST(DeviceClock, BeginsAnewWhereTheDeviceLostCount) {
  Machine machine;
  DeviceClock clock;
  for (unsigned i = 0; i < 100; ++i)
    machine.submit(clock, 1e6, 1e6);
  machine.deviceStart -= 1000000;
  for (unsigned i = 0; i < 100; ++i)
    machine.submit(clock, 1e6, 1e6);
  auto [start, end] = machine.submit(clock, 1e6, 1e6);
  EXPECT_LT(std::fabs(machine.errorNs(clock, start)), 5000);
  EXPECT_LT(std::fabs(machine.errorNs(clock, end)), 5000);
}
