//===- PhoneTables.cpp - The paper's tables beside simulated ones ---------===//

#include "PhoneTables.h"
#include "compiler/search/Algorithm1.h"
#include "compiler/search/Candidates.h"
#include "compiler/search/Combinations.h"
#include "compiler/search/Search.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace nnv12::device {

using namespace search;

static std::string format(const char *text, ...)
    __attribute__((format(printf, 1, 2)));
static std::string format(const char *text, ...) {
  char line[400];
  va_list args;
  va_start(args, text);
  vsnprintf(line, sizeof line, text, args);
  va_end(args);
  return line;
}

DeviceProfile shippedProfile(const std::string &name) {
  std::string error;
  auto found = shippedProfiles().find(name);
  auto profile = found == shippedProfiles().end()
                     ? std::nullopt
                     : parseProfile(found->second, name, error);
  if (!profile) {
    fprintf(stderr, "%s\n",
            error.empty() ? (name + ": no such profile").c_str()
                          : error.c_str());
    abort();
  }
  return *profile;
}

static Plan planWith(const Problem &problem, bool k, bool c, bool p) {
  Options options;
  options.selectKernels = k;
  options.storedForms = c;
  options.pipeline = p;
  return search::plan(problem, options);
}

static const char *const phones[] = {"meizu-16t", "pixel-5", "redmi-9",
                                     "meizu-18-pro"};
static const char *const models[] = {"ResNet-50", "GoogLeNet"};

static Problem problemOf(const std::string &phone, const std::string &model) {
  DeviceProfile profile = shippedProfile(phone);
  return ncnnProblem(model == "ResNet-50" ? resnet50() : googlenet(), profile,
                     profile.big.count);
}

const Ablation &ablation(const std::string &phone, const std::string &model) {
  static std::map<std::pair<std::string, std::string>, Ablation> known;
  auto [at, isNew] = known.insert({{phone, model}, {}});
  if (isNew) {
    Problem problem = problemOf(phone, model);
    Plan all = planWith(problem, true, true, true);
    at->second = {planWith(problem, false, false, false).finish,
                  planWith(problem, true, false, false).finish,
                  planWith(problem, true, true, false).finish,
                  all.finish,
                  warmTime(problem, warmChoice(problem)),
                  all.bound};
  }
  return at->second;
}

std::string table1() {
  DeviceProfile profile = shippedProfile("pixel-5");
  Problem problem = ncnnProblem(resnet50(), profile, profile.big.count);
  // ncnn's way: the fastest executes, all weights prepared on a big core
  // first.
  Plan none = planWith(problem, false, false, false);
  Timeline t = simulate(problem, none.choice, none.schedule);
  double stage[4] = {};
  for (const Event &e : t.events)
    stage[unsigned(e.operation.stage)] += e.end - e.start;
  struct {
    const char *name;
    double paper, simulated;
  } rows[] = {{"weights reading", 36.52, stage[0]},
              {"weights transformation", 1135.28, stage[2]},
              {"model execution", 190.12, stage[3]},
              {"total cold inference", 1363.23, t.finish},
              {"warm inference", 185.82, warmTime(problem, none.choice)}};
  std::string text = "| ResNet-50, Pixel 5, ncnn | paper, ms | simulated, ms | "
                     "simulated / paper |\n"
                     "|---|---:|---:|---:|\n";
  for (const auto &row : rows)
    text += format("| %s | %.1f | %.1f | %.2f |\n", row.name, row.paper,
                   row.simulated, row.simulated / row.paper);
  return text;
}

std::string table2() {
  DeviceProfile profile = shippedProfile("meizu-16t");
  Problem problem = ncnnProblem(table2Layer(), profile, profile.big.count);
  struct {
    const char *kernel;
    double raw, transform, cache, execute;
  } paper[] = {{"winograd-pack4", 0.70, 38.23, 5.23, 2.98},
               {"sgemm-pack4", 0.70, 2.21, 0.70, 8.14},
               {"pack4", 0.70, 2.22, 0.70, 18.63},
               {"winograd", 0.70, 65.67, 4.12, 3.37},
               {"3x3s1", 0.70, 0.00, 0.70, 8.01},
               {"general", 0.70, 0.00, 0.70, 87.12}};
  std::string text = "| kernel | read raw | transform | read cache | execute "
                     "|\n|---|---:|---:|---:|---:|\n";
  auto read = [&](const Candidate &c) {
    Candidate bare = c;
    bare.transform = bare.decode = {};
    return preparationTime(problem.device, bare, Core::Little);
  };
  for (const auto &row : paper) {
    const Candidate *raw = nullptr, *cached = nullptr;
    for (const Candidate &c : problem.layers[0].candidates)
      if (c.routine == std::string("ncnn.") + row.kernel)
        (c.storage.storage == plan::Storage::raw ? raw : cached) = &c;
    if (!cached)
      cached = raw;
    text += format(
        "| %s | %.2f / %.2f | %.2f / %.2f | %.2f / %.2f | %.2f / %.2f |\n",
        row.kernel, row.raw, read(*raw), row.transform, raw->transform.little,
        row.cache, read(*cached), row.execute, raw->execute);
  }
  return text;
}

std::string figure13() {
  std::string text = "| phone | model | none | K | K+C | K+C+P | bound | warm "
                     "| none / K+C+P | K+C+P / warm |\n"
                     "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (const char *phone : phones)
    for (const char *model : models) {
      const Ablation &a = ablation(phone, model);
      text += format("| %s | %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | "
                     "%.1f | %.2f |\n",
                     phone, model, a.none, a.k, a.kc, a.kcp, a.bound, a.warm,
                     a.none / a.kcp, a.kcp / a.warm);
    }
  return text;
}

std::string searchTable() {
  std::string text = "| phone | model | paper's cost | Algorithm 1, simulated "
                     "| whole search | bound | gain | gap at most |\n"
                     "|---|---|---:|---:|---:|---:|---:|---:|\n";
  for (const char *phone : phones)
    for (const char *model : models) {
      Problem p = problemOf(phone, model);
      // As the paper has it: the combination with the least sums of lanes.
      double cost = Simulator::never;
      Assignment paper;
      for (const Choice &choice :
           combinations(p, usableCandidates(p, {}, Dominance::Paper), 256)) {
        Assignment a = algorithm1(p, choice);
        std::vector<double> loads = loadsOf(p, a);
        double load = *std::max_element(loads.begin(), loads.end());
        if (load < cost) {
          cost = load;
          paper = a;
        }
      }
      double simulated = simulate(p, paper.choice, paper.schedule(p)).finish;
      const Ablation &found = ablation(phone, model);
      text += format(
          "| %s | %s | %.1f | %.1f | %.1f | %.1f | %.0f %% | %.1f %% |\n",
          phone, model, cost, simulated, found.kcp, found.bound,
          100 * (1 - found.kcp / simulated),
          100 * (found.kcp / found.bound - 1));
    }
  return text;
}

} // namespace nnv12::device
