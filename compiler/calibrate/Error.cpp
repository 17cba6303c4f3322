//===- Error.cpp - How far results are from those of floats ---------------===//

#include "compiler/calibrate/Error.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

using namespace nnv12::calibrate;

namespace {
struct MeasureName {
  Measure measure;
  const char *name;
  double least, most; ///< of a bound
};
} // namespace

static constexpr MeasureName names[] = {
    {Measure::Rmse, "rmse", 0, 1e6},
    {Measure::Cosine, "cos", -1, 1},
    {Measure::Top1, "top1", 0, 1},
    {Measure::Snr, "snr", -200, 200},
};

const char *nnv12::calibrate::measureName(Measure measure) {
  return names[size_t(measure)].name;
}

std::optional<ErrorBound> ErrorBound::parse(const std::string &text) {
  for (const MeasureName &known : names) {
    std::string start = std::string(known.name) + ":";
    if (text.compare(0, start.size(), start) != 0)
      continue;
    const char *number = text.c_str() + start.size();
    char *end;
    ErrorBound bound{known.measure, std::strtod(number, &end)};
    if (end == number)
      return std::nullopt;
    if (known.measure == Measure::Top1 && *end == '%') {
      bound.value /= 100;
      ++end;
    }
    if (*end || !(bound.value >= known.least && bound.value <= known.most))
      return std::nullopt;
    return bound;
  }
  return std::nullopt;
}

bool ErrorBound::isMetBy(double found) const {
  bool moreIsBetter = measure == Measure::Cosine || measure == Measure::Snr;
  // NaN meets nothing.
  return moreIsBetter ? found >= value : found <= value;
}

std::string ErrorBound::text() const {
  char buffer[64];
  bool isPart = measure == Measure::Top1;
  snprintf(buffer, sizeof buffer, "%s:%g%s", names[size_t(measure)].name,
           isPart ? 100 * value : value, isPart ? "%" : "");
  return buffer;
}

void ErrorMeter::add(const float *exact, const float *found, size_t rows,
                     size_t rowSize) {
  double ee = 0, ff = 0, ef = 0, dd = 0;
  for (size_t i = 0; i < rows * rowSize; ++i) {
    double e = exact[i], f = found[i], d = f - e;
    ee += e * e;
    ff += f * f;
    ef += e * f;
    dd += d * d;
  }
  squares_ += ee;
  // Infinities of both are alike.
  differences_ += dd;
  // Two results of zeros point the same way.
  cosines_ += ee == 0 && ff == 0 ? 1
              : ee == 0 || ff == 0
                  ? 0
                  : std::clamp(ef / std::sqrt(ee) / std::sqrt(ff), -1.0, 1.0);
  for (size_t row = 0; row < rows && rowSize; ++row) {
    const float *e = exact + row * rowSize, *f = found + row * rowSize;
    others_ += std::max_element(e, e + rowSize) - e !=
               std::max_element(f, f + rowSize) - f;
  }
  rows_ += rows;
  ++samples_;
}

double ErrorMeter::rmse() const {
  if (differences_ == 0)
    return 0;
  return squares_ == 0 ? std::numeric_limits<double>::infinity()
                       : std::sqrt(differences_ / squares_);
}

double ErrorMeter::cosine() const {
  return samples_ ? cosines_ / double(samples_) : 1;
}

double ErrorMeter::top1() const {
  return rows_ ? double(others_) / double(rows_) : 0;
}

double ErrorMeter::snr() const {
  return differences_ == 0 ? std::numeric_limits<double>::infinity()
                           : 10 * std::log10(squares_ / differences_);
}

double ErrorMeter::of(Measure measure) const {
  switch (measure) {
  case Measure::Rmse:
    return rmse();
  case Measure::Cosine:
    return cosine();
  case Measure::Top1:
    return top1();
  case Measure::Snr:
    return snr();
  }
  return 0;
}

std::string nnv12::calibrate::errorText(Measure measure, double value) {
  char buffer[64];
  switch (measure) {
  case Measure::Rmse:
    snprintf(buffer, sizeof buffer, "rmse %.2g", value);
    break;
  case Measure::Cosine:
    snprintf(buffer, sizeof buffer, "cos %.5f", value);
    break;
  case Measure::Top1:
    snprintf(buffer, sizeof buffer, "top1 %.2g %%", 100 * value);
    break;
  case Measure::Snr:
    snprintf(buffer, sizeof buffer, "snr %.1f dB", value);
    break;
  }
  return buffer;
}

double nnv12::calibrate::noiseAt(const ErrorBound &bound) {
  switch (bound.measure) {
  case Measure::Rmse:
    return bound.value * bound.value;
  case Measure::Cosine:
    // 1 - cos a is a^2 / 2 for small angles.
    return 2 * (1 - bound.value);
  case Measure::Snr:
    return std::pow(10, -bound.value / 10);
  case Measure::Top1:
    break;
  }
  return std::numeric_limits<double>::infinity();
}

double nnv12::calibrate::roomFor(const ErrorBound &bound, double found) {
  // Below this nothing is told from an equal result.
  static constexpr double least = 1e-12;
  auto ratio = [](double a, double b) {
    return std::max(a, least) / std::max(b, least);
  };
  switch (bound.measure) {
  case Measure::Rmse:
    return ratio(bound.value * bound.value, found * found);
  case Measure::Cosine:
    return ratio(1 - bound.value, 1 - found);
  case Measure::Snr:
    return std::pow(10, (found - bound.value) / 10);
  case Measure::Top1:
    // As many classes change as the noise is large.
    return std::pow(ratio(bound.value, found), 2);
  }
  return 0;
}
