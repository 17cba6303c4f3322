//===- Properties.cpp - A bundle's properties of its model ----------------===//
#include "tools/common/Properties.h"

#include "tools/common/Report.h"

#include <algorithm>
#include <cstdio>

namespace nnv12::tools {

namespace {
/// Reads one property after another.
class PropertyReader {
public:
  PropertyReader(const std::string &path, const Bundle &bundle)
      : path_(path), bundle_(bundle) {}

  /// One of the words; `otherwise` where the bundle says nothing.
  std::string word(const char *key, const std::vector<const char *> &words,
                   const char *otherwise) const {
    const char *value = bundle_.property(key);
    if (!value)
      return otherwise;
    std::string list;
    for (const char *word : words) {
      if (std::string(word) == value)
        return word;
      list += (list.empty() ? "" : "|") + std::string(word);
    }
    refuse(key, "one of " + list);
  }

  std::vector<double> numbers(const char *key, double otherwise) const {
    const char *value = bundle_.property(key);
    std::vector<double> numbers = {otherwise};
    if (value && !parseReals(value, numbers))
      refuse(key, "numbers with commas between them");
    return numbers;
  }

private:
  [[noreturn]] void refuse(const char *key, const std::string &expected) const {
    fail(path_ + ": property " + key + ": found '" + bundle_.property(key) +
         "', expected " + expected);
  }

  const std::string &path_;
  const Bundle &bundle_;
};
} // namespace

ImageOptions imageOptions(const std::string &path, const Bundle &bundle,
                          const ImageArguments &arguments) {
  PropertyReader reader(path, bundle);
  ImageOptions result;
  result.scale = arguments.scale
                     ? *arguments.scale
                     : reader.numbers("scale", result.scale).front();
  result.mean =
      arguments.mean.empty() ? reader.numbers("mean", 0) : arguments.mean;
  result.std = arguments.std.empty() ? reader.numbers("std", 1) : arguments.std;
  auto chosen = [&](const std::string &given, const char *key,
                    const std::vector<const char *> &words,
                    const char *otherwise) {
    return given == "auto" ? reader.word(key, words, otherwise) : given;
  };
  result.bgr = arguments.bgr ||
               chosen(arguments.color, "color", {"rgb", "bgr"}, "rgb") == "bgr";
  result.layout = chosen(arguments.layout, "layout", {"nchw", "nhwc"}, "auto");
  result.fit =
      chosen(arguments.fit, "fit", {"stretch", "crop", "pad"}, "stretch");
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
