//===- DeviceClock.cpp - A device's time stamps in the host's time --------===//
#include "runtime/gpu/DeviceClock.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace nnv12::runtime {

DeviceClock::DeviceClock(unsigned bits) : mask(~uint64_t(0) >> (64 - bits)) {
  assert(bits >= 1 && bits <= 64 && "see Vulkan's timestampValidBits");
}

/// Ticks since the origin, or before it.
double DeviceClock::relative(uint64_t device) const {
  uint64_t ahead = (device - deviceOrigin) & mask;
  return ahead <= mask / 2 ? double(ahead)
                           : -double((deviceOrigin - device) & mask);
}

void DeviceClock::begin(uint64_t before, uint64_t first) {
  hostOrigin = before;
  deviceOrigin = first;
  count = drawn = 0;
}

bool DeviceClock::agrees(const Bounds &of) const {
  return slope * of.first + offset >= of.before &&
         slope * of.last + offset <= of.after;
}

void DeviceClock::observe(uint64_t before, uint64_t first, uint64_t last,
                          uint64_t after) {
  if (count == 0)
    begin(before, first);
  double from = relative(first), to = relative(last);
  // The numbers in the ring stay small, so that a double has all their digits.
  if (from > double(uint64_t(1) << 40)) {
    uint64_t hostStep = before - hostOrigin;
    for (unsigned i = 0; i < std::min(count, mostBounds); ++i) {
      bounds[i].first -= from, bounds[i].last -= from;
      bounds[i].before -= double(hostStep), bounds[i].after -= double(hostStep);
    }
    offset += slope * from - double(hostStep);
    hostOrigin = before;
    deviceOrigin = first;
    to -= from, from = 0;
  }
  Bounds &newest = bounds[count++ % mostBounds];
  newest = {from, double(int64_t(before - hostOrigin)), to,
            double(int64_t(after - hostOrigin))};
  if (count > period && count - drawn < period && agrees(newest))
    return;
  draw();
  if (count > 1 && distance < 0) {
    begin(before, first);
    observe(before, first, last, after);
  }
}

/// The margin of the best line of that slope.
double DeviceClock::marginOf(double of, double &best) const {
  double least = -std::numeric_limits<double>::infinity(), most = -least;
  for (unsigned i = 0; i < std::min(count, mostBounds); ++i) {
    least = std::max(least, bounds[i].before - of * bounds[i].first);
    most = std::min(most, bounds[i].after - of * bounds[i].last);
  }
  best = (least + most) / 2;
  return (most - least) / 2;
}

void DeviceClock::draw() {
  drawn = count;
  unsigned oldest = count > mostBounds ? count % mostBounds : 0;
  const Bounds &a = bounds[oldest], &b = bounds[(count - 1) % mostBounds];
  // No line between these bounds is steeper, or flatter.
  double steepest =
             b.last > a.first ? (b.after - a.before) / (b.last - a.first) : 0,
         flattest =
             b.first > a.last ? (b.before - a.after) / (b.first - a.last) : 0;
  if (count == 1 || flattest <= 0) {
    // They are too near one another to tell a slope: as much time passed on
    // both clocks between them.
    slope = steepest;
    distance = marginOf(slope, offset);
    if (count == 1)
      offset = a.before - slope * a.first;
    return;
  }
  // The margin is concave in the slope: the least of planes.
  for (unsigned i = 0; i < 48; ++i) {
    double third = (steepest - flattest) / 3, unused;
    if (marginOf(flattest + third, unused) < marginOf(steepest - third, unused))
      flattest += third;
    else
      steepest -= third;
  }
  slope = (flattest + steepest) / 2;
  distance = marginOf(slope, offset);
}

uint64_t DeviceClock::hostTicks(uint64_t device) const {
  return hostOrigin + uint64_t(int64_t(slope * relative(device) + offset));
}

} // namespace nnv12::runtime
