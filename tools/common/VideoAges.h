//===- VideoAges.h - How old the answers to frames are ----------*- C++ -*-===//
//
// With less work than a run for each frame of a video, answers differ from full
// ones. A distance says little by itself, so it is told in frames: an age of 1
// is as wrong as the answer to the frame before.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_COMMON_VIDEOAGES_H
#define NNV12_TOOLS_COMMON_VIDEOAGES_H

#include "tools/common/Tensor.h"

#include <functional>

namespace nnv12::tools {

/// All outputs of a model for a frame, one behind the other.
using Answer = std::vector<double>;
/// Takes elements of any type. Returns the index of the first output that has a
/// NaN or an infinity; the number of outputs where all are finite.
size_t makeAnswer(const std::vector<Tensor> &outputs, Answer &answer);

/// The Euclidean distance of two answers to a frame.
double distance(const Answer &a, const Answer &b);
/// 1 - cosine of the angle between them, 0 to 2. 0 for equal ones, 1 where one
/// of them is zero.
double cosineDistance(const Answer &a, const Answer &b);

/// How far the answers of one way to compute them are from full ones, over all
/// frames but the first: nothing could be saved in that one.
struct AnswerAge {
  double distance = 0; ///< mean
  double age = 0;      ///< distance / the mean of full answers in a row
  double worst = 0;    ///< the largest cosineDistance()
  uint64_t worstFrame = 0;
  double change = 0; ///< mean of the measure that VideoAges was given
};

/// Compares ways to answer the frames of a clip with full answers. Keeps a few
/// answers, however many frames there are.
class VideoAges {
public:
  /// The last answer stands for frames that are left out: running each second,
  /// third and fourth.
  static constexpr unsigned skips[] = {2, 3, 4};

  /// Parts of the frames that leavingOut() knows, in hundredths.
  static constexpr unsigned leastShare = 5, mostShare = 95, shareStep = 5;

  /// So many ways are given answers of; skipping is known without, and with
  /// `knowsShares` leavingOut() as well.
  explicit VideoAges(size_t numWays, bool knowsShares = false)
      : ways_(numWays),
        shares_(knowsShares ? (mostShare - leastShare) / shareStep + 1 : 0) {}

  /// Another measure of a full answer and one of a way. For all frames.
  using Measure = std::function<double(const Answer &, const Answer &)>;
  void setMeasure(Measure measure) { measure_ = std::move(measure); }

  /// The full answer to the next frame, and that of each way.
  void add(const Answer &full, const std::vector<Answer> &ways);

  uint64_t numFrames() const { return frames_; }
  /// The mean distance of full answers to two frames in a row. 0: no answer
  /// differs from the one before, and there are no ages.
  double step() const;
  /// The age of a way, by its number: 0 where step() is.
  AnswerAge way(size_t number) const { return finish(ways_[number]); }
  /// The age when each nth frame is run, by the number of n in `skips`.
  AnswerAge skipping(size_t number) const { return finish(skipping_[number]); }
  /// The age when that part of the frames is left out, evenly: the nearest one
  /// that is known.
  AnswerAge leavingOut(double share) const;

private:
  struct Sums {
    double distance = 0, worst = 0, change = 0;
    uint64_t worstFrame = 0;
  };
  static constexpr size_t numSkips = sizeof skips / sizeof *skips;

  /// Leaves out a part of the frames.
  struct Share {
    Sums sums;
    Answer last;
    unsigned due = 0; ///< hundredths of a frame
  };

  void addTo(Sums &sums, const Answer &answer, const Answer &full);
  AnswerAge finish(const Sums &sums) const;

  uint64_t frames_ = 0;
  double steps_ = 0; ///< sum of distances of full answers in a row
  Answer before_;    ///< the full answer to the last frame
  std::vector<Sums> ways_;
  Sums skipping_[numSkips];
  Answer last_[numSkips]; ///< the answers that skipping has
  std::vector<Share> shares_;
  Measure measure_;
};

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_VIDEOAGES_H
