//===- Precision.cpp - Layers in 8 bits, as a set of samples allows -------===//

#include "tools/nnv12c/Precision.h"

#include "compiler/calibrate/Error.h"
#include "compiler/codegen/common/TemporaryFolder.h"
#include "compiler/import/Import.h"
#include "compiler/quantize/QuantizableModel.h"
#include "dialects/nn/Layout.h"
#include "tools/nnv12c/Stage.h"
#include "tools/nnv12c/Subprogram.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <map>

using namespace mlir;
using namespace nnv12;
using calibrate::ErrorBound;
using calibrate::Histogram;
using calibrate::Measure;
using quantize::QuantizableModel;

/// Outputs of a bundle that observes take so many bytes at most, but for one.
static constexpr uint64_t mostObserved = 24 << 20;

namespace {
/// The errors of a bundle beside another one.
struct Errors {
  std::vector<std::string> outputs;
  std::vector<std::map<std::string, double>> measures; ///< by output

  /// The worst one of all outputs.
  double worst(Measure measure) const;
};

/// One model on its way to 8 bits.
class Quantization {
public:
  Quantization(const CompileOptions &options, MLIRContext &context,
               CompileModel compile)
      : options(options), context(context), compile(compile) {}
  FailureOr<QuantizedModel> run();

private:
  InFlightDiagnostic error() const {
    return emitError(UnknownLoc::get(&context)) << options.input << ": ";
  }
  /// Writes the bundle of a model for this machine, with these outputs.
  LogicalResult compileTo(const std::string &file, std::string bytes,
                          std::vector<std::string> outputs = {}) const;
  /// Runs nnv12-observe and reads its report.
  FailureOr<llvm::json::Value> observe(std::vector<std::string> arguments,
                                       const char *half) const;
  FailureOr<std::vector<std::vector<std::string>>> chunksOfValues() const;
  LogicalResult findRanges();
  LogicalResult addRanges(const llvm::json::Value &report, const char *list);
  FailureOr<Errors> errorsOf(const std::string &bytes, const char *half);

  const CompileOptions &options;
  MLIRContext &context;
  CompileModel compile;
  TemporaryFolder folder;
  QuantizableModel model;
  QuantizableModel::Ranges ranges;
  std::string exact; ///< the bundle of floats
  int64_t samples = 0, files = 0;
};
} // namespace

double Errors::worst(Measure measure) const {
  const char *name = calibrate::measureName(measure);
  bool moreIsBetter = measure == Measure::Cosine || measure == Measure::Snr;
  std::optional<double> result;
  for (const auto &of : measures) {
    double value = of.at(name);
    if (!result || (moreIsBetter ? value < *result : value > *result))
      result = value;
  }
  return result.value_or(0);
}

LogicalResult Quantization::compileTo(const std::string &file,
                                      std::string bytes,
                                      std::vector<std::string> outputs) const {
  CompileOptions how = options;
  how.modelBytes = std::make_shared<const std::string>(std::move(bytes));
  how.output = file;
  how.emit = Emit::Bundle;
  how.precision = {};
  how.targets.clear();
  how.profile.clear();
  how.gpuProfile.clear();
  how.plan.gpu.clear();
  how.plan.gpuForce = false;
  how.signingKey.clear();
  how.summary = how.timing = false;
  if (!outputs.empty())
    how.import.outputs = std::move(outputs);
  return compile(how);
}

FailureOr<llvm::json::Value>
Quantization::observe(std::vector<std::string> arguments,
                      const char *half) const {
  const Calibration &set = options.precision.calibration;
  std::string report = folder.file("report.json");
  arguments.insert(arguments.end(), {"-o", report, "--half", half});
  if (set.random)
    arguments.insert(arguments.end(), {"--random", std::to_string(set.random)});
  else
    arguments.insert(arguments.end(),
                     {"--set", set.path, "--crops", std::to_string(set.crops)});
  if (set.samples)
    arguments.insert(arguments.end(),
                     {"--samples", std::to_string(set.samples)});
  std::string fault =
      runSubprogram("nnv12-observe", arguments, /*showsProgress=*/true);
  if (!fault.empty()) {
    emitError(UnknownLoc::get(&context)) << fault;
    return failure();
  }
  auto buffer = llvm::MemoryBuffer::getFile(report);
  if (!buffer)
    return error() << report << ": cannot read", failure();
  auto json = llvm::json::parse((*buffer)->getBuffer());
  if (!json) {
    llvm::consumeError(json.takeError());
    return error() << "nnv12-observe: found a report that cannot be read",
           failure();
  }
  return std::move(*json);
}

/// The values to be observed, in parts that one bundle has memory for.
FailureOr<std::vector<std::vector<std::string>>>
Quantization::chunksOfValues() const {
  TensorNames names;
  ImportOptions import = options.import;
  import.names = &names;
  import.outputs.clear();
  auto module =
      importOnnxBuffer(model.floats(), options.input, import, context);
  if (!module)
    return failure();
  std::map<std::string, uint64_t> sizes;
  for (const auto &[name, value] : names.tensors)
    sizes[name] = nn::storageSize(nn::typeOf(value));
  std::vector<std::vector<std::string>> chunks;
  uint64_t left = 0;
  for (const std::string &value : model.values()) {
    if (model.isInput(value))
      continue;
    auto size = sizes.find(value);
    // The importer has computed it, or left it out.
    if (size == sizes.end())
      continue;
    if (chunks.empty() || size->second > left) {
      chunks.emplace_back();
      left = mostObserved;
    }
    chunks.back().push_back(value);
    left -= std::min(left, size->second);
  }
  return chunks;
}

