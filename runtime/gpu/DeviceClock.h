//===- DeviceClock.h - A device's time stamps in the host's time *- C++ -*-===//
//
// Commands start after they were handed over, and have ended before the host
// sees that. So each submission bounds two moments of the device's clock: the
// first lies after a moment of the host's clock, the second before one. A
// moment that the driver itself reports has both bounds, the call and its
// return. The line that keeps farthest from all bounds is the clock; nnPerf
// (section 4.2) fits a line to bounds of the first kind alone.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_GPU_DEVICECLOCK_H
#define NNV12_RUNTIME_GPU_DEVICECLOCK_H

#include <cstdint>

namespace nnv12::runtime {

class DeviceClock {
public:
  /// Time stamps of the device count modulo 2 to the power of `bits`, 1 to 64.
  explicit DeviceClock(unsigned bits = 64);

  /// The device's clock went from `first` to `last` between `before` and
  /// `after` of the host's. Observations come in the order of time, the next
  /// before the device's clock has gone halfway around. An observation that
  /// contradicts itself, or the ones before, begins a new clock: a device that
  /// slept may have lost count.
  void observe(uint64_t before, uint64_t first, uint64_t last, uint64_t after);

  /// Whether there has been an observation.
  bool isKnown() const { return count_ != 0; }
  /// Converts a time stamp near the last observations to the host's ticks.
  uint64_t hostTicks(uint64_t device) const;
  /// The distance of the line from every bound, in the host's ticks: times near
  /// the last observations may be wrong by that much. Negative while there is
  /// one observation alone, which the line is stretched to.
  double margin() const { return distance_; }

private:
  /// Relative to the origins, so that doubles hold them.
  struct Bounds {
    double first, before; ///< the line is not below this point
    double last, after;   ///< and not above that one
  };
  static constexpr unsigned mostBounds = 64;
  /// The line is drawn anew after so many observations, or when one says that
  /// it is wrong.
  static constexpr unsigned period = 8;

  double marginOf(double slope, double &offset) const;
  bool agrees(const Bounds &bounds) const;
  void draw();
  double relative(uint64_t device) const;
  void begin(uint64_t before, uint64_t first);

  uint64_t mask_;
  Bounds bounds_[mostBounds]; ///< a ring
  unsigned count_ = 0;        ///< of all so far
  unsigned drawn_ = 0;        ///< of them when the line was drawn
  uint64_t hostOrigin_ = 0, deviceOrigin_ = 0;
  double slope_ = 0, offset_ = 0, distance_ = 0;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_DEVICECLOCK_H
