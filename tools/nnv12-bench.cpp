//===- nnv12-bench.cpp - Measures cold and warm inference -----------------===//
#include "tools/common/Clock.h"
#include "tools/common/ColdRun.h"
#include "tools/common/Json.h"
#include "tools/common/Loading.h"
#include "tools/common/Profile.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"

#include <cinttypes>
#include <cstdio>

using namespace nnv12;
using namespace nnv12::tools;

static constexpr char overview[] =
    "measures a bundle. Cold: a fresh process for each run, the bundle's pages "
    "evicted from the page cache before, from the start of the process to its "
    "end and, inside, from opening the bundle to the first result. Warm: one "
    "session, run again and again";

static constexpr char examples[] =
    R"(  nnv12-bench model.nnv
      5 cold runs and 20 warm ones, random inputs
  nnv12-bench model.nnv --cold 0 --warm 200 --threads 1 --profile
      warm speed, and where the time goes
  nnv12-bench model.nnv --cold 20 --warm 0 --drop-caches --json cold.json
      as after a boot (as root): libraries are not in memory either
)";

namespace {
struct BenchOptions {
  std::string bundle;
  std::string json;
  unsigned cold = 5;
  unsigned warm = 20;
  unsigned threads = 0;
  bool dropCaches = false;
  bool profile = false;
  /// Set in the processes that cold runs start: where to report to.
  unsigned reportTo = 0;
  LoadOptions load;
  InputOptions input;
};

/// The runs of one kind, in milliseconds.
struct Stage {
  const char *name;
  std::vector<double> samples;
};

struct Results {
  std::vector<Stage> cold, warm;
  double residency = 0; ///< of the bundle before cold runs, at most, 0 to 1
  uint64_t coldPeak = 0, warmPeak = 0;
  std::vector<uint64_t> profile; ///< by operation, empty if not asked for
};
} // namespace

static BenchOptions parseOptions(int argc, char **argv) {
  BenchOptions result;
  Options options("nnv12-bench", overview, examples);
  options.positional("BUNDLE.nnv", result.bundle);
  options.number("cold", "N", result.cold, 0, 100000, "Cold runs. Default 5.");
  options.number("warm", "N", result.warm, 0, 10000000,
                 "Warm runs, after one that is reported as first run. Default "
                 "20.");
  options.number("threads", "N", result.threads, 0, 64,
                 "How many threads compute; 0, the default: one for each CPU.");
  options.flag("drop-caches", result.dropCaches,
               "Before each cold run drop the system's whole page cache. Needs "
               "root.");
  options.text("json", "FILE", result.json,
               "Write the results to FILE as well; - is standard output, "
               "instead of the table.");
  options.flag("profile", result.profile,
               "Print the median time of each layer over the warm runs.");
  result.input.addTo(options);
  result.load.addTo(options);
  options.number("report-to", "FD", result.reportTo, 0, 1000000, "");
  options.parse(argc, argv);
  // Speed hardly depends on the numbers: inputs need not be given.
  result.input.random = true;
  return result;
}

static void run(const BenchOptions &options, Session &session,
                const std::vector<nnv12_input> &in,
                const std::vector<nnv12_output> &out) {
  try {
    session.run(in, out);
  } catch (const Error &error) {
    fail(options.bundle + ": " + error.what());
  }
}

/// What happens in a fresh process.
static int coldMain(const BenchOptions &options) {
  ColdReport report;
  double start = milliseconds();
  Bundle bundle = openBundle(options.bundle, options.load);
  report.open = milliseconds() - start;
  start = milliseconds();
  Session session = openSession(options.bundle, bundle, options.threads);
  report.session = milliseconds() - start;
  std::vector<Tensor> inputs =
      loadInputs(options.bundle, bundle, options.input, "");
  std::vector<Tensor> outputs = makeOutputs(bundle);
  std::vector<nnv12_input> in = asInputs(inputs);
  std::vector<nnv12_output> out = asOutputs(outputs);
  start = milliseconds();
  run(options, session, in, out);
  report.firstRun = milliseconds() - start;
  report.peakBytes = peakMemory();
  sendReport(options.reportTo, report);
  return 0;
}

static void measureCold(const BenchOptions &options, char **argv,
                        Results &results) {
  results.cold = {{"process", {}},
                  {"in-process", {}},
                  {"open", {}},
                  {"session", {}},
                  {"first run", {}}};
  for (unsigned i = 0; i < options.cold; ++i) {
    double residency = evict(options.bundle, options.dropCaches);
    results.residency = std::max(results.residency, residency);
    double process;
    ColdReport report = runFresh(argv, process);
    const double values[] = {process,
                             report.open + report.session + report.firstRun,
                             report.open, report.session, report.firstRun};
    for (size_t k = 0; k < results.cold.size(); ++k)
      results.cold[k].samples.push_back(values[k]);
    results.coldPeak = std::max(results.coldPeak, report.peakBytes);
  }
}

