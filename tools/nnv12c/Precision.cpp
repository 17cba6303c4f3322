//===- Precision.cpp - Layers in fewer bits, as samples allow -------------===//

#include "tools/nnv12c/Precision.h"

#include "artifact/AtomicFile.h"
#include "artifact/InputFiles.h"
#include "compiler/import/Import.h"
#include "compiler/quantize/QuantizableModel.h"
#include "dialects/nn/Layout.h"
#include "tools/nnv12c/PrecisionChoice.h"
#include "tools/nnv12c/PrecisionReport.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace nnv12;
using calibrate::ErrorBound;
using calibrate::Measure;
using quantize::QuantizableModel;

/// Outputs of a bundle that observes take so many bytes at most, but for one.
static constexpr uint64_t mostObserved = 24 << 20;

namespace {
/// One model on its way to fewer bits.
class Quantization {
public:
  Quantization(const CompileOptions &options, MLIRContext &context,
               CompileModel compile, PriceModel price)
      : options(options), context(context), price(std::move(price)),
        observer(options, context, std::move(compile)) {}
  FailureOr<QuantizedModel> run();

private:
  InFlightDiagnostic error() const {
    return emitError(UnknownLoc::get(&context)) << options.input << ": ";
  }
  LogicalResult findSizes();
  std::vector<std::vector<std::string>> chunksOfValues() const;
  LogicalResult findRanges();
  LogicalResult addRanges(const std::vector<ObservedTensor> &tensors);
  LogicalResult checkInputs(const std::vector<ObservedTensor> &inputs) const;
  LogicalResult checkBound();
  FailureOr<QuantizedModel> inBytes();
  FailureOr<QuantizedModel> roundedWeights();
  FailureOr<QuantizedModel> chosen();
  FailureOr<QuantizedModel> measured(QuantizedModel made, std::string what);
  LogicalResult checkReport() const;
  LogicalResult write(const PrecisionReport &report) const;

  const CompileOptions &options;
  MLIRContext &context;
  PriceModel price;
  Observer observer;
  QuantizableModel model;
  std::map<std::string, uint64_t> elements; ///< of tensors that can be observed
  QuantizableModel::Ranges ranges;
  size_t equalized = 0; ///< pairs of products
};
} // namespace

LogicalResult Quantization::findSizes() {
  TensorNames names;
  ImportOptions import = options.import;
  import.names = &names;
  import.outputs.clear();
  auto module =
      importOnnxBuffer(model.floats(), options.input, import, context);
  if (!module)
    return failure();
  std::map<std::string, uint64_t> all;
  for (const auto &[name, value] : names.tensors)
    all[name] = uint64_t(nn::typeOf(value).getNumElements());
  // Others the importer has computed, or left out.
  for (const std::string &value : model.values())
    if (auto size = all.find(value); size != all.end())
      elements.insert(*size);
  return success();
}

/// The values to be observed, in parts that one bundle has memory for.
std::vector<std::vector<std::string>> Quantization::chunksOfValues() const {
  std::vector<std::vector<std::string>> chunks;
  uint64_t left = 0;
  for (const std::string &value : model.values()) {
    auto count = elements.find(value);
    if (model.isInput(value) || count == elements.end())
      continue;
    uint64_t size = count->second * sizeof(float);
    if (chunks.empty() || size > left) {
      chunks.emplace_back();
      left = mostObserved;
    }
    chunks.back().push_back(value);
    left -= std::min(left, size);
  }
  return chunks;
}

LogicalResult
Quantization::addRanges(const std::vector<ObservedTensor> &tensors) {
  for (const ObservedTensor &of : tensors) {
    if (of.notFinite)
      return error() << "tensor '" << of.name << "': found NaN or infinity in "
                     << of.notFinite
                     << " elements over the set, expected finite numbers";
    ranges[of.name] = {calibrate::rangeOf(of.values, options.precision.ranges),
                       of.means, of.largest};
  }
  return success();
}

/// Some input has to change; states of a stream may be all zeros.
LogicalResult
Quantization::checkInputs(const std::vector<ObservedTensor> &inputs) const {
  bool isAnyAlive = llvm::any_of(inputs, [](const ObservedTensor &of) {
    return of.notFinite || of.values.least() != of.values.most();
  });
  if (isAnyAlive || inputs.empty())
    return success();
  return error() << "input '" << inputs[0].name << "': found "
                 << llvm::formatv("{0}", inputs[0].values.least())
                 << " alone over the set, expected samples with different "
                    "numbers";
}

/// A bound that is for other models is refused before the work.
LogicalResult Quantization::checkBound() {
  const std::optional<ErrorBound> &bound = options.precision.bound;
  if (!bound || !calibrate::isOfModel(bound->measure))
    return success();
  std::string floats = model.floats();
  return success(
      succeeded(observer.observe({floats, {}, floats}, "first", 0, "measure")));
}

LogicalResult Quantization::findRanges() {
  std::vector<std::vector<std::string>> chunks = chunksOfValues();
  if (chunks.empty())
    chunks.emplace_back(); // the model's own outputs, and with them its inputs
  for (const auto &chunk : chunks) {
    auto found =
        observer.observe({model.floats(), chunk}, "first", 0, "ranges");
    if (failed(found) || failed(checkInputs(found->inputs)) ||
        failed(addRanges(found->inputs)) ||
        (!chunk.empty() && failed(addRanges(found->outputs))))
      return failure();
  }
  return success();
}