LogicalResult Quantization::addRanges(const llvm::json::Value &report,
                                      const char *list) {
  const llvm::json::Object *all = report.getAsObject();
  const llvm::json::Array *values = all ? all->getArray(list) : nullptr;
  if (!values)
    return error() << "nnv12-observe: found no '" << list << "' in its report";
  samples = all->getInteger("samples").value_or(0);
  files = all->getInteger("files").value_or(0);
  for (const llvm::json::Value &element : *values) {
    const llvm::json::Object *of = element.getAsObject();
    const llvm::json::Array *counts = of ? of->getArray("counts") : nullptr;
    if (!counts)
      return error() << "nnv12-observe: found no counts in its report";
    std::string name = of->getString("name").value_or("").str();
    if (int64_t bad = of->getInteger("not_finite").value_or(0))
      return error() << "tensor '" << name << "': found NaN or infinity in "
                     << bad
                     << " elements over the set, expected finite numbers";
    std::vector<uint64_t> bins;
    for (const llvm::json::Value &count : *counts)
      bins.push_back(count.getAsUINT64().value_or(0));
    Histogram histogram(of->getNumber("limit").value_or(0),
                        of->getInteger("first").value_or(0), bins,
                        float(of->getNumber("least").value_or(0)),
                        float(of->getNumber("most").value_or(0)));
    if (StringRef(list) == "inputs" && histogram.least() == histogram.most())
      return error() << "input '" << name << "': found "
                     << llvm::formatv("{0}", histogram.least())
                     << " alone over the set, expected samples with different "
                        "numbers";
    ranges[name] = calibrate::rangeOf(histogram, options.precision.ranges);
  }
  return success();
}

LogicalResult Quantization::findRanges() {
  Stage stage(options, "ranges");
  auto chunks = chunksOfValues();
  if (failed(chunks))
    return failure();
  auto report = observe({exact}, "first");
  if (failed(report) || failed(addRanges(*report, "inputs")))
    return failure();
  for (auto &chunk : *chunks) {
    std::string file = folder.file("observe.nnv");
    if (failed(compileTo(file, model.floats(), chunk)))
      return failure();
    report = observe({file}, "first");
    if (failed(report) || failed(addRanges(*report, "outputs")))
      return failure();
  }
  return success();
}

FailureOr<Errors> Quantization::errorsOf(const std::string &bytes,
                                         const char *half) {
  Stage stage(options, "error");
  std::string file = folder.file("rounded.nnv");
  if (failed(compileTo(file, bytes)))
    return failure();
  auto report = observe({exact, "--against", file}, half);
  if (failed(report))
    return failure();
  Errors errors;
  const llvm::json::Object *all = report->getAsObject();
  const llvm::json::Array *against = all ? all->getArray("against") : nullptr;
  const llvm::json::Object *first =
      against && !against->empty() ? against->front().getAsObject() : nullptr;
  const llvm::json::Array *outputs =
      first ? first->getArray("outputs") : nullptr;
  if (!outputs)
    return error() << "nnv12-observe: found no errors in its report", failure();
  samples = all->getInteger("samples").value_or(0);
  files = all->getInteger("files").value_or(0);
  for (const llvm::json::Value &element : *outputs) {
    const llvm::json::Object &of = *element.getAsObject();
    errors.outputs.push_back(of.getString("name").value_or("").str());
    std::map<std::string, double> &measures = errors.measures.emplace_back();
    for (Measure measure : calibrate::measures) {
      const char *name = calibrate::measureName(measure);
      // Infinities are null: either nothing differs, or all does.
      measures[name] = of.getNumber(name).value_or(
          measure == Measure::Snr ? 200 : std::numeric_limits<double>::max());
    }
  }
  return errors;
}

FailureOr<QuantizedModel> Quantization::run() {
  if (!folder.error.empty())
    return error() << "no folder for temporary files: " << folder.error,
           failure();
  std::string fault = model.read(options.input);
  if (!fault.empty())
    return emitError(UnknownLoc::get(&context)) << fault, failure();
  size_t count = model.products().size();
  if (!count)
    return error() << "--precision: found no Conv, Gemm or MatMul of f32 with "
                      "constant weights, expected one that can be in 8 bits",
           failure();
  exact = folder.file("exact.nnv");
  if (failed(compileTo(exact, model.floats())) || failed(findRanges()))
    return failure();
  std::vector<bool> in8(count, true);
  QuantizedModel result;
  result.bytes = model.quantized(ranges, in8);
  auto errors = errorsOf(result.bytes, "second");
  if (failed(errors))
    return failure();
  llvm::raw_string_ostream os(result.report);
  os << "  precision  " << count << " of " << count
     << " products in 8 bits; over " << samples << " samples of " << files
     << " files:";
  for (Measure measure : calibrate::measures)
    os << (measure == calibrate::measures[0] ? " " : ", ")
       << calibrate::errorText(measure, errors->worst(measure));
  os << "\n";
  const std::optional<ErrorBound> &bound = options.precision.bound;
  if (bound && !bound->isMetBy(errors->worst(bound->measure)))
    return error() << "--max-error " << bound->text() << ": found "
                   << calibrate::errorText(bound->measure,
                                           errors->worst(bound->measure))
                   << " with " << count
                   << " products in 8 bits over the other half of the set",
           failure();
  return result;
}

FailureOr<QuantizedModel> nnv12::quantizeModel(const CompileOptions &options,
                                               MLIRContext &context,
                                               CompileModel compile) {
  return Quantization(options, context, compile).run();
}
