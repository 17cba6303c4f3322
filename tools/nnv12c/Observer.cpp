//===- Observer.cpp - Runs models over a set of samples -------------------===//

#include "tools/nnv12c/Observer.h"

#include "artifact/Digest.h"
#include "artifact/Hexadecimal.h"
#include "compiler/device/CacheFolder.h"
#include "mlir/IR/Diagnostics.h"
#include "tools/nnv12c/CodeRevision.h"
#include "tools/nnv12c/HostTuning.h"
#include "tools/nnv12c/Stage.h"
#include "tools/nnv12c/Subprogram.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <algorithm>

using namespace mlir;
using namespace nnv12;
using calibrate::ErrorBound;
using calibrate::Histogram;
using calibrate::Measure;
namespace fs = llvm::sys::fs;

/// Reports in the cache at most.
static constexpr size_t mostReports = 200;

bool OutputErrors::has(Measure measure) const {
  return !measures.empty() && measures.front().count(measure);
}

std::string OutputErrors::text(const std::optional<ErrorBound> &bound) const {
  std::string text;
  auto add = [&](Measure measure) {
    if (!has(measure))
      return;
    text += (text.empty() ? "" : ", ") +
            calibrate::errorText(measure, worst(measure));
    if (bound && bound->measure == measure)
      text += " of " + bound->text();
  };
  for (Measure measure : calibrate::measures)
    add(measure);
  for (Measure measure : calibrate::modelMeasures)
    add(measure);
  return text;
}

double OutputErrors::worst(Measure measure) const {
  std::optional<double> result;
  for (const auto &of : measures) {
    double value = of.find(measure)->second;
    if (!result || calibrate::isBetter(measure, *result, value))
      result = value;
  }
  return result.value_or(0);
}

/// The name, size and time of a file, or of those in a folder.
static void addState(const llvm::Twine &path, std::string &to) {
  fs::file_status status;
  if (fs::status(path, status))
    return;
  to += llvm::formatv(
      "{0} {1} {2}\n", path.str(), status.getSize(),
      status.getLastModificationTime().time_since_epoch().count());
  if (status.type() != fs::file_type::directory_file)
    return;
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator it(path, code), end; !code && it != end;
       it.increment(code))
    names.push_back(it->path());
  llvm::sort(names);
  for (const std::string &name : names)
    addState(name, to);
}

static std::string digestOf(const std::string &text) {
  artifact::Digest digest = artifact::digestOf(text.data(), text.size());
  return artifact::hexadecimal(digest.bytes, 16);
}

Observer::Observer(const CompileOptions &options, MLIRContext &context,
                   CompileModel compile)
    : options(options), context(context), compile(std::move(compile)) {
  if (options.tuning.useCache)
    cache = usableCacheFolder(options.tuning);
  identity = codeRevision() + "\n";
  std::string here = fs::getMainExecutable(nullptr, nullptr);
  addState(here, identity);
  addState(llvm::sys::path::parent_path(here) + "/nnv12-observe", identity);
  for (const auto &[name, shape] : options.import.shapes)
    identity += llvm::formatv("{0}={1:$[,]}\n", name,
                              llvm::make_range(shape.begin(), shape.end()));
  for (const auto &[name, file] : options.import.constants) {
    identity += name + "=";
    addState(file, identity);
  }
  for (const auto &[key, value] : options.properties)
    identity += key + "=" + value + "\n";
  for (const std::string &name : options.import.outputs)
    identity += name + "\n";
  identity += std::to_string(int(options.import.random));
  addState(options.labels, identity);
  addState(options.precision.calibration.path, identity);
}

InFlightDiagnostic Observer::error() const {
  return emitError(UnknownLoc::get(&context)) << options.input << ": ";
}

static std::string textOf(const WeightOptions &weights) {
  std::string text = std::to_string(int(weights.bits));
  for (const auto &[name, bits] : weights.layers)
    text += "\n" + name + "=" + std::to_string(int(bits));
  return text;
}

