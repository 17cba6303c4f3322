//===- KnownProperties.cpp - Known properties of inputs -------------------===//

#include "compiler/import/KnownProperties.h"

#include "compiler/import/PropertyNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace nnv12;
using namespace nnv12::importer;
using llvm::StringRef;
using Report = llvm::function_ref<void(StringRef, const std::string &)>;

//===----------------------------------------------------------------------===//
// Forms of values
//===----------------------------------------------------------------------===//

static std::string found(StringRef value, const llvm::Twine &expected) {
  static constexpr size_t enough = 80;
  return ("found '" + value.take_front(enough) +
          (value.size() > enough ? "...'" : "'") + ", expected " + expected)
      .str();
}

/// Numbers as people and Python write them: "0.5", "1,2,3", "[1, 2, 3]",
/// "(1, 2, 3)", "1 2 3".
static llvm::SmallVector<StringRef> numbersIn(StringRef text) {
  text = text.trim();
  if ((text.starts_with("[") && text.ends_with("]")) ||
      (text.starts_with("(") && text.ends_with(")")))
    text = text.drop_front().drop_back().trim().rtrim(',');
  llvm::SmallVector<StringRef> parts;
  if (text.contains(',')) {
    text.split(parts, ',');
    for (StringRef &part : parts)
      part = part.trim();
  } else {
    llvm::SplitString(text, parts);
  }
  return parts;
}

namespace {
enum class Numbers { any, divisors, oneFactor };
} // namespace

/// A refusal says `expected`.
template <Numbers kind>
static std::string normalizeNumbers(std::string &value) {
  llvm::SmallVector<StringRef> parts = numbersIn(value);
  constexpr bool isOne = kind == Numbers::oneFactor;
  const char *expected = isOne ? "one number other than 0"
                         : kind == Numbers::divisors
                             ? "numbers other than 0 with commas between them"
                             : "numbers with commas between them";
  if (parts.empty() || (isOne && parts.size() > 1))
    return found(value, expected);
  for (StringRef part : parts) {
    double number;
    if (part.getAsDouble(number) || !std::isfinite(number) ||
        (kind != Numbers::any && number == 0))
      return found(value, expected);
  }
  value = llvm::join(parts, ",");
  return "";
}

static std::string normalizeWord(std::string &value,
                                 llvm::ArrayRef<StringRef> words) {
  std::string lower = StringRef(value).trim().lower();
  if (!llvm::is_contained(words, StringRef(lower)))
    return found(value, "one of " + llvm::join(words, "|"));
  value = lower;
  return "";
}

static std::string normalizeRate(std::string &value) {
  StringRef text = StringRef(value).trim();
  unsigned rate = 0;
  constexpr unsigned most = 999999999;
  if (text.getAsInteger(10, rate) || rate == 0 || rate > most)
    return found(value, "a whole number of samples a second");
  value = std::to_string(rate);
  return "";
}

/// Reads lines, or the text of parseNames(), or words with commas between them.
static std::string normalizeLabels(std::string &value) {
  StringRef text = StringRef(value).trim();
  std::vector<std::string> names;
  if (text.starts_with("{") || text.starts_with("[")) {
    std::string fault = parseNames(text, names);
    if (!fault.empty())
      return fault;
  } else {
    // A file of lines ends with one.
    StringRef lines = value;
    lines.consume_back("\n");
    bool isList = !lines.contains('\n') && lines.contains(',');
    llvm::SmallVector<StringRef> parts;
    lines.split(parts, isList ? ',' : '\n');
    for (StringRef part : parts)
      names.push_back((isList ? part.trim() : part.rtrim('\r')).str());
  }
  for (const std::string &name : names)
    if (StringRef(name).contains('\n'))
      return found(name, "a name of one line");
  if (names.size() == 1 && names[0].empty())
    return "found no name, expected one a class";
  value = llvm::join(names, "\n");
  return "";
}

