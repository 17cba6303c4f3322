//===- FrameTimes.h - The time of a frame that changed a little -*- C++ -*-===//
//
// With reuse between the frames of a video (runtime/Stream.h) the time of a
// frame depends on the pixels that changed. Here it is predicted: pixels of
// random rectangles change, sets of pixels grow from layer to layer, and tiles
// with such pixels are computed. Values that come out near enough to the kept
// ones stop a change earlier, which nobody knows without a video: the times are
// those of a change that goes on.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SEARCH_FRAMETIMES_H
#define NNV12_COMPILER_SEARCH_FRAMETIMES_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nnv12::search {

/// Position i of a result reads positions floor((i * num + low) / den) to
/// floor((i * num + high) / den), as far as there are such.
struct FrameWindow {
  int64_t num = 1, den = 1, low = 0, high = 0;
};

/// The pixels of a value, and how they depend on those of earlier sets.
struct FrameSet {
  struct Read {
    uint32_t set;
    bool all = false; ///< any pixel of it changes all
    FrameWindow rows = {}, columns = {};
  };
  uint32_t rows = 1, columns = 1;
  std::vector<Read> reads = {};

  uint64_t numPixels() const { return uint64_t(rows) * columns; }
};

struct FrameExecute {
  uint32_t set;
  double whole; ///< milliseconds of all tiles
  /// Pixels of a tile. Flat tiles are runs of `tileColumns` pixels, row after
  /// row. No rows: the layer is computed as a whole.
  uint32_t tileRows = 0, tileColumns = 0;
  bool isFlat = false;
  double tiles = 0; ///< milliseconds of all tiles, one by one
  double merge = 0; ///< of comparing all pixels with the kept ones
  double plain = 0; ///< of all tiles in a run without reuse
};

struct FrameInput {
  uint32_t set;
  double match = 0; ///< milliseconds of comparing it with the kept one
};

struct FrameProblem {
  std::vector<FrameSet> sets;
  std::vector<FrameInput> inputs;
  std::vector<FrameExecute> executes;
  double plain = 0; ///< milliseconds of a run without reuse
  /// Milliseconds of each frame that has any change: following the sets.
  double bookkeeping = 0;
  /// From this part of its tiles on a layer is computed as a whole.
  double wholeFrom = 0.75;
};

/// A bit a pixel, row by row; by set.
using FramePixels = std::vector<std::vector<uint8_t>>;

/// The changed pixels of all sets. `pixels` has those of inputs; sets of other
/// values that read nothing do not change.
void followChange(const FrameProblem &problem, FramePixels &pixels);
/// Milliseconds of a frame with these pixels of all sets.
double frameTime(const FrameProblem &problem, const FramePixels &pixels);

/// The execute from which on layers had better be computed whole in each frame
/// that has a change, in the memory of a run without reuse, as nearly all of
/// their pixels change anyway; the number of executes where none had. That is
/// for frames that changed a little, in 2 and 5 % of the input.
size_t chooseTail(const FrameProblem &problem);

/// Predicted times by the changed share of the input.
struct FrameTimes {
  /// By ascending share; times as parts of a plain run.
  struct Point {
    double share, time;
  };
  std::vector<Point> points;

  /// Between points, along a line.
  double at(double share) const;
  /// The share from which on a plain run takes less; 0: for any share, 1: for
  /// none.
  double paysBelow() const;
};

/// The mean over frames with one to four random rectangles. The same for the
/// same problem, on each machine.
FrameTimes predictFrames(const FrameProblem &problem);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_FRAMETIMES_H
