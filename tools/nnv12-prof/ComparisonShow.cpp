//===- ComparisonShow.cpp - Comparisons as text and JSON ------------------===//
#include "tools/nnv12-prof/ComparisonShow.h"

#include "tools/common/Json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace nnv12::prof {

static double percent(double ratio) { return 100 * (ratio - 1); }

static bool hasBoth(const Change &change) {
  return change.verdict != Verdict::OnlyBefore &&
         change.verdict != Verdict::OnlyAfter;
}

static void printChange(const Change &change) {
  char difference[64] = "", between[64] = "";
  if (hasBoth(change) && change.ratio.estimate > 0) {
    snprintf(difference, sizeof difference, "%+.2f",
             percent(change.ratio.estimate));
    // Few blocks give no bounds.
    if (std::isfinite(change.ratio.high))
      snprintf(between, sizeof between, "%+.2f and %+.2f",
               percent(change.ratio.low), percent(change.ratio.high));
    else
      snprintf(between, sizeof between, "not known");
  }
  printf("%10.1f %10.1f %8s %20s  %-8s  %s\n", change.before * 1e-3,
         change.after * 1e-3, difference, between, verdictName(change.verdict),
         change.name.c_str());
}

void printComparison(const Comparison &comparison, const Limits &limits,
                     unsigned top) {
  printf("%10s %10s %8s %20s\n", "old us", "new us", "%", "between");
  printChange(comparison.run);
  std::vector<const Change *> order;
  for (const Change &layer : comparison.layers)
    order.push_back(&layer);
  auto weight = [](const Change *change) {
    return std::pair(change->verdict == Verdict::Slower,
                     std::abs(change->after - change->before));
  };
  std::stable_sort(
      order.begin(), order.end(),
      [&](const Change *a, const Change *b) { return weight(a) > weight(b); });
  if (top && order.size() > top)
    order.resize(top);
  for (const Change *change : order)
    printChange(*change);
  if (order.size() < comparison.layers.size())
    printf("%10s %10s and %zu more layers\n", "", "",
           comparison.layers.size() - order.size());
  if (comparison.isSlower())
    printf("slower: beyond noise and beyond %.4g %% of a run or %.4g %% of a "
           "layer\n",
           100 * limits.run, 100 * limits.layer);
  else
    printf("not slower: nothing is beyond noise and beyond %.4g %% of a run or "
           "%.4g %% of a layer\n",
           100 * limits.run, 100 * limits.layer);
}

static void addChange(tools::Json &json, const Change &change) {
  json.member("old_us", change.before * 1e-3);
  json.member("new_us", change.after * 1e-3);
  if (hasBoth(change)) {
    json.member("ratio", change.ratio.estimate);
    json.member("low", change.ratio.low).member("high", change.ratio.high);
  }
  json.member("verdict", *verdictName(change.verdict)
                             ? verdictName(change.verdict)
                             : "same");
}

std::string comparisonJson(const std::string &before, const std::string &after,
                           const Comparison &comparison, const Limits &limits) {
  tools::Json json;
  json.beginObject().member("old", before).member("new", after);
  json.member("slower", comparison.isSlower());
  json.member("blocks", uint64_t(comparison.blocks));
  json.member("budget", limits.run).member("layer_budget", limits.layer);
  json.member("risk", limits.risk);
  json.key("run").beginObject();
  addChange(json, comparison.run);
  json.endObject().objects("layers", comparison.layers,
                           [&](const Change &layer) {
                             json.member("layer", layer.name);
                             addChange(json, layer);
                           });
  json.endObject();
  return json.text();
}

} // namespace nnv12::prof
