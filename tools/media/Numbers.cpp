//===- Numbers.cpp - Numbers of options and properties --------------------===//
#include "tools/media/Numbers.h"

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdlib>

namespace nnv12::tools {

bool parseReal(const std::string &text, double &value) {
  // A program that loads the library may have chosen a locale whose numbers
  // have commas.
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
  char *end = nullptr;
  value = strtod_l(text.c_str(), &end, plain);
  return !text.empty() && *end == 0 && std::isfinite(value);
}

bool parseReals(const std::string &text, std::vector<double> &values) {
  values.clear();
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find(',', at), text.size());
    if (!parseReal(text.substr(at, end - at), values.emplace_back()))
      return false;
    at = end + 1;
  }
  return !values.empty();
}

} // namespace nnv12::tools