namespace {
struct Known {
  StringRef key;
  std::string (*normalize)(std::string &value);
};
} // namespace

static const Known known[] = {
    {"color",
     [](std::string &value) { return normalizeWord(value, {"rgb", "bgr"}); }},
    {"fit",
     [](std::string &value) {
       return normalizeWord(value, {"stretch", "crop", "pad"});
     }},
    {"labels", normalizeLabels},
    {"layout",
     [](std::string &value) { return normalizeWord(value, {"nchw", "nhwc"}); }},
    {"mean", normalizeNumbers<Numbers::any>},
    {"sample_rate", normalizeRate},
    {"scale", normalizeNumbers<Numbers::oneFactor>},
    {"std", normalizeNumbers<Numbers::divisors>}};

static const Known *find(StringRef key) {
  for (const Known &one : known)
    if (one.key == key)
      return &one;
  return nullptr;
}

bool importer::isKnownProperty(StringRef key) { return find(key); }

std::string importer::normalizeProperty(StringRef key, std::string &value) {
  const Known *one = find(key);
  assert(one && "a known key");
  return one->normalize(value);
}

void importer::checkProperties(const Properties &properties,
                               const PropertyShapes &shapes, Report report) {
  auto layout = properties.find("layout");
  bool isLast = layout != properties.end() && layout->second == "nhwc";
  bool isFirst = layout != properties.end() && !isLast;
  unsigned channels = !isLast && shapes.channelsFirst   ? shapes.channelsFirst
                      : !isFirst && shapes.channelsLast ? shapes.channelsLast
                                                        : 0;
  for (const auto &[key, value] : properties) {
    // The input for sound may be any.
    if (!find(key) || key == "sample_rate")
      continue;
    if (key == "labels") {
      uint64_t count = StringRef(value).count('\n') + 1;
      if (shapes.classes && count != shapes.classes)
        report(key, "found " + std::to_string(count) + " names, expected the " +
                        std::to_string(shapes.classes) +
                        " of the first output");
      continue;
    }
    if (!channels) {
      report(key, found(value, "an input that is a picture of 1 or 3 "
                               "channels"));
      continue;
    }
    size_t count = StringRef(value).count(',') + 1;
    if (count != 1 && count != channels)
      report(key,
             found(value, channels > 1 ? "1 number, or one for each of " +
                                             llvm::Twine(channels) + " channels"
                                       : "1 number, for the one channel"));
  }
}

//===----------------------------------------------------------------------===//
// Keys that exporters write
//===----------------------------------------------------------------------===//

namespace {
/// A key of an exporter. `read` returns a fault, or an empty text.
struct Source {
  StringRef key;
  std::string (*read)(StringRef value, Properties &result);
};
} // namespace

/// One that is known already stays: sources are in order.
static void add(Properties &result, StringRef key, const llvm::Twine &value) {
  result.try_emplace(key.str(), value.str());
}

template <const char *key>
static std::string readAs(StringRef value, Properties &result) {
  std::string normal = value.str();
  std::string fault = normalizeProperty(key, normal);
  if (fault.empty())
    add(result, key, normal);
  return fault;
}
static constexpr char labels[] = "labels", mean[] = "mean", deviation[] = "std",
                      scale[] = "scale", color[] = "color", layout[] = "layout",
                      fit[] = "fit", sampleRate[] = "sample_rate";

/// Ultralytics writes Python's text of a dictionary, or of a list.
static std::string readNames(StringRef value, Properties &result) {
  std::vector<std::string> names;
  std::string fault = parseNames(value, names);
  return fault.empty() ? readAs<labels>(value, result) : fault;
}

/// ONNX's documentation (MetadataProps.md): keys and values in any case.
static std::string readPixelFormat(StringRef value, Properties &result) {
  std::string lower = value.lower();
  if (lower == "rgb8" || lower == "bgr8")
    add(result, "color", StringRef(lower).drop_back());
  else if (lower != "gray8" && lower != "rgba8" && lower != "bgra8")
    return found(value, "one of Gray8|Rgb8|Bgr8|Rgba8|Bgra8");
  return "";
}

