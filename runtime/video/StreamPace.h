//===- StreamPace.h - How much the runs of a stream compute -----*- C++ -*-===//
//
// Where nearly all changes from frame to frame, as under a camera that moves,
// reuse only costs time: behind two runs in a row with little to reuse, and
// behind each further one, come runs without a stream before the next try.
// Where values may stay that would differ, a frame of so many computes all.
//
// The decisions depend on frames alone, never on time.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_VIDEO_STREAMPACE_H
#define NNV12_RUNTIME_VIDEO_STREAMPACE_H

#include <algorithm>
#include <cstdint>

namespace nnv12::runtime {

class StreamPace {
public:
  /// A frame of `refresh` computes all; 0: none does.
  void setRefresh(uint32_t refresh) { refresh_ = refresh; }

  /// A frame pays that computes at most so many eighths of the work.
  void setMost(uint32_t eighths) { mostEighths_ = eighths; }

  /// Nothing is known of the frames so far.
  void forget() {
    forgetTries();
    forgetWhole();
    numWhole_ = 0;
  }

  /// Whether the next run shall be a frame. False: it is a run without a
  /// stream. To be asked once before each.
  bool takesNext() {
    if (runsWithout_ == 0)
      return true;
    --runsWithout_;
    return false;
  }
  /// Whether the next frame shall compute all. On a still scene more frames
  /// pass before that.
  bool isRefreshDue() const {
    return refresh_ && (busyFrames_ + 1 >= refresh_ ||
                        frames_ + 1 >= std::max(refresh_, mostStill));
  }
  /// Whether a frame that computes all measures the values.
  bool measuresWhole() const { return numWhole_ % wholePerMeasure == 0; }

  /// Notes a frame that computed all.
  void addWhole() {
    ++numWhole_;
    forgetWhole();
  }
  /// Notes a run that computed all, but kept no values.
  void addLeft() { forgetWhole(); }
  /// Notes a frame that computed `work` of `allWork`, of which each frame with
  /// a change computes `tailWork`.
  void add(uint64_t work, uint64_t allWork, uint64_t tailWork = 0) {
    ++frames_;
    busyFrames_ += work > allWork / 20;
    uint64_t least = (allWork - tailWork) / 8 * (8 - mostEighths_);
    // Less is not worth the comparing.
    if (allWork - work >= std::max(least, allWork / 8))
      return forgetTries();
    addPoor();
  }
  /// Notes a frame with little to reuse.
  void addPoor() {
    // Copies may follow one new picture.
    if (++tries_ < 2)
      return;
    runsWithout_ = nextWithout_;
    nextWithout_ = std::min(2 * nextWithout_, mostWithout);
  }

private:
  /// Runs without a stream that follow a frame with little to reuse, at first
  /// and at most.
  static constexpr uint32_t leastWithout = 8, mostWithout = 64;
  /// Frames from one that computes all to the next, where nearly nothing is
  /// computed between them.
  static constexpr uint32_t mostStill = 100;
  static constexpr uint32_t wholePerMeasure = 16;

  void forgetTries() {
    tries_ = runsWithout_ = 0;
    nextWithout_ = leastWithout;
  }
  void forgetWhole() { frames_ = busyFrames_ = 0; }

  uint32_t refresh_ = 0, mostEighths_ = 6;
  uint32_t tries_ = 0;       ///< frames in a row with little to reuse
  uint32_t runsWithout_ = 0; ///< that come before the next frame
  uint32_t nextWithout_ = leastWithout; ///< the next time
  uint32_t numWhole_ = 0;               ///< modulo 2^32
  // Since the last frame that computed all: the others, and those of them that
  // computed a twentieth of the work or more.
  uint32_t frames_ = 0, busyFrames_ = 0;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_VIDEO_STREAMPACE_H
