//===- Error.h - How far results are from those of floats -------*- C++ -*-===//
#ifndef NNV12_COMPILER_CALIBRATE_ERROR_H
#define NNV12_COMPILER_CALIBRATE_ERROR_H

#include "compiler/calibrate/ModelMeter.h"

#include <optional>

namespace nnv12::calibrate {

/// A measure of the difference between two outputs. Each has a row in Error.cpp
/// that says all of it.
enum class Measure {
  Rmse,   ///< root of the mean squared difference, of that of the floats
  Cosine, ///< of the angle between both, mean over the samples
  Top1,   ///< part of the rows whose largest element is another one
  Snr,    ///< signal to noise in dB, over all samples
  Boxes,  ///< part of the boxes that both have, see makeBoxMeter
  Words   ///< word error rate, see makeWordMeter
};

/// Those that each output has.
inline constexpr Measure measures[] = {Measure::Rmse, Measure::Cosine,
                                       Measure::Top1, Measure::Snr};
/// Those that a model has if its outputs are of some kind.
inline constexpr Measure modelMeasures[] = {Measure::Boxes, Measure::Words};
/// "rmse", "cos", "top1", "snr", "boxes", "wer".
const char *measureName(Measure measure);
/// Whether it is one of modelMeasures.
bool isOfModel(Measure measure);
/// The meter of one of modelMeasures.
MakeModelMeter &makerOf(Measure measure);
/// Whether `a` is a better value than `b`. NaN is the worst one.
bool isBetter(Measure measure, double a, double b);
/// The value of the worst result.
double worstValue(Measure measure);

/// A bound that results have to keep.
struct ErrorBound {
  Measure measure = Measure::Rmse;
  double value = 0;

  /// "rmse:0.01", "cos:0.995", "top1:1%" or "top1:0.01", "snr:30",
  /// "boxes:99%", "wer:1%". Nothing for another text.
  static std::optional<ErrorBound> parse(const std::string &text);
  static constexpr char expected[] =
      "rmse:R with R from 0, cos:C with C up to 1, snr:DB, or top1:P%, "
      "boxes:P% or wer:P% with P from 0 to 100";
  bool isMetBy(double value) const;
  /// The text that parse() takes.
  std::string text() const;
};

/// All measures of one output, over the samples of a set.
///
/// Measures are relative, and an output may be zero, or next to it: the score
/// of an object that no sample shows. Its noise must not count as a large
/// error. So numbers below a floor are nothing.
class ErrorMeter {
public:
  /// Sums in f32 of numbers near 1 are no more exact than that.
  static constexpr double leastFloor = 1e-6;
  /// A part of the largest magnitude over the set: a quarter of a step of 8
  /// bits.
  static constexpr double partOfLargest = 0x1p-10;

  /// Adds a sample of one or more rows of `rowSize` elements each: rows are
  /// classified one by one. Rows that are nothing in both have no class.
  void add(const float *exact, const float *found, size_t rows, size_t rowSize);

  uint64_t samples() const { return samples_.size(); }
  /// Magnitudes below that are nothing.
  double floor() const;
  /// 0 where nothing differs, whatever the measure of a perfect result is. The
  /// divisor is at least the floor.
  double rmse() const;
  /// Samples that are nothing in both results have no angle, and do not count.
  double cosine() const;
  double top1() const;
  static constexpr double mostDecibels = 200; ///< where nothing differs
  double snr() const;
  double of(Measure measure) const;
  bool meets(const ErrorBound &bound) const {
    return bound.isMetBy(of(bound.measure));
  }

private:
  /// Sums over the elements of a sample.
  struct Sample {
    double exact = 0, found = 0; ///< squares
    double both = 0;             ///< products
    double difference = 0;       ///< squares of it
    double count = 0;
  };
  Sample sum() const;
  /// Squares of the exact results, at least those of the floor.
  double squares(const Sample &of) const;

  std::vector<Sample> samples_;
  double largest_ = 0; ///< magnitude of the exact results
  uint64_t rows_ = 0, others_ = 0;
};

/// The mean square of the difference, as a part of that of the floats' results,
/// at which the bound is about met; infinity where the measure does not tell.
double noiseAt(const ErrorBound &bound);
/// By which factor noise may grow until the bound is met by no more than this;
/// less than 1 where `found` does not meet it.
double roomFor(const ErrorBound &bound, double found);

/// "rmse 0.006", "cos 0.9993", "top1 1.2 %", "snr 31.2 dB",
/// "boxes 98.5 %", "wer 0.3 %".
std::string errorText(Measure measure, double value);

} // namespace nnv12::calibrate

#endif // NNV12_COMPILER_CALIBRATE_ERROR_H