/// Fails where the report could not be written, before anything is measured.
LogicalResult Quantization::checkReport() const {
  const std::string &path = options.precision.report;
  if (path.empty())
    return success();
  assert(options.import.inputs && "they are noted");
  artifact::AtomicFile file;
  artifact::Fault fault;
  if (path == options.output)
    fault.set(artifact::Fault::InvalidArgument,
              "found the name of -o as well, expected another one");
  else if (options.import.inputs->allowsWriting(path, fault) &&
           file.open(path.c_str(), fault))
    return success();
  return emitError(UnknownLoc::get(&context))
         << "--precision-report: " << path << ": " << fault.text;
}

LogicalResult Quantization::write(const PrecisionReport &report) const {
  const std::string &path = options.precision.report;
  if (path.empty())
    return success();
  StringRef extension = llvm::sys::path::extension(path);
  std::string text = extension == ".svg"    ? report.svg()
                     : extension == ".json" ? report.json()
                                            : report.text();
  artifact::AtomicFile file;
  artifact::Fault fault;
  if (file.open(path.c_str(), fault) &&
      file.write(text.data(), text.size(), fault) &&
      file.commit(fault, artifact::AtomicFile::Durability::None))
    return success();
  return emitError(UnknownLoc::get(&context)) << path << ": " << fault.text;
}

/// Adds the errors to the report, which `what` begins. Fails where the bound is
/// not kept.
FailureOr<QuantizedModel> Quantization::measured(QuantizedModel made,
                                                 std::string what) {
  made.weights = options.weights;
  auto found = observer.observe({model.floats(), {}, made.bytes, made.weights},
                                "second", 0, "error");
  if (failed(found))
    return failure();
  llvm::raw_string_ostream os(made.report);
  os << "  precision  " << what
     << (equalized ? ", " + std::to_string(equalized) + " pairs equalised" : "")
     << "; over " << found->samples << " samples of " << found->files
     << " files: " << found->errors.text(std::nullopt) << "\n";
  const std::optional<ErrorBound> &bound = options.precision.bound;
  if (bound && !bound->isMetBy(found->errors.worst(bound->measure)))
    return error() << "--max-error " << bound->text() << ": found "
                   << calibrate::errorText(bound->measure,
                                           found->errors.worst(bound->measure))
                   << " with " << what << " over the other half of the set",
           failure();
  if (options.precision.report.empty())
    return made;
  PrecisionChoice layers(options, context, model, ranges, elements, observer,
                         price);
  if (failed(layers.prepare()) || failed(write(layers.report())))
    return failure();
  return made;
}

/// All products that can be are in 8 bits.
FailureOr<QuantizedModel> Quantization::inBytes() {
  std::vector<bool> in8 = model.allWith(ranges);
  unsigned count = 0, products = 0;
  for (size_t i = 0; i < in8.size(); ++i) {
    products += model.layers()[i].isProduct();
    count += model.layers()[i].isProduct() && in8[i];
  }
  return measured(
      {model.quantized(ranges, in8), {}, {}, {}},
      llvm::formatv("{0} of {1} products in 8 bits", count, products).str());
}

/// All layers stay float, with the rounded weights of the options.
FailureOr<QuantizedModel> Quantization::roundedWeights() {
  if (options.precision.bound)
    return chosen();
  return measured({model.floats(), {}, {}, {}}, "all in f32, rounded weights");
}

FailureOr<QuantizedModel> Quantization::chosen() {
  PrecisionChoice layers(options, context, model, ranges, elements, observer,
                         price);
  if (failed(layers.prepare()))
    return failure();
  auto chosen = layers.choose();
  if (failed(chosen) || failed(write(layers.report())))
    return failure();
  QuantizedModel result;
  result.bytes = layers.bytesOf(*chosen);
  result.weights = std::move(chosen->weights);
  result.report = layers.summary();
  if (equalized)
    result.report +=
        "             " + std::to_string(equalized) + " pairs equalised\n";
  result.property = layers.report().json(/*isOneLine=*/true);
  return result;
}

FailureOr<QuantizedModel> Quantization::run() {
  std::string fault = model.read(options.input, options.import.externalData,
                                 options.import.inputs);
  if (!fault.empty())
    return emitError(UnknownLoc::get(&context)) << fault, failure();
  bool isOfWeights = options.precision.precision == Precision::F32;
  if (!isOfWeights && llvm::none_of(model.layers(), [](const auto &layer) {
        return layer.isProduct();
      }))
    return error() << "--precision: found no Conv, Gemm or MatMul of f32 with "
                      "constant weights, expected one that can be in 8 bits",
           failure();
  if (failed(checkReport()) || failed(checkBound()))
    return failure();
  if (isOfWeights)
    return roundedWeights();
  if (failed(findSizes()) || failed(findRanges()))
    return failure();
  equalized = options.precision.equalize ? model.equalize(ranges) : 0;
  // Other values have other ranges.
  if (equalized && failed(findRanges()))
    return failure();
  return options.precision.precision == Precision::Hybrid ? chosen()
                                                          : inBytes();
}

FailureOr<QuantizedModel> nnv12::quantizeModel(const CompileOptions &options,
                                               MLIRContext &context,
                                               CompileModel compile,
                                               PriceModel price) {
  return Quantization(options, context, std::move(compile), std::move(price))
      .run();
}
