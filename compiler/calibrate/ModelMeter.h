//===- ModelMeter.h - A measure of all of a model's outputs -----*- C++ -*-===//
#ifndef NNV12_COMPILER_CALIBRATE_MODELMETER_H
#define NNV12_COMPILER_CALIBRATE_MODELMETER_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace nnv12::calibrate {

struct OutputInfo {
  std::string name;
  std::vector<int64_t> shape;
  bool isFloat = true;
};

/// The meaning of results.
struct ModelOutputs {
  std::vector<OutputInfo> outputs;
  std::vector<std::string> labels; ///< names of classes, if they are known
};

/// The elements of each output, in one sample.
using Results = std::vector<const float *>;

/// The difference between the outputs and those of floats, as users see it.
class ModelMeter {
public:
  virtual ~ModelMeter() = default;
  /// Adds a sample.
  virtual void add(const Results &exact, const Results &found) = 0;
  /// "", or why there is no value: "found X, expected Y".
  virtual std::string refusal() const = 0;
  virtual double value() const = 0;
};

/// Makes a meter for these outputs. Null where they are of another kind; then
/// `refusal` says "found X, expected Y".
using MakeModelMeter = std::unique_ptr<ModelMeter>(const ModelOutputs &outputs,
                                                   std::string &refusal);

} // namespace nnv12::calibrate

#endif // NNV12_COMPILER_CALIBRATE_MODELMETER_H
