//===- Properties.cpp - A bundle's properties of its model ----------------===//
#include "tools/common/Properties.h"

#include "tools/common/Report.h"

#include <cstdlib>
#include <optional>

namespace nnv12::tools {

ImageOptions imageOptions(const std::string &path, const Bundle &bundle,
                          const ImageArguments &arguments) {
  // A property is not looked at where an argument stands for it.
  auto property = [&](bool isGiven, const char *key) {
    return isGiven ? nullptr : bundle.property(key);
  };
  bool hasColor = arguments.bgr || arguments.color != "auto";
  ImageTexts texts;
  texts.scale = property(arguments.scale.has_value(), "scale");
  texts.mean = property(!arguments.mean.empty(), "mean");
  texts.std = property(!arguments.std.empty(), "std");
  texts.color = property(hasColor, "color");
  texts.layout = property(arguments.layout != "auto", "layout");
  texts.fit = property(arguments.fit != "auto", "fit");
  ImageOptions result;
  std::string error = parseImageOptions(texts, result);
  if (!error.empty())
    fail(path + ": property " + error);
  if (arguments.scale)
    result.scale = *arguments.scale;
  if (!arguments.mean.empty())
    result.mean = arguments.mean;
  if (!arguments.std.empty())
    result.std = arguments.std;
  if (hasColor)
    result.bgr = arguments.bgr || arguments.color == "bgr";
  if (arguments.layout != "auto")
    result.layout = arguments.layout;
  if (arguments.fit != "auto")
    result.fit = arguments.fit;
  return result;
}

/// A whole number of a few decimal digits, if the text is one.
static std::optional<unsigned> parseWhole(const std::string &text) {
  constexpr size_t mostDigits = 9;
  if (text.empty() || text.size() > mostDigits ||
      text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return unsigned(strtoul(text.c_str(), nullptr, 10));
}

SoundOptions soundOptions(const std::string &path, const Bundle &bundle,
                          const SoundArguments &arguments) {
  SoundOptions result;
  result.rate = arguments.rate;
  const char *property = bundle.property("sample_rate");
  if (!result.rate && !property)
    fail(path + ": --sample-rate: found none, nor a property sample_rate, "
                "expected the samples a second that the model takes");
  if (!result.rate)
    result.rate = parseWhole(property).value_or(0);
  if (!result.rate)
    fail(path + ": property sample_rate: found '" + property +
         "', expected a whole number");
  if (arguments.channel == "mean")
    return result;
  std::optional<unsigned> channel = parseWhole(arguments.channel);
  if (!channel)
    fail("--channel: found '" + arguments.channel +
         "', expected mean or a whole number");
  result.channel = int(*channel);
  return result;
}

std::vector<std::string> splitLines(const std::string &text) {
  std::vector<std::string> lines(1);
  for (char c : text) {
    if (c == '\n')
      lines.emplace_back();
    else if (c != '\r')
      lines.back() += c;
  }
  if (lines.back().empty())
    lines.pop_back();
  return lines;
}

std::vector<std::string> labelsOf(const Bundle &bundle) {
  const char *labels = bundle.property("labels");
  // The last line has no end, and may be empty.
  return labels ? splitLines(std::string(labels) + "\n")
                : std::vector<std::string>();
}

} // namespace nnv12::tools
