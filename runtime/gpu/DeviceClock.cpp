//===- DeviceClock.cpp - A device's time stamps in the host's time --------===//
#include "runtime/gpu/DeviceClock.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace nnv12::runtime {

DeviceClock::DeviceClock(unsigned bits) : mask_(~uint64_t(0) >> (64 - bits)) {
  assert(bits >= 1 && bits <= 64 && "see Vulkan's timestampValidBits");
}

/// Ticks since the origin, or before it.
double DeviceClock::relative(uint64_t device) const {
  uint64_t ahead = (device - deviceOrigin_) & mask_;
  return ahead <= mask_ / 2 ? double(ahead)
                            : -double((deviceOrigin_ - device) & mask_);
}

void DeviceClock::begin(uint64_t before, uint64_t first) {
  hostOrigin_ = before;
  deviceOrigin_ = first;
  count_ = drawn_ = 0;
}

bool DeviceClock::agrees(const Bounds &bounds) const {
  return slope_ * bounds.first + offset_ >= bounds.before &&
         slope_ * bounds.last + offset_ <= bounds.after;
}

void DeviceClock::observe(uint64_t before, uint64_t first, uint64_t last,
                          uint64_t after) {
  if (count_ == 0)
    begin(before, first);
  double from = relative(first), to = relative(last);
  // The numbers in the ring stay small, so that a double has all their digits.
  if (from > double(uint64_t(1) << 40)) {
    uint64_t hostStep = before - hostOrigin_;
    for (unsigned i = 0; i < std::min(count_, mostBounds); ++i) {
      bounds_[i].first -= from, bounds_[i].last -= from;
      bounds_[i].before -= double(hostStep),
          bounds_[i].after -= double(hostStep);
    }
    offset_ += slope_ * from - double(hostStep);
    hostOrigin_ = before;
    deviceOrigin_ = first;
    to -= from, from = 0;
  }
  Bounds &newest = bounds_[count_++ % mostBounds];
  newest = {from, double(int64_t(before - hostOrigin_)), to,
            double(int64_t(after - hostOrigin_))};
  if (count_ > period && count_ - drawn_ < period && agrees(newest))
    return;
  draw();
  if (count_ > 1 && distance_ < 0) {
    begin(before, first);
    observe(before, first, last, after);
  }
}

/// The margin of the best line of that slope.
double DeviceClock::marginOf(double slope, double &offset) const {
  double least = -std::numeric_limits<double>::infinity(), most = -least;
  for (unsigned i = 0; i < std::min(count_, mostBounds); ++i) {
    least = std::max(least, bounds_[i].before - slope * bounds_[i].first);
    most = std::min(most, bounds_[i].after - slope * bounds_[i].last);
  }
  offset = (least + most) / 2;
  return (most - least) / 2;
}

void DeviceClock::draw() {
  drawn_ = count_;
  unsigned oldest = count_ > mostBounds ? count_ % mostBounds : 0;
  const Bounds &a = bounds_[oldest], &b = bounds_[(count_ - 1) % mostBounds];
  // No line between these bounds is steeper, or flatter.
  double steepest =
             b.last > a.first ? (b.after - a.before) / (b.last - a.first) : 0,
         flattest =
             b.first > a.last ? (b.before - a.after) / (b.first - a.last) : 0;
  if (count_ == 1 || flattest <= 0) {
    // They are too near one another to tell a slope: as much time passed on
    // both clocks between them.
    slope_ = steepest;
    distance_ = marginOf(slope_, offset_);
    if (count_ == 1)
      offset_ = a.before - slope_ * a.first;
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
  slope_ = (flattest + steepest) / 2;
  distance_ = marginOf(slope_, offset_);
}

uint64_t DeviceClock::hostTicks(uint64_t device) const {
  return hostOrigin_ + uint64_t(int64_t(slope_ * relative(device) + offset_));
}

} // namespace nnv12::runtime
