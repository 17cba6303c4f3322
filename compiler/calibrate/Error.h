//===- Error.h - How far results are from those of floats -------*- C++ -*-===//
#ifndef NNV12_COMPILER_CALIBRATE_ERROR_H
#define NNV12_COMPILER_CALIBRATE_ERROR_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace nnv12::calibrate {

/// A measure of the difference between two outputs.
enum class Measure {
  Rmse,   ///< root of the mean squared difference, of that of the floats
  Cosine, ///< of the angle between both, mean over the samples
  Top1,   ///< part of the samples whose largest element is another one
  Snr     ///< signal to noise in dB, over all samples
};

inline constexpr Measure measures[] = {Measure::Rmse, Measure::Cosine,
                                       Measure::Top1, Measure::Snr};
/// "rmse", "cos", "top1", "snr".
const char *measureName(Measure measure);

/// A bound that results have to keep.
struct ErrorBound {
  Measure measure = Measure::Rmse;
  double value = 0;

  /// "rmse:0.01", "cos:0.995", "top1:1%" or "top1:0.01", "snr:30". Nothing for
  /// another text.
  static std::optional<ErrorBound> parse(const std::string &text);
  static constexpr char expected[] =
      "rmse:R with R from 0, cos:C with C up to 1, top1:P% with P from 0 to "
      "100, or snr:DB";
  bool isMetBy(double value) const;
  /// The text that parse() takes.
  std::string text() const;
};

/// All measures of one output, over the samples of a set.
class ErrorMeter {
public:
  /// Adds a sample of one or more rows of `rowSize` elements each: rows are
  /// classified one by one.
  void add(const float *exact, const float *found, size_t rows, size_t rowSize);

  uint64_t samples() const { return samples_; }
  /// 0 where nothing differs, whatever the measure of a perfect result is.
  double rmse() const;
  double cosine() const;
  double top1() const;
  double snr() const; ///< infinity where nothing differs
  double of(Measure measure) const;
  bool meets(const ErrorBound &bound) const {
    return bound.isMetBy(of(bound.measure));
  }

private:
  uint64_t samples_ = 0, rows_ = 0, others_ = 0;
  double squares_ = 0, differences_ = 0, cosines_ = 0;
};

/// The mean square of the difference, as a part of that of the floats' results,
/// at which the bound is about met; infinity where the measure does not tell.
double noiseAt(const ErrorBound &bound);
/// By which factor noise may grow until the bound is met by no more than this;
/// less than 1 where `found` does not meet it.
double roomFor(const ErrorBound &bound, double found);

/// "rmse 0.006", "cos 0.9993", "top1 1.2 %", "snr 31.2 dB".
std::string errorText(Measure measure, double value);

} // namespace nnv12::calibrate

#endif // NNV12_COMPILER_CALIBRATE_ERROR_H