FailureOr<std::string> Observer::bundleOf(const std::string &bytes,
                                          std::vector<std::string> outputs,
                                          const WeightOptions &weights) {
  if (!folder.error.empty())
    return error() << "no folder for temporary files: " << folder.error,
           failure();
  std::string key = bytes + textOf(weights);
  for (const std::string &output : outputs)
    key += "\n" + output;
  auto [known, isNew] = bundles.try_emplace(digestOf(key));
  if (!isNew)
    return known->second;
  known->second = folder.file(std::to_string(bundles.size()) + ".nnv");
  CompileOptions how = options;
  how.modelBytes = std::make_shared<const std::string>(bytes);
  how.output = known->second;
  how.emit = Emit::Bundle;
  how.precision = {};
  how.weights = weights;
  how.video = VideoMode::Off;
  how.clip = {};
  how.targets.clear();
  how.profile.clear();
  how.gpuProfile.clear();
  how.plan.gpu.clear();
  how.plan.gpuForce = false;
  how.signingKey.clear();
  how.summary = how.timing = false;
  if (!outputs.empty())
    how.import.outputs = std::move(outputs);
  if (failed(compile(how)))
    return failure();
  return known->second;
}

std::string Observer::keyOf(const ObservedModels &models,
                            const std::vector<std::string> &arguments) const {
  std::string text = identity;
  for (const std::string *bytes :
       {&models.model, &models.against, &models.switched})
    text += "\n" + digestOf(*bytes);
  text += "\n" + textOf(models.weights);
  for (const auto *list : {&models.outputs, &arguments})
    for (const std::string &element : *list)
      text += "\n" + element;
  return digestOf(text);
}

/// Removes the oldest reports where there are too many.
static void removeOldest(const std::string &folder) {
  std::vector<std::pair<llvm::sys::TimePoint<>, std::string>> reports;
  std::error_code code;
  for (fs::directory_iterator it(folder, code), end; !code && it != end;
       it.increment(code)) {
    auto status = it->status();
    if (status && llvm::sys::path::extension(it->path()) == ".observed")
      reports.emplace_back(status->getLastModificationTime(), it->path());
  }
  llvm::sort(reports);
  for (size_t i = 0; i + mostReports < reports.size(); ++i)
    fs::remove(reports[i].second);
}

FailureOr<std::string> Observer::run(const ObservedModels &models,
                                     std::vector<std::string> arguments) {
  std::string kept =
      cache.empty() ? "" : cache + "/" + keyOf(models, arguments) + ".observed";
  std::string fault;
  if (!kept.empty() && device::isCacheFile(kept, fault))
    if (auto buffer = llvm::MemoryBuffer::getFile(kept))
      return (*buffer)->getBuffer().str();
  auto bundle = bundleOf(models.model, models.outputs);
  if (failed(bundle))
    return failure();
  arguments.insert(arguments.begin(), *bundle);
  auto add = [&](const char *option, const std::string &bytes,
                 const WeightOptions &weights) -> LogicalResult {
    if (bytes.empty())
      return success();
    auto other = bundleOf(bytes, {}, weights);
    if (succeeded(other))
      arguments.insert(arguments.end(), {option, *other});
    return success(succeeded(other));
  };
  if (failed(add("--against", models.against, models.weights)) ||
      failed(add("--switched", models.switched, {})))
    return failure();
  std::string report = folder.file("report.json");
  arguments.insert(arguments.end(), {"-o", report});
  fault = runSubprogram("nnv12-observe", arguments, /*showsProgress=*/true);
  if (!fault.empty())
    return emitError(UnknownLoc::get(&context)) << fault, failure();
  auto buffer = llvm::MemoryBuffer::getFile(report);
  if (!buffer)
    return error() << report << ": cannot read", failure();
  std::string text = (*buffer)->getBuffer().str();
  // A cache that cannot be written is none.
  if (!kept.empty() && device::writeCacheFile(kept, text).empty())
    removeOldest(cache);
  return text;
}

/// The errors of a list of outputs.
static std::optional<OutputErrors> errorsIn(const llvm::json::Object *of) {
  const llvm::json::Array *outputs = of ? of->getArray("outputs") : nullptr;
  if (!outputs)
    return std::nullopt;
  OutputErrors errors;
  for (const llvm::json::Value &element : *outputs) {
    const llvm::json::Object *output = element.getAsObject();
    if (!output)
      return std::nullopt;
    errors.names.push_back(output->getString("name").value_or("").str());
    std::map<Measure, double> &values = errors.measures.emplace_back();
    for (Measure measure : calibrate::measures)
      // NaN is null.
      values[measure] = output->getNumber(calibrate::measureName(measure))
                            .value_or(calibrate::worstValue(measure));
    // Each output has the measures of the model.
    for (Measure measure : calibrate::modelMeasures)
      if (auto value = of->getNumber(calibrate::measureName(measure)))
        values[measure] = *value;
  }
  return errors;
}