static void measureWarm(const BenchOptions &options, const Bundle &bundle,
                        double open, Results &results) {
  double start = milliseconds();
  Session session = openSession(options.bundle, bundle, options.threads);
  double created = milliseconds() - start;
  std::vector<Tensor> inputs =
      loadInputs(options.bundle, bundle, options.input, "");
  std::vector<Tensor> outputs = makeOutputs(bundle);
  std::vector<nnv12_input> in = asInputs(inputs);
  std::vector<nnv12_output> out = asOutputs(outputs);
  start = milliseconds();
  run(options, session, in, out);
  double first = milliseconds() - start;
  results.warm = {{"open", {open}},
                  {"session", {created}},
                  {"first run", {first}},
                  {"run", {}}};
  uint32_t operations = bundle.info().num_operations;
  std::vector<uint64_t> times(operations);
  std::vector<std::vector<double>> samples(operations);
  if (options.profile)
    session.setProfile(times.data());
  for (unsigned i = 0; i < options.warm; ++i) {
    start = milliseconds();
    run(options, session, in, out);
    results.warm.back().samples.push_back(milliseconds() - start);
    for (uint32_t k = 0; options.profile && k < operations; ++k)
      samples[k].push_back(double(times[k]));
  }
  results.warmPeak = peakMemory();
  if (options.profile && options.warm)
    for (const std::vector<double> &layer : samples)
      results.profile.push_back(
          static_cast<uint64_t>(Statistics(layer).median));
}

static void printStages(const std::vector<Stage> &stages) {
  for (const Stage &stage : stages) {
    if (stage.samples.empty())
      continue;
    Statistics s(stage.samples);
    printf("  %-12s %10.3f %10.3f %10.3f\n", stage.name, s.median, s.min,
           s.p95);
  }
}

static void printTable(const BenchOptions &options, const Bundle &bundle,
                       uint32_t threads, const Results &results) {
  nnv12_bundle_info info = bundle.info();
  printf("%s: model '%s', %s, %u threads\n", options.bundle.c_str(), info.model,
         info.target, threads);
  printf("bundle %.2f MB (code %.2f, weights %.2f), arena %.2f MB\n",
         info.file_size * 1e-6, info.code_size * 1e-6, info.weights_size * 1e-6,
         info.arena_size * 1e-6);
  printf("  %-12s %10s %10s %10s\n", "ms", "median", "min", "p95");
  if (options.cold) {
    printf("cold: %u processes, at most %.0f %% of the bundle cached before, "
           "peak memory %.2f MB\n",
           options.cold, 100 * results.residency, results.coldPeak * 1e-6);
    printStages(results.cold);
  }
  if (options.warm) {
    printf("warm: %u runs, peak memory %.2f MB\n", options.warm,
           results.warmPeak * 1e-6);
    printStages(results.warm);
  }
  if (!results.profile.empty())
    printProfile(bundle, results.profile);
}

static void addStages(Json &json, const std::vector<Stage> &stages) {
  json.key("stages_ms").beginObject();
  for (const Stage &stage : stages) {
    if (stage.samples.empty())
      continue;
    Statistics s(stage.samples);
    json.key(stage.name).beginObject();
    json.member("median", s.median).member("min", s.min).member("p95", s.p95);
    json.key("samples").beginArray();
    for (double sample : stage.samples)
      json.value(sample);
    json.endArray().endObject();
  }
  json.endObject();
}

static std::string makeJson(const BenchOptions &options, const Bundle &bundle,
                            uint32_t threads, const Results &results) {
  nnv12_bundle_info info = bundle.info();
  Json json;
  json.beginObject().member("file", options.bundle);
  json.member("model", info.model).member("target", info.target);
  json.member("threads", threads).member("file_size", info.file_size);
  json.member("code_size", info.code_size);
  json.member("weights_size", info.weights_size);
  json.member("arena_size", info.arena_size);
  json.member("scratch_size", info.scratch_size);
  json.member("num_operations", info.num_operations);
  if (options.cold) {
    json.key("cold").beginObject().member("runs", options.cold);
    json.member("cached_before", results.residency);
    json.member("caches_dropped", options.dropCaches);
    json.member("peak_bytes", results.coldPeak);
    addStages(json, results.cold);
    json.endObject();
  }
  if (options.warm) {
    json.key("warm").beginObject().member("runs", options.warm);
    json.member("peak_bytes", results.warmPeak);
    addStages(json, results.warm);
    json.endObject();
  }
  json.endObject();
  return json.text();
}

int main(int argc, char **argv) {
  BenchOptions options = parseOptions(argc, argv);
  if (options.reportTo)
    return coldMain(options);
  Results results;
  // A bundle that cannot be opened is an error of this process, not of those
  // that it starts; and while it is open here its pages cannot be evicted.
  uint32_t threads;
  {
    Bundle bundle = openBundle(options.bundle, options.load);
    threads = openSession(options.bundle, bundle, options.threads).threads();
    loadInputs(options.bundle, bundle, options.input, "");
  }
  if (options.cold)
    measureCold(options, argv, results);
  double start = milliseconds();
  Bundle bundle = openBundle(options.bundle, options.load);
  double open = milliseconds() - start;
  if (options.warm)
    measureWarm(options, bundle, open, results);
  if (options.json != "-")
    printTable(options, bundle, threads, results);
  if (!options.json.empty())
    writeText(options.json, makeJson(options, bundle, threads, results));
  finishOutput();
}
