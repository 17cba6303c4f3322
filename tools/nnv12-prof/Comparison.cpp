//===- Comparison.cpp - Whether one of two is slower ----------------------===//
#include "tools/nnv12-prof/Comparison.h"

#include "tools/common/Statistics.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

namespace nnv12::prof {

/// How many of the smallest means of pairs may lie above the centre with
/// probability `risk` at most. That the sum of the signed ranks of n samples is
/// s has the probability of a sum s of some of the numbers 1 to n.
static size_t numUnlikely(size_t n, double risk) {
  size_t most = n * (n + 1) / 2;
  std::vector<double> probability(most + 1);
  probability[0] = 1;
  for (size_t rank = 1; rank <= n; ++rank)
    for (size_t sum = most + 1; sum-- > 0;)
      probability[sum] =
          (probability[sum] + (sum >= rank ? probability[sum - rank] : 0)) / 2;
  size_t count = 0;
  double sum = probability[0];
  while (count < most && sum <= risk)
    sum += probability[++count];
  return count;
}

Interval findCentre(const std::vector<double> &samples, double risk) {
  assert(!samples.empty() && "of nothing there is no centre");
  std::vector<double> means;
  for (size_t i = 0; i < samples.size(); ++i)
    for (size_t j = i; j < samples.size(); ++j)
      means.push_back((samples[i] + samples[j]) / 2);
  std::sort(means.begin(), means.end());
  size_t unlikely = numUnlikely(samples.size(), risk);
  constexpr double infinite = std::numeric_limits<double>::infinity();
  return {tools::median(means), unlikely ? means[unlikely - 1] : -infinite,
          unlikely ? means[means.size() - unlikely] : infinite};
}

const char *verdictName(Verdict verdict) {
  static constexpr const char *names[] = {"",      "slower",   "faster",
                                          "small", "only old", "only new"};
  return names[unsigned(verdict)];
}

/// Compares by the logarithms of ratios: swapped sides give the inverse.
static Change compareSeries(const Series &series, double risk) {
  Change change;
  change.name = series.name;
  if (!series.before.empty())
    change.before = tools::median(series.before);
  if (!series.after.empty())
    change.after = tools::median(series.after);
  if (series.before.empty() || series.after.empty()) {
    change.verdict =
        series.after.empty() ? Verdict::OnlyBefore : Verdict::OnlyAfter;
    return change;
  }
  assert(series.before.size() == series.after.size() && "blocks have both");
  std::vector<double> logarithms;
  for (size_t i = 0; i < series.before.size(); ++i)
    if (series.before[i] > 0 && series.after[i] > 0)
      logarithms.push_back(std::log(series.after[i] / series.before[i]));
  if (logarithms.empty()) {
    change.verdict = Verdict::Small;
    return change;
  }
  Interval centre = findCentre(logarithms, risk);
  change.ratio = {std::exp(centre.estimate), std::exp(centre.low),
                  std::exp(centre.high)};
  return change;
}

/// `budget`: how far a ratio may be from 1.
static void judge(Change &change, double budget) {
  if (change.verdict != Verdict::Same)
    return;
  if (change.ratio.low > 1 && change.ratio.estimate > 1 + budget)
    change.verdict = Verdict::Slower;
  if (change.ratio.high < 1 && change.ratio.estimate < 1 / (1 + budget))
    change.verdict = Verdict::Faster;
}

Comparison compare(const Series &run, const std::vector<Series> &layers,
                   const Limits &limits) {
  Comparison result;
  result.blocks = run.before.size();
  double longest =
      std::max(tools::median(run.before), tools::median(run.after));
  double least = std::max(limits.leastTime, limits.leastShare * longest);
  auto isSmall = [&](const Series &series) {
    return !series.before.empty() && !series.after.empty() &&
           std::max(tools::median(series.before), tools::median(series.after)) <
               least;
  };
  // The more series are judged, the less often each may be wrong.
  size_t judged = 1;
  for (const Series &series : layers)
    judged += !isSmall(series);
  double risk = limits.risk / double(judged);
  result.run = compareSeries(run, risk);
  judge(result.run, limits.run);
  for (const Series &series : layers) {
    Change change = compareSeries(series, risk);
    if (isSmall(series))
      change.verdict = Verdict::Small;
    judge(change, limits.layer);
    result.layers.push_back(change);
  }
  return result;
}

bool Comparison::isSlower() const {
  auto slower = [](const Change &change) {
    return change.verdict == Verdict::Slower;
  };
  return slower(run) || std::any_of(layers.begin(), layers.end(), slower);
}

} // namespace nnv12::prof
