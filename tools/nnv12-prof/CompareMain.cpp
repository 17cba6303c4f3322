//===- CompareMain.cpp - nnv12-prof compare OLD NEW -----------------------===//
#include "tools/common/Json.h"
#include "tools/nnv12-prof/Commands.h"

#include "tools/common/Files.h"
#include "tools/common/Loading.h"
#include "tools/common/Report.h"
#include "tools/common/TextFormat.h"
#include "tools/nnv12-prof/Comparison.h"
#include "tools/nnv12-prof/RunInTurns.h"

#include <cmath>
#include <cstdio>

using namespace nnv12;
using namespace nnv12::tools;
using namespace nnv12::prof;

static constexpr char overview[] =
    "runs two bundles in turns and says whether the second one is slower, as a "
    "whole or in a layer, beyond noise and beyond a budget: then it ends with "
    "1. Layers are compared by name; those of less than a fiftieth of a run or "
    "20 us are not judged. For changes of a model, of nnv12c or of its "
    "options, by hand and where changes are tested";

static constexpr char examples[] =
    R"(  nnv12-prof compare before.nnv after.nnv --threads 1
      about half a minute
  nnv12-prof compare before.nnv after.nnv --budget 1 --seconds 60 --json c.json
)";

/// Whether one can take the place of the other.
static void checkAlike(const Side &before, const Side &after) {
  auto describe = [](const Bundle &bundle) {
    std::string text;
    for (uint32_t i = 0; i < bundle.numInputs(); ++i)
      text += " " + tools::describe(bundle.input(i));
    text += " ->";
    for (uint32_t i = 0; i < bundle.numOutputs(); ++i)
      text += " " + tools::describe(bundle.output(i));
    return text;
  };
  std::string found = describe(*after.bundle),
              expected = describe(*before.bundle);
  if (found != expected)
    fail(after.path + ": found" + found + ", expected" + expected + " as " +
         before.path + " has it");
}

static void checkBudget(const char *name, double percent) {
  if (percent < 0)
    fail(format("%s: found %g, expected 0 or more", name, percent));
}

static double percent(double ratio) { return 100 * (ratio - 1); }

static bool hasBoth(const Change &change) {
  return change.verdict != Verdict::OnlyBefore &&
         change.verdict != Verdict::OnlyAfter;
}

static void printChange(const Change &change) {
  std::string difference, between;
  if (hasBoth(change) && change.ratio.estimate > 0) {
    difference = format("%+.2f", percent(change.ratio.estimate));
    // Few blocks give no bounds.
    between = std::isfinite(change.ratio.high)
                  ? format("%+.2f and %+.2f", percent(change.ratio.low),
                           percent(change.ratio.high))
                  : "not known";
  }
  printf("%10.1f %10.1f %8s %20s  %-8s  %s\n", change.before * 1e-3,
         change.after * 1e-3, difference.c_str(), between.c_str(),
         verdictName(change.verdict), change.name.c_str());
}

/// For people: the run, and the `top` layers that changed most (0: all).
static void printComparison(const Comparison &comparison, const Limits &limits,
                            unsigned top) {
  printf("%10s %10s %8s %20s\n", "old us", "new us", "%", "between");
  printChange(comparison.run);
  const std::vector<Change> &layers = comparison.layers;
  auto weight = [&](size_t i) {
    return std::pair(layers[i].verdict == Verdict::Slower,
                     std::abs(layers[i].after - layers[i].before));
  };
  std::vector<size_t> order =
      findLargest(layers.size(), top ? top : layers.size(), weight);
  for (size_t place : order)
    printChange(layers[place]);
  if (order.size() < layers.size())
    printf("%10s %10s and %zu more layers\n", "", "",
           layers.size() - order.size());
  if (comparison.isSlower())
    printf("slower: beyond noise and beyond %.4g %% of a run or %.4g %% of a "
           "layer\n",
           100 * limits.run, 100 * limits.layer);
  else
    printf("not slower: nothing is beyond noise and beyond %.4g %% of a run or "
           "%.4g %% of a layer\n",
           100 * limits.run, 100 * limits.layer);
}

static void addChange(Json &json, const Change &change) {
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

/// All of it, for programs. `before` and `after` are the bundles' names.
static std::string comparisonJson(const std::string &before,
                                  const std::string &after,
                                  const Comparison &comparison,
                                  const Limits &limits) {
  Json json;
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

int prof::compareMain(int argc, char **argv) {
  std::vector<std::string> paths;
  std::string jsonPath;
  unsigned seconds = 30, blocks = 30, top = 20;
  Limits limits;
  double budget = 100 * limits.run, layerBudget = 100 * limits.layer;
  LoadOptions load;
  RunOptions session;
  InputOptions input;
  Options options("nnv12-prof compare", overview, examples);
  options.positionals("OLD.nnv NEW.nnv", paths);
  options.real("budget", "PERCENT", budget,
               "A run may become slower by that. Default 3.");
  options.real("layer-budget", "PERCENT", layerBudget,
               "A layer may become slower by that. Default 1.");
  options.number("seconds", "N", seconds, 1, 100000,
                 "About how long it may take. Default 30.");
  options.number("blocks", "N", blocks, 2, 200,
                 "Make new sessions that often: runs of one are alike by where "
                 "its memory is. With fewer than 16 little can be told from "
                 "noise. Default 30.");
  options.number("top", "N", top, 0, 1000000,
                 "Show the N layers that changed most; 0: all. Default 20.");
  options.text("json", "FILE", jsonPath,
               "Write the comparison to FILE as well; - is standard output, "
               "instead of the text.");
  input.addTo(options);
  session.addTo(options);
  load.addTo(options);
  options.parse(argc, argv);
  if (paths.size() != 2)
    fail("found " + std::to_string(paths.size()) +
         " bundles, expected two: the old one and the new one");
  checkBudget("--budget", budget);
  checkBudget("--layer-budget", layerBudget);
  limits.run = budget / 100;
  limits.layer = layerBudget / 100;
  input.random = true;
  std::vector<Bundle> bundles;
  std::vector<Side> sides;
  std::vector<Tensor> inputs[2], outputs[2];
  for (const std::string &path : paths)
    bundles.push_back(openBundle(path, load));
  for (size_t i = 0; i < paths.size(); ++i)
    sides.push_back({paths[i], &bundles[i], {}, {}});
  checkAlike(sides[0], sides[1]);
  if (!jsonPath.empty())
    checkOutput(jsonPath);
  for (size_t i = 0; i < paths.size(); ++i) {
    inputs[i] = loadInputs(paths[i], bundles[i], input, "");
    outputs[i] = makeOutputs(bundles[i]);
    sides[i].inputs = asInputs(inputs[i]);
    sides[i].outputs = asOutputs(outputs[i]);
  }
  Turns turns = runInTurns(sides[0], sides[1], session.session(), blocks,
                           double(seconds));
  turns.run.name = "a run";
  Comparison comparison = compare(turns.run, turns.layers, limits);
  if (jsonPath != "-") {
    printf("%s -> %s: model '%s', %s, %u runs of each in %u sessions\n",
           paths[0].c_str(), paths[1].c_str(), bundles[1].info().model,
           bundles[1].info().target, turns.runs, blocks);
    printComparison(comparison, limits, top);
  }
  if (!jsonPath.empty())
    writeText(jsonPath, comparisonJson(paths[0], paths[1], comparison, limits));
  return comparison.isSlower();
}
