//===- Properties.cpp - A bundle's properties of its model ----------------===//
#include "tools/common/Properties.h"

#include "tools/common/Report.h"
#include "tools/common/TextFormat.h"

#include <algorithm>

namespace nnv12::tools {

ImageOptions imageOptions(const std::string &path, const Bundle &bundle,
                          const ImageArguments &arguments) {
  auto refuse = [&](const char *key, const std::string &expected) {
    fail(path + ": property " + key + ": found '" + bundle.property(key) +
         "', expected " + expected);
  };
  auto numbers = [&](const char *key, double otherwise) {
    const char *value = bundle.property(key);
    std::vector<double> numbers = {otherwise};
    if (value && !parseReals(value, numbers))
      refuse(key, "numbers with commas between them");
    return numbers;
  };
  auto word = [&](const std::string &given, const char *key, const Words &words,
                  const char *otherwise) -> std::string {
    if (given != "auto")
      return given;
    const char *value = bundle.property(key);
    if (!value)
      return otherwise;
    if (std::find(words.begin(), words.end(), std::string(value)) ==
        words.end())
      refuse(key, "one of " + join(words, "|"));
    return value;
  };
  ImageOptions result;
  result.scale = arguments.scale ? *arguments.scale
                                 : numbers("scale", result.scale).front();
  result.mean = arguments.mean.empty() ? numbers("mean", 0) : arguments.mean;
  result.std = arguments.std.empty() ? numbers("std", 1) : arguments.std;
  result.bgr = arguments.bgr ||
               word(arguments.color, "color", {"rgb", "bgr"}, "rgb") == "bgr";
  result.layout = word(arguments.layout, "layout", {"nchw", "nhwc"}, "auto");
  result.fit =
      word(arguments.fit, "fit", {"stretch", "crop", "pad"}, "stretch");
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
