//===- Error.cpp - How far results are from those of floats ---------------===//

#include "compiler/calibrate/Error.h"

#include "compiler/calibrate/BoxMeter.h"
#include "compiler/calibrate/WordMeter.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>

using namespace nnv12::calibrate;

namespace {
/// All that is known of a measure.
struct MeasureInfo {
  Measure measure;
  const char *name;
  double least, most; ///< of a bound
  bool moreIsBetter;
  bool isPart;        ///< said in percent
  const char *format; ///< of a value, for people
  /// Grows as the noise of results does, by its root: relative rmse if
  /// `isOfNoise`, else a part of something.
  double (*deviation)(double value);
  bool isOfNoise;
  // One of them:
  double (ErrorMeter::*ofOutput)() const;
  MakeModelMeter *ofModel = nullptr;
};
} // namespace

static double same(double value) { return value; }
static double rest(double part) { return 1 - part; }
/// 1 - cos a is a^2 / 2 for small angles.
static double ofCosine(double value) {
  return std::sqrt(std::max(0.0, 2 * (1 - value)));
}
static double ofDecibels(double value) { return std::pow(10, -value / 20); }

static constexpr MeasureInfo table[] = {
    {Measure::Rmse, "rmse", 0, 1e6, false, false, "rmse %.2g", same, true,
     &ErrorMeter::rmse},
    {Measure::Cosine, "cos", -1, 1, true, false, "cos %.5f", ofCosine, true,
     &ErrorMeter::cosine},
    {Measure::Top1, "top1", 0, 1, false, true, "top1 %.2g %%", same, false,
     &ErrorMeter::top1},
    {Measure::Snr, "snr", -200, ErrorMeter::mostDecibels, true, false,
     "snr %.1f dB", ofDecibels, true, &ErrorMeter::snr},
    {Measure::Boxes, "boxes", 0, 1, true, true, "boxes %.3g %%", rest, false,
     nullptr, makeBoxMeter},
    {Measure::Words, "wer", 0, 1, false, true, "wer %.2g %%", same, false,
     nullptr, makeWordMeter},
};

/// The rows are in the order of the measures.
static constexpr bool isInOrder() {
  for (size_t i = 0; i < std::size(table); ++i)
    if (size_t(table[i].measure) != i)
      return false;
  return true;
}
static_assert(isInOrder(), "a row for each measure");

static const MeasureInfo &infoOf(Measure measure) {
  return table[size_t(measure)];
}

const char *nnv12::calibrate::measureName(Measure measure) {
  return infoOf(measure).name;
}

bool nnv12::calibrate::isOfModel(Measure measure) {
  return infoOf(measure).ofModel;
}

MakeModelMeter &nnv12::calibrate::makerOf(Measure measure) {
  return *infoOf(measure).ofModel;
}

bool nnv12::calibrate::isBetter(Measure measure, double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return !std::isnan(a);
  return infoOf(measure).moreIsBetter ? a > b : a < b;
}

double nnv12::calibrate::worstValue(Measure measure) {
  const MeasureInfo &info = infoOf(measure);
  return info.moreIsBetter ? info.least : info.most;
}

std::optional<ErrorBound> ErrorBound::parse(const std::string &text) {
  for (const MeasureInfo &info : table) {
    std::string start = std::string(info.name) + ":";
    if (text.compare(0, start.size(), start) != 0)
      continue;
    const char *number = text.c_str() + start.size();
    char *end;
    ErrorBound bound{info.measure, std::strtod(number, &end)};
    if (end == number)
      return std::nullopt;
    if (info.isPart && *end == '%') {
      bound.value /= 100;
      ++end;
    }
    if (*end || !(bound.value >= info.least && bound.value <= info.most))
      return std::nullopt;
    return bound;
  }
  return std::nullopt;
}

bool ErrorBound::isMetBy(double found) const {
  // NaN meets nothing.
  return infoOf(measure).moreIsBetter ? found >= value : found <= value;
}

