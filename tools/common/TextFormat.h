//===- TextFormat.h - Texts and lists for people ----------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_TEXTFORMAT_H
#define NNV12_TOOLS_COMMON_TEXTFORMAT_H

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

namespace nnv12::tools {

/// The text that printf() prints.
template <typename... Values>
std::string format(const char *text, Values... values) {
  std::string result(size_t(snprintf(nullptr, 0, text, values...)), '\0');
  snprintf(result.data(), result.size() + 1, text, values...);
  return result;
}

/// The texts of a list with `separator` between.
template <typename List>
std::string join(const List &list, const char *separator = ", ") {
  std::string all;
  for (size_t i = 0; i < list.size(); ++i)
    all += (i ? separator : "") + std::string(list[i]);
  return all;
}

/// The places of the `most` things of `count` that have the largest `key`, the
/// largest first; of equal ones the first.
template <typename Key>
std::vector<size_t> findLargest(size_t count, size_t most, Key key) {
  std::vector<size_t> places(count);
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(),
                   [&](size_t a, size_t b) { return key(a) > key(b); });
  places.resize(std::min(count, most));
  return places;
}

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_TEXTFORMAT_H
