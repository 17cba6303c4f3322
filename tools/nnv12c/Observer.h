//===- Observer.h - Runs models over a set of samples -----------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_OBSERVER_H
#define NNV12_TOOLS_NNV12C_OBSERVER_H

#include "compiler/calibrate/Error.h"
#include "compiler/calibrate/Histogram.h"
#include "compiler/codegen/common/TemporaryFolder.h"
#include "mlir/IR/MLIRContext.h"
#include "tools/nnv12c/CompileOptions.h"

#include <map>

namespace nnv12 {

/// Compiles a model for this machine, to try it.
using CompileModel = std::function<mlir::LogicalResult(const CompileOptions &)>;

/// How far the outputs of a bundle are from those of another one.
struct OutputErrors {
  std::vector<std::string> names;
  std::vector<std::map<calibrate::Measure, double>> measures; ///< by output

  bool has(calibrate::Measure measure) const;
  /// The worst one of all outputs, which have it.
  double worst(calibrate::Measure measure) const;
  /// All of them for people, and the bound beside its own.
  std::string text(const std::optional<calibrate::ErrorBound> &bound) const;
};

/// The values of a tensor.
struct ObservedTensor {
  std::string name;
  calibrate::Histogram values;
  /// Means and largest magnitudes by channels; may be empty.
  std::vector<double> means = {}, largest = {};
  int64_t notFinite = 0; ///< infinities and NaN
};

/// A report of nnv12-observe.
struct Observation {
  int64_t samples = 0, files = 0;
  std::vector<ObservedTensor> inputs, outputs;
  OutputErrors errors;                ///< where a model was compared
  std::vector<OutputErrors> switches; ///< by switches that were turned on
};

/// ONNX files that run.
struct ObservedModels {
  std::string model;
  std::vector<std::string> outputs = {}; ///< tensors of it; empty: its own
  std::string against = {};              ///< is compared with it, or empty
  WeightOptions weights = {};            ///< of `against`
  std::string switched = {};             ///< the same with switches, or empty
};

/// Compiles models, and runs them by nnv12-observe over the set of the options.
/// Reports are remembered in the cache of --cache-dir: as long as the models,
/// the options, the programs, and sizes and times of the set's files are the
/// same, nothing is compiled or run again.
class Observer {
public:
  /// `options` must outlive it.
  Observer(const CompileOptions &options, mlir::MLIRContext &context,
           CompileModel compile);

  /// `half` of the set: "first" or "second". `mostSamples`: 0 for all. `what`
  /// is for people: a line shows it meanwhile. Fails with a diagnostic.
  mlir::FailureOr<Observation> observe(const ObservedModels &models,
                                       const char *half, unsigned mostSamples,
                                       const char *what);

private:
  mlir::InFlightDiagnostic error() const;
  mlir::FailureOr<std::string> bundleOf(const std::string &bytes,
                                        std::vector<std::string> outputs,
                                        const WeightOptions &weights = {});
  mlir::FailureOr<std::string> run(const ObservedModels &models,
                                   std::vector<std::string> arguments);
  std::string keyOf(const ObservedModels &models,
                    const std::vector<std::string> &arguments) const;
  mlir::FailureOr<Observation> parse(const std::string &report) const;

  const CompileOptions &options;
  mlir::MLIRContext &context;
  CompileModel compile;
  TemporaryFolder folder;
  std::string cache;    ///< the folder; "": none
  std::string identity; ///< of the programs, the options and the set
  std::map<std::string, std::string> bundles; ///< by digest of all of it
};

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_OBSERVER_H