std::string ErrorBound::text() const {
  char buffer[64];
  const MeasureInfo &info = infoOf(measure);
  snprintf(buffer, sizeof buffer, "%s:%g%s", info.name,
           info.isPart ? 100 * value : value, info.isPart ? "%" : "");
  return buffer;
}

std::string nnv12::calibrate::errorText(Measure measure, double value) {
  char buffer[64];
  const MeasureInfo &info = infoOf(measure);
  snprintf(buffer, sizeof buffer, info.format,
           info.isPart ? 100 * value : value);
  return buffer;
}

void ErrorMeter::add(const float *exact, const float *found, size_t rows,
                     size_t rowSize) {
  Sample &sample = samples_.emplace_back();
  for (size_t row = 0; row < rows && rowSize; ++row) {
    const float *es = exact + row * rowSize, *fs = found + row * rowSize;
    double largest = 0, largestFound = 0;
    for (size_t i = 0; i < rowSize; ++i) {
      double e = es[i], f = fs[i], d = f - e;
      sample.exact += e * e;
      sample.found += f * f;
      sample.both += e * f;
      sample.difference += d * d;
      largest = std::max(largest, std::fabs(e));
      largestFound = std::max(largestFound, std::fabs(f));
    }
    largest_ = std::max(largest_, largest);
    if (largest < leastFloor && largestFound < leastFloor)
      continue;
    others_ += std::max_element(es, es + rowSize) - es !=
               std::max_element(fs, fs + rowSize) - fs;
    ++rows_;
  }
  sample.count = double(rows) * double(rowSize);
}

ErrorMeter::Sample ErrorMeter::sum() const {
  Sample sum;
  for (const Sample &of : samples_) {
    sum.exact += of.exact;
    sum.difference += of.difference;
    sum.count += of.count;
  }
  return sum;
}

double ErrorMeter::floor() const {
  return std::max(leastFloor, partOfLargest * largest_);
}

double ErrorMeter::squares(const Sample &of) const {
  return std::max(of.exact, of.count * floor() * floor());
}

double ErrorMeter::rmse() const {
  Sample all = sum();
  return all.difference == 0 ? 0 : std::sqrt(all.difference / squares(all));
}

double ErrorMeter::cosine() const {
  double sum = 0;
  uint64_t counted = 0;
  for (const Sample &of : samples_) {
    double least = of.count * floor() * floor();
    if (of.exact < least && of.found < least)
      continue;
    ++counted;
    // Nothing has no direction, so it has not that of another result.
    if (of.exact == 0 || of.found == 0)
      continue;
    sum += std::clamp(of.both / std::sqrt(of.exact) / std::sqrt(of.found), -1.0,
                      1.0);
  }
  return counted ? sum / double(counted) : 1;
}

double ErrorMeter::top1() const {
  return rows_ ? double(others_) / double(rows_) : 0;
}

double ErrorMeter::snr() const {
  Sample all = sum();
  if (all.difference == 0)
    return mostDecibels;
  double decibels = 10 * std::log10(squares(all) / all.difference);
  return decibels > mostDecibels ? mostDecibels : decibels;
}

double ErrorMeter::of(Measure measure) const {
  return (this->*infoOf(measure).ofOutput)();
}

double nnv12::calibrate::noiseAt(const ErrorBound &bound) {
  const MeasureInfo &info = infoOf(bound.measure);
  double deviation = info.deviation(bound.value);
  return info.isOfNoise ? deviation * deviation
                        : std::numeric_limits<double>::infinity();
}

double nnv12::calibrate::roomFor(const ErrorBound &bound, double found) {
  // Below this nothing is told from an equal result.
  constexpr double least = 1e-6;
  const MeasureInfo &info = infoOf(bound.measure);
  double allowed = std::max(info.deviation(bound.value), least),
         there = std::max(info.deviation(found), least);
  return allowed / there * (allowed / there);
}
