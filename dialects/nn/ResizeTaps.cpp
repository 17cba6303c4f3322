//===- ResizeTaps.cpp - Terms that a resize adds up -----------------------===//

#include "dialects/nn/ResizeTaps.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>
#include <cmath>

using namespace mlir;
using namespace nnv12::nn;

/// Where output position `o` lies in the input. `Real` is f32 where the place
/// is rounded to an element: other engines divide by the scale in f32, and
/// whether a quotient falls on a whole number decides which element is read.
template <typename Real>
static Real inputCoordinate(ResizeOp op, unsigned d, int64_t o, int64_t in,
                            int64_t out) {
  const Real scale = op.getScales()[d], position = o, half = 0.5;
  using M = CoordinateMode;
  switch (op.getCoordinates()) {
  case M::half_pixel:
    return (position + half) / scale - half;
  case M::half_pixel_symmetric: {
    Real adjustment = Real(out) / (scale * Real(in));
    Real offset = Real(in) / 2 * (1 - adjustment);
    // A sum of f64 in ONNX Runtime, of which f32 remains.
    return Real(double(offset) + (double(position) + 0.5) / double(scale) -
                0.5);
  }
  case M::pytorch_half_pixel:
    return out > 1 ? (position + half) / scale - half : Real(0);
  case M::align_corners:
    return out > 1 ? position * Real(in - 1) / Real(out - 1) : Real(0);
  case M::asymmetric:
    return position / scale;
  case M::tf_half_pixel_for_nn:
    return (position + half) / scale;
  case M::tf_crop_and_resize: {
    unsigned rank = op.getScales().size();
    auto roi = op.getRoi();
    Real start = roi ? (*roi)[d] : 0, end = roi ? (*roi)[rank + d] : 1;
    Real last = in - 1;
    return out > 1
               ? start * last + position * (end - start) * last / Real(out - 1)
               : half * (start + end) * last;
  }
  }
  return position;
}

static double cubicWeight(double x, double a) {
  x = std::abs(x);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2)
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

/// ONNX Runtime takes a place a millionth off the middle of two elements for
/// the middle, where a scale that f32 cannot hold leaves it.
static int64_t nearestIndex(double x, NearestMode mode) {
  int64_t below = int64_t(std::floor(x));
  bool middle = std::abs(x - double(below) - 0.5) < 1e-6;
  switch (mode) {
  case NearestMode::round_prefer_floor:
    return middle ? below : int64_t(std::floor(x + 0.5));
  case NearestMode::round_prefer_ceil:
    return middle ? below + 1 : int64_t(std::floor(x + 0.5));
  case NearestMode::floor:
    return below;
  case NearestMode::ceil:
    return int64_t(std::ceil(x));
  }
  return 0;
}

namespace {
struct Tap {
  int64_t source;
  double weight;
};
/// The terms of an output position.
struct TapRow {
  std::vector<Tap> taps;
  bool isInside = true;
};
} // namespace

static bool isCrop(ResizeOp op) {
  return op.getCoordinates() == CoordinateMode::tf_crop_and_resize;
}

/// Whether the dimension stays as it is.
static bool isSame(ResizeOp op, unsigned d, int64_t in, int64_t out) {
  return in == out && op.getScales()[d] == 1 && !isCrop(op);
}

static TapRow rowOf(ResizeOp op, unsigned d, int64_t o, int64_t in,
                    int64_t out) {
  TapRow result;
  std::vector<Tap> &row = result.taps;
  double scale = op.getScales()[d];
  bool nearest = op.getMode() == ResizeMode::nearest;
  double x = nearest ? inputCoordinate<float>(op, d, o, in, out)
                     : inputCoordinate<double>(op, d, o, in, out);
  result.isInside = !isCrop(op) || !(x < 0 || x > in - 1);
  if (nearest) {
    row.push_back({nearestIndex(x, op.getNearest()), 1});
  } else {
    bool cubic = op.getMode() == ResizeMode::cubic;
    double stretch = op.getAntialias() && scale < 1 ? 1 / scale : 1;
    double support = (cubic ? 2 : 1) * stretch;
    // Linear interpolation clamps the coordinate, cubic the taps.
    if (!cubic && !op.getAntialias())
      x = std::clamp(x, 0.0, double(in - 1));
    int64_t first = int64_t(std::floor(x - support)) + 1;
    int64_t last = int64_t(std::ceil(x + support)) - 1;
    if (!op.getAntialias()) {
      first = int64_t(std::floor(x)) - (cubic ? 1 : 0);
      last = first + (cubic ? 3 : 1);
    }
    double sum = 0;
    for (int64_t i = first; i <= last; ++i) {
      double distance = (x - i) / stretch;
      double w = cubic ? cubicWeight(distance, op.getCubicA().convertToDouble())
                       : std::max(0.0, 1 - std::abs(distance));
      // Otherwise an element outside counts as the edge.
      if (op.getExcludeOutside() && (i < 0 || i >= in))
        w = 0;
      row.push_back({i, w});
      sum += w;
    }
    if ((op.getExcludeOutside() || op.getAntialias()) && sum != 0)
      for (Tap &tap : row)
        tap.weight /= sum;
    // An element without weight is not read.
    while (row.size() > 1 && row.back().weight == 0)
      row.pop_back();
    while (row.size() > 1 && row.front().weight == 0)
      row.erase(row.begin());
  }
  assert(!row.empty() && "coordinates are small enough to be exact");
  for (Tap &tap : row)
    tap.source =
        std::clamp<int64_t>(tap.source, 0, std::max<int64_t>(in - 1, 0));
  return result;
}

ResizeTaps ResizeTaps::of(ResizeOp op, unsigned d, int64_t in, int64_t out) {
  if (isSame(op, d, in, out)) {
    ResizeTaps same{1, out, {}, std::vector<double>(out, 1), {}};
    for (int64_t o = 0; o < out; ++o)
      same.source.push_back(double(o));
    return same;
  }
  std::vector<TapRow> rows;
  size_t most = 1;
  for (int64_t o = 0; o < out; ++o) {
    rows.push_back(rowOf(op, d, o, in, out));
    most = std::max(most, rows.back().taps.size());
  }
  ResizeTaps taps;
  taps.count = most;
  taps.size = out;
  taps.source.assign(most * out, 0);
  taps.weight.assign(most * out, 0);
  for (int64_t o = 0; o < out; ++o)
    for (size_t t = 0; t < most; ++t) {
      const std::vector<Tap> &row = rows[o].taps;
      const Tap &tap = row[std::min(t, row.size() - 1)];
      taps.source[t * out + o] = double(tap.source);
      taps.weight[t * out + o] = t < row.size() ? tap.weight : 0;
    }
  if (llvm::any_of(rows, [](const TapRow &row) { return !row.isInside; }))
    for (const TapRow &row : rows)
      taps.inside.push_back(row.isInside);
  return taps;
}

std::pair<int64_t, int64_t> ResizeTaps::sourcesOf(ResizeOp op, unsigned d,
                                                  int64_t in, int64_t out,
                                                  int64_t begin, int64_t end) {
  if (isSame(op, d, in, out))
    return {begin, end};
  int64_t lo = in, hi = 0;
  auto include = [&](int64_t o) {
    for (const Tap &tap : rowOf(op, d, o, in, out).taps) {
      lo = std::min(lo, tap.source);
      hi = std::max(hi, tap.source + 1);
    }
  };
  // Both ends of all positions read all of the input, mostly.
  if (begin < end)
    include(end - 1);
  for (int64_t o = begin; o + 1 < end && (lo > 0 || hi < in); ++o)
    include(o);
  return {lo, hi};
}
