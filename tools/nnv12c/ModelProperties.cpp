//===- ModelProperties.cpp - A bundle's properties of its model -----------===//

#include "tools/nnv12c/ModelProperties.h"

#include "artifact/Limits.h"
#include "artifact/MappedFile.h"
#include "compiler/import/KnownProperties.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// The size of one property. More is no description, but data.
static constexpr size_t mostBytes = 1 << 20;

static InFlightDiagnostic error(ModuleOp module, const Twine &message) {
  return emitError(UnknownLoc::get(module.getContext())) << message;
}

static void leaveOut(ModuleOp module, StringRef key, const Twine &fault) {
  emitRemark(UnknownLoc::get(module.getContext()))
      << "property '" << key << "': " << fault << "; it is left out";
}

/// "" or the fault.
static std::string unfit(StringRef value) {
  if (value.contains('\0'))
    return "found a byte of zero, expected a text";
  if (value.size() > mostBytes)
    return "found " + std::to_string(value.size()) +
           " bytes, expected at most " + std::to_string(mostBytes);
  return "";
}

static Properties ownProperties(ModuleOp module) {
  Properties result;
  auto own = module->getAttrOfType<DictionaryAttr>("nn.properties");
  if (!own)
    return result;
  // Some room for those that are added.
  static constexpr size_t most = artifact::maxProperties / 2;
  for (NamedAttribute property : own) {
    StringRef key = property.getName();
    auto text = dyn_cast<StringAttr>(property.getValue());
    std::string fault = text ? unfit(text.getValue()) : "found no text";
    if (fault.empty() && (key.contains('\0') || key.size() > mostBytes))
      fault = "found such a key, expected a short text";
    if (fault.empty() && result.size() == most)
      fault = "found more than " + std::to_string(most);
    if (fault.empty())
      result[key.str()] = text.str();
    else
      leaveOut(module, key.take_front(80), fault);
  }
  return result;
}

/// How many channels a picture would have: one of 1 or 3, else 0.
static unsigned channelsOf(int64_t extent) {
  return extent == 1 || extent == 3 ? unsigned(extent) : 0;
}

static PropertyShapes shapesOf(func::FuncOp main) {
  PropertyShapes shapes;
  for (Type type : main.getArgumentTypes()) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
    if (shape.size() == 4 && shape[0] == 1)
      shape = shape.drop_front();
    if (shape.size() != 3)
      continue;
    shapes.channelsFirst = channelsOf(shape[0]);
    shapes.channelsLast = channelsOf(shape[2]);
    if (shapes.channelsFirst || shapes.channelsLast)
      break;
  }
  if (main.getNumResults()) {
    auto scores = cast<RankedTensorType>(main.getResultTypes()[0]);
    // One number is no score of a class.
    bool isVector = llvm::count_if(scores.getShape(), [](int64_t extent) {
                      return extent != 1;
                    }) == 1;
    if (isVector)
      shapes.classes = uint64_t(scores.getNumElements());
  }
  return shapes;
}

/// The lines of the file of --labels.
static FailureOr<std::string> readLabels(ModuleOp module,
                                         const std::string &path) {
  artifact::MappedFile file;
  artifact::Fault fault;
  if (!file.open(path.c_str(), fault))
    return error(module, path + ": " + fault.text);
  std::string text(reinterpret_cast<const char *>(file.data()), file.size());
  // As lines, whatever they hold.
  llvm::erase(text, '\r');
  std::string wrong = unfit(text);
  if (wrong.empty() && text.find_first_not_of('\n') == std::string::npos)
    wrong = "found no name, expected one a class, a line each";
  if (!wrong.empty())
    return error(module, path + ": labels: " + wrong);
  if (text.back() == '\n')
    text.pop_back();
  return text;
}

/// The options' properties. `places` says by which option.
static FailureOr<Properties>
optionProperties(ModuleOp module, const CompileOptions &options,
                 std::map<std::string, std::string> &places) {
  Properties result;
  for (const auto &[key, given] : options.properties) {
    std::string value = given, place = "--property " + key;
    std::string fault = unfit(value);
    if (fault.empty() && isKnownProperty(key))
      fault = normalizeProperty(key, value);
    if (fault.empty() && !result.try_emplace(key, value).second)
      fault = "found twice, expected once";
    if (!fault.empty())
      return error(module, place + ": " + fault);
    places[key] = place;
  }
  if (options.labels.empty())
    return result;
  auto labels = readLabels(module, options.labels);
  if (failed(labels))
    return failure();
  if (!result.try_emplace("labels", *labels).second)
    return error(module, "--labels: found --property labels as well, expected "
                         "one of them");
  places["labels"] = options.labels + ": labels";
  return result;
}

FailureOr<std::vector<artifact::Property>>
nnv12::modelProperties(ModuleOp module, func::FuncOp main,
                       const CompileOptions &options) {
  PropertyShapes shapes = shapesOf(main);
  std::map<std::string, std::string> places;
  auto given = optionProperties(module, options, places);
  if (failed(given))
    return failure();
  LogicalResult isGood = success();
  // The order of dimensions may be the model's to say.
  Properties own = ownProperties(module), checked = *given;
  Properties known =
      knownProperties(own, [&](StringRef key, const std::string &fault) {
        leaveOut(module, key, fault);
      });
  if (auto layout = known.find("layout"); layout != known.end())
    checked.insert(*layout);
  checkProperties(checked, shapes,
                  [&](StringRef key, const std::string &fault) {
                    auto place = places.find(key.str());
                    if (place != places.end() && succeeded(isGood)) {
                      error(module, place->second + ": " + fault);
                      isGood = failure();
                    }
                  });
  if (failed(isGood))
    return failure();
  // A property that an option sets need not be right in the model.
  Properties all = *given;
  all.insert(known.begin(), known.end());
  std::vector<std::string> wrong;
  checkProperties(all, shapes, [&](StringRef key, const std::string &fault) {
    leaveOut(module, key, fault);
    wrong.push_back(key.str());
  });
  for (const std::string &key : wrong)
    all.erase(key);
  // The model's own of these names are either normalized by now or wrong.
  for (auto &[key, value] : own)
    if (!isKnownProperty(key))
      all.try_emplace(key, value);
  std::vector<artifact::Property> result;
  for (auto &[key, value] : all)
    result.push_back({key, value});
  if (result.size() > artifact::maxProperties)
    return error(module, "--property: found more than " +
                             Twine(artifact::maxProperties) +
                             " properties, expected fewer");
  return result;
}
