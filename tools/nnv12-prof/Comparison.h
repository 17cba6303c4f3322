//===- Comparison.h - Whether one of two is slower --------------*- C++ -*-===//
//
// Statistics of times that were measured in blocks: in each block both sides in
// turns. Two sessions of the same bundle differ, by where their memory lies,
// more than runs of one session do: a block has new sessions of both, and
// counts once. Knows no bundles. Times are nanoseconds.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12_PROF_COMPARISON_H
#define NNV12_TOOLS_NNV12_PROF_COMPARISON_H

#include <string>
#include <vector>

namespace nnv12::prof {

/// Times of one thing that is compared, block by block; one of them empty: only
/// the other side has it.
struct Series {
  std::string name;
  std::vector<double> before, after;
};

struct Interval {
  double estimate = 0, low = 0, high = 0;
};

/// Where the centre of a symmetric distribution is, of which there are samples:
/// the Hodges-Lehmann estimate, and the bounds that Wilcoxon's signed-rank test
/// leaves, each of which is wrong with probability `risk` at most. (Hollander,
/// Wolfe, Chicken, "Nonparametric Statistical Methods", 3.1 to 3.3.) Too few
/// samples have infinite bounds.
Interval findCentre(const std::vector<double> &samples, double risk);

enum class Verdict {
  Same,   ///< or nothing that could be told from noise
  Slower, ///< beyond noise and budget
  Faster, ///< the same the other way
  Small,  ///< too small to be judged
  OnlyBefore,
  OnlyAfter
};

/// "slower"...
const char *verdictName(Verdict verdict);

struct Change {
  std::string name;
  double before = 0, after = 0; ///< medians over blocks
  Interval ratio;               ///< after / before
  Verdict verdict = Verdict::Same;
};

/// When something counts.
struct Limits {
  double run = 0.03;   ///< a run may become slower by that part
  double layer = 0.01; ///< and a layer
  /// Layers below are not judged: that part of a run, and that long.
  double leastShare = 0.02, leastTime = 20'000;
  /// The risk that anything at all is called slower, or anything faster, when
  /// nothing is.
  double risk = 0.002;
};

struct Comparison {
  size_t blocks = 0;
  Change run;
  std::vector<Change> layers; ///< in the order of the series
  bool isSlower() const;
};

/// All series have a sample for each block.
Comparison compare(const Series &run, const std::vector<Series> &layers,
                   const Limits &limits);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_COMPARISON_H