static std::vector<double> numbersIn(const llvm::json::Array *list) {
  std::vector<double> numbers;
  for (size_t i = 0; list && i < list->size(); ++i)
    numbers.push_back((*list)[i].getAsNumber().value_or(0));
  return numbers;
}

static std::optional<ObservedTensor> tensorIn(const llvm::json::Object *of) {
  const llvm::json::Array *counts = of ? of->getArray("counts") : nullptr;
  if (!counts)
    return std::nullopt;
  std::vector<uint64_t> bins;
  for (const llvm::json::Value &count : *counts)
    bins.push_back(count.getAsUINT64().value_or(0));
  return ObservedTensor{of->getString("name").value_or("").str(),
                        Histogram(of->getNumber("limit").value_or(0),
                                  of->getInteger("first").value_or(0), bins,
                                  float(of->getNumber("least").value_or(0)),
                                  float(of->getNumber("most").value_or(0))),
                        numbersIn(of->getArray("means")),
                        numbersIn(of->getArray("largest")),
                        of->getInteger("not_finite").value_or(0)};
}

FailureOr<Observation> Observer::parse(const std::string &report) const {
  auto bad = [&] {
    return error() << "nnv12-observe: found a report that cannot be read",
           failure();
  };
  auto json = llvm::json::parse(report);
  if (!json) {
    llvm::consumeError(json.takeError());
    return bad();
  }
  const llvm::json::Object *all = json->getAsObject();
  if (!all)
    return bad();
  Observation result;
  result.samples = all->getInteger("samples").value_or(0);
  result.files = all->getInteger("files").value_or(0);
  auto forEach = [&](const char *list, auto &&add) {
    const llvm::json::Array *elements = all->getArray(list);
    return !elements ||
           llvm::all_of(*elements, [&](const llvm::json::Value &element) {
             return add(element.getAsObject());
           });
  };
  auto addTensor = [](std::vector<ObservedTensor> &to) {
    return [&to](const llvm::json::Object *of) {
      auto tensor = tensorIn(of);
      if (tensor)
        to.push_back(std::move(*tensor));
      return tensor.has_value();
    };
  };
  bool isGood = forEach("inputs", addTensor(result.inputs)) &&
                forEach("outputs", addTensor(result.outputs)) &&
                forEach("against",
                        [&](const llvm::json::Object *of) {
                          auto errors = errorsIn(of);
                          if (errors)
                            result.errors = std::move(*errors);
                          return errors.has_value();
                        }) &&
                forEach("switches", [&](const llvm::json::Object *of) {
                  auto errors = errorsIn(of);
                  if (errors)
                    result.switches.push_back(std::move(*errors));
                  return errors.has_value();
                });
  if (!isGood)
    return bad();
  return result;
}

FailureOr<Observation> Observer::observe(const ObservedModels &models,
                                         const char *half, unsigned mostSamples,
                                         const char *what) {
  Stage stage(options, what);
  const Calibration &set = options.precision.calibration;
  std::vector<std::string> arguments = {"--half", half, "--purpose", what};
  const std::optional<calibrate::ErrorBound> &bound = options.precision.bound;
  if (bound && calibrate::isOfModel(bound->measure) && !models.against.empty())
    arguments.insert(arguments.end(),
                     {"--measure", calibrate::measureName(bound->measure)});
  if (set.random)
    arguments.insert(arguments.end(), {"--random", std::to_string(set.random)});
  else
    arguments.insert(arguments.end(),
                     {"--set", set.path, "--crops", std::to_string(set.crops)});
  unsigned most = set.samples;
  if (mostSamples && (!most || mostSamples < most))
    most = mostSamples;
  if (most)
    arguments.insert(arguments.end(), {"--samples", std::to_string(most)});
  auto report = run(models, std::move(arguments));
  if (failed(report))
    return failure();
  return parse(*report);
}