static std::string readPixelRange(StringRef value, Properties &result) {
  static constexpr struct {
    StringRef name, scale, mean;
  } ranges[] = {{"nominalrange_0_255", "1", "0"},
                {"normalized_0_1", "0.00392156862745098", "0"},
                {"normalized_1_1", "0.00784313725490196", "1"},
                {"nominalrange_16_235", "0.858823529411765", "-16"}};
  for (const auto &range : ranges)
    if (value.equals_insensitive(range.name)) {
      add(result, "scale", range.scale);
      add(result, "mean", range.mean);
      return "";
    }
  return found(value, "one of NominalRange_0_255|Normalized_0_1|"
                      "Normalized_1_1|NominalRange_16_235");
}

/// OpenVINO's Model API: words with spaces between them.
static std::string readModelInfoLabels(StringRef value, Properties &result) {
  llvm::SmallVector<StringRef> parts;
  llvm::SplitString(value, parts);
  if (parts.empty())
    return found(value, "names with spaces between them");
  add(result, "labels", llvm::join(parts, "\n"));
  return "";
}

/// There pixels are 0 to 255 when means are subtracted.
template <const char *key>
static std::string readUnscaled(StringRef value, Properties &result) {
  std::string fault = readAs<key>(value, result);
  if (fault.empty())
    add(result, "scale", "1");
  return fault;
}

/// Reads whether pictures are blue, green, red.
static std::string readReversed(StringRef value, Properties &result) {
  bool isReversed = value.equals_insensitive("true") ||
                    value.equals_insensitive("yes") || value == "1";
  if (!isReversed && !value.equals_insensitive("false") &&
      !value.equals_insensitive("no") && value != "0")
    return found(value, "True or False");
  add(result, "color", isReversed ? "rgb" : "bgr");
  return "";
}

/// Others, which place the picture at a corner, are not done.
static std::string readResizeType(StringRef value, Properties &result) {
  if (value == "standard")
    add(result, "fit", "stretch");
  else if (value == "crop")
    add(result, "fit", "crop");
  else if (value == "fit_to_window_letterbox")
    add(result, "fit", "pad");
  return "";
}

/// If several say the same, the first one counts.
static const Source sources[] = {
    // Ours.
    {"labels", readAs<labels>},
    {"mean", readAs<mean>},
    {"std", readAs<deviation>},
    {"scale", readAs<scale>},
    {"color", readAs<color>},
    {"layout", readAs<layout>},
    {"fit", readAs<fit>},
    {"sample_rate", readAs<sampleRate>},
    // Ultralytics; others.
    {"names", readNames},
    {"class_names", readAs<labels>},
    {"classes", readAs<labels>},
    // Hugging Face's configurations.
    {"id2label", readNames},
    {"image_mean", readAs<mean>},
    {"image_std", readAs<deviation>},
    {"rescale_factor", readAs<scale>},
    // ONNX.
    {"Image.BitmapPixelFormat", readPixelFormat},
    {"Image.NominalPixelRange", readPixelRange},
    // OpenVINO's Model API.
    {"model_info labels", readModelInfoLabels},
    {"model_info mean_values", readUnscaled<mean>},
    {"model_info scale_values", readUnscaled<deviation>},
    {"model_info reverse_input_channels", readReversed},
    {"model_info resize_type", readResizeType}};

Properties importer::knownProperties(const Properties &model, Report report) {
  Properties result;
  for (const Source &source : sources) {
    bool isOnnx = source.key.starts_with("Image.");
    for (const auto &[key, value] : model) {
      if (isOnnx ? !source.key.equals_insensitive(key) : source.key != key)
        continue;
      std::string fault = source.read(value, result);
      if (!fault.empty())
        report(key, fault);
      break;
    }
  }
  return result;
}
