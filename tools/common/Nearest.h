//===- Nearest.h - Guesses a mistyped word ----------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_NEAREST_H
#define NNV12_TOOLS_COMMON_NEAREST_H

#include <algorithm>
#include <string>
#include <vector>

namespace nnv12::tools {

/// How many letters have to be added, left out, changed, or changed in places
/// with their neighbour, to make one word the other.
inline size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row = last;
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min(
          {last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

/// The known word that `word` is a slip of the pen for; empty: none is close.
inline std::string nearestTo(const std::string &word,
                             const std::vector<std::string> &known) {
  std::string nearest;
  // A short word may differ in one letter, a longer one in a third of them.
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string &candidate : known) {
    size_t distance = editDistance(word, candidate);
    if (distance < least && distance < candidate.size()) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

/// One dash for names of one letter.
inline std::string dashed(const std::string &name) {
  return (name.size() == 1 ? "-" : "--") + name;
}

/// The message about an option that a tool does not have. `given` is as it was
/// given, with its dashes.
inline std::string unknownOption(const std::string &given,
                                 const std::vector<std::string> &known,
                                 const std::string &tool) {
  std::string nearest = nearestTo(
      given.substr(std::min(given.find_first_not_of('-'), given.size())),
      known);
  return given + ": unknown option; " +
         (nearest.empty() ? "" : "the nearest is " + dashed(nearest) + "; ") +
         "see " + tool + " --help";
}

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_NEAREST_H
