//===- Range.cpp - Which values 8 bits shall stand for --------------------===//

#include "compiler/calibrate/Range.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdlib>
#include <limits>

using namespace nnv12::calibrate;

std::optional<RangeMethod> RangeMethod::parse(const std::string &text) {
  if (text == "min-max")
    return RangeMethod{Kind::MinMax};
  if (text == "entropy")
    return RangeMethod{Kind::Entropy};
  if (text == "mse")
    return RangeMethod{Kind::SquaredError};
  const std::string name = "percentile";
  if (text.compare(0, name.size(), name) != 0)
    return std::nullopt;
  RangeMethod method{Kind::Percentile};
  if (text == name)
    return method;
  if (text[name.size()] != ':')
    return std::nullopt;
  const char *number = text.c_str() + name.size() + 1;
  char *end;
  method.percent = std::strtod(number, &end);
  if (end == number || *end || !(method.percent > 50 && method.percent <= 100))
    return std::nullopt;
  return method;
}

static Range all(const Histogram &values) {
  return {std::min(0.0, double(values.least())),
          std::max(0.0, double(values.most()))};
}

/// The bounds are those of bins, so at least `percent` is inside.
static Range percentile(const Histogram &values, double percent) {
  Range range = all(values);
  double outside = double(values.count()) * (1 - percent / 100) / 2;
  const std::vector<uint64_t> &counts = values.counts();
  double below = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    below += double(counts[i]);
    if (below > outside) {
      range.least = std::max(range.least, values.begin(i));
      break;
    }
  }
  double above = 0;
  for (size_t i = counts.size(); i-- > 0;) {
    above += double(counts[i]);
    if (above > outside) {
      range.most = std::min(range.most, values.begin(i + 1));
      break;
    }
  }
  range.least = std::min(range.least, 0.0);
  range.most = std::max(range.most, 0.0);
  return range;
}

/// The divergence of the values from themselves in 256 levels between bins
/// `first` and `last`. Values outside are in the bins at the ends.
static double divergence(const Histogram &values, size_t first, size_t last) {
  constexpr size_t levels = 256;
  const std::vector<uint64_t> &counts = values.counts();
  size_t size = last - first;
  std::vector<double> kept(counts.begin() + ptrdiff_t(first),
                           counts.begin() + ptrdiff_t(last));
  std::vector<double> clipped = kept;
  for (size_t i = 0; i < first; ++i)
    clipped.front() += double(counts[i]);
  for (size_t i = last; i < counts.size(); ++i)
    clipped.back() += double(counts[i]);
  double sum = 0, divergence = 0;
  for (double n : kept)
    sum += n;
  for (size_t level = 0; level < levels; ++level) {
    size_t begin = size * level / levels, end = size * (level + 1) / levels;
    double inLevel = 0;
    size_t used = 0;
    for (size_t i = begin; i < end; ++i) {
      inLevel += kept[i];
      used += clipped[i] > 0;
    }
    for (size_t i = begin; i < end; ++i) {
      if (clipped[i] == 0)
        continue;
      double p = clipped[i] / double(values.count());
      // A level that keeps nothing has as good as no probability.
      double q = std::max(inLevel / double(used) / sum, 1e-9);
      divergence += p * std::log(p / q);
    }
  }
  return divergence;
}

/// The whole range, shrunk in steps as long as 256 levels fill it.
static Range leastDivergence(const Histogram &values) {
  constexpr size_t levels = 256, steps = 128;
  const Range whole = all(values);
  Range best = whole;
  double least = std::numeric_limits<double>::infinity();
  auto bin = [&](double x) { return (x + values.limit()) / values.width(); };
  for (size_t step = steps; step > 0; --step) {
    double part = double(step) / steps;
    auto first = size_t(std::floor(bin(whole.least * part)));
    auto last = size_t(std::ceil(bin(whole.most * part)));
    if (last - first < levels)
      break;
    double found = divergence(values, first, last);
    if (found >= least)
      continue;
    least = found;
    best = {whole.least * part, whole.most * part};
  }
  return best;
}

namespace {
/// The squares that a range loses, in constant time.
class Losses {
public:
  explicit Losses(const Histogram &values) : values(values) {
    const std::vector<uint64_t> &counts = values.counts();
    for (size_t i = 0; i < counts.size(); ++i) {
      double n = double(counts[i]), x = center(i);
      const Sums last = sums.back();
      sums.push_back({last.n + n, last.x + n * x, last.xx + n * x * x});
    }
  }

  double operator()(const Range &range) const {
    const Sums &all = sums.back();
    // The first bin that is inside, and the first one above.
    const Sums &below = sums[bin(range.least)], &inside = sums[bin(range.most)];
    double step = (range.most - range.least) / 255;
    // Zero has no error, and most activations are often zero.
    double zeros = double(values.counts()[bin(0)]);
    double rounded = std::max(0.0, inside.n - below.n - zeros);
    return rounded * step * step / 12 + squares({}, below, range.least) +
           squares(inside, all, range.most);
  }

private:
  struct Sums {
    double n = 0, x = 0, xx = 0;
  };
  double center(size_t i) const { return values.begin(i) + values.width() / 2; }
  size_t bin(double x) const {
    double found = std::floor((x + values.limit()) / values.width());
    return size_t(std::clamp(found, 0.0, double(Histogram::bins - 1)));
  }
  /// The squared distances of the values from `end`.
  static double squares(const Sums &from, const Sums &to, double end) {
    Sums of{to.n - from.n, to.x - from.x, to.xx - from.xx};
    return std::max(0.0, of.xx - 2 * end * of.x + end * end * of.n);
  }

  const Histogram &values;
  std::vector<Sums> sums = {{}}; ///< of the bins before each
};
} // namespace

/// Both ends of the whole range, in steps.
static Range leastSquares(const Histogram &values) {
  constexpr int steps = 128;
  const Range whole = all(values);
  const Losses losses(values);
  Range best = whole;
  double least = losses(whole);
  for (int low = steps; low > 0; --low) {
    for (int high = steps; high > 0; --high) {
      Range range{whole.least * low / steps, whole.most * high / steps};
      double loss = losses(range);
      if (loss < least) {
        least = loss;
        best = range;
      }
      if (whole.most == 0)
        break;
    }
    if (whole.least == 0)
      break;
  }
  return best;
}

Range nnv12::calibrate::rangeOf(const Histogram &values,
                                const RangeMethod &method) {
  if (!values.count())
    return {};
  switch (method.kind) {
  case RangeMethod::Kind::MinMax:
    return all(values);
  case RangeMethod::Kind::Percentile:
    return percentile(values, method.percent);
  case RangeMethod::Kind::Entropy:
    return leastDivergence(values);
  case RangeMethod::Kind::SquaredError:
    return leastSquares(values);
  }
  return {};
}

Grid nnv12::calibrate::gridOf(const Range &range) {
  assert(range.least <= 0 && range.most >= 0 && "0 is in each range");
  Grid grid;
  double scale = (range.most - range.least) / 255;
  // A denormal scale tells nothing from 0.
  if (scale < std::numeric_limits<float>::min())
    return grid;
  grid.scale = float(scale);
  grid.zero = uint8_t(std::clamp(
      std::nearbyint(-range.least / double(grid.scale)), 0.0, 255.0));
  return grid;
}

float nnv12::calibrate::rounded(float x, const Grid &grid) {
  float q = std::nearbyint(x / grid.scale) + float(grid.zero);
  return (std::clamp(q, 0.0f, 255.0f) - float(grid.zero)) * grid.scale;
}
