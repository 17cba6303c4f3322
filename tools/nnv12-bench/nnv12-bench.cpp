//===- nnv12-bench.cpp - Measures cold and warm inference -----------------===//
#include "tools/common/Clock.h"
#include "tools/common/ColdRun.h"
#include "tools/common/Files.h"
#include "tools/common/Json.h"
#include "tools/common/LayerTimes.h"
#include "tools/common/OtherPrograms.h"
#include "tools/common/Recorded.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"
#include "tools/nnv12-bench/VideoBench.h"
#include "tools/nnv12-bench/VideoTrials.h"

#include <cassert>
#include <cstdio>
#include <iterator>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::bench;
using namespace nnv12::tools;

static constexpr char overview[] =
    "measures a bundle. Cold: a fresh process for each run, the bundle's pages "
    "evicted from the page cache before, from the start of the process and, "
    "inside, from opening the bundle, to the first result. Warm: one "
    "session, run again and again. Video: one session, on each frame of a clip";

static constexpr char examples[] =
    R"(  nnv12-bench model.nnv
      5 cold runs and 20 warm ones, random inputs
  nnv12-bench model.nnv --cold 0 --warm 200 --threads 1 --profile
      warm speed, and where the time goes
  nnv12-bench model.nnv --cold 20 --warm 0 --drop-caches --json cold.json
      as after a boot (as root): libraries are not in memory either
  nnv12-bench model.nnv --cold 15 --floor 15 --warm 100
      how near cold runs come to reading the weights and to warm runs
  nnv12-bench model.nnv --video clip.y4m
      runs over the frames of a video, and how old answers are where frames are
      left out
)";

namespace {
/// The runs of one kind, in milliseconds.
struct Stage {
  const char *name;
  std::vector<double> samples;
};

struct Results {
  std::vector<Stage> cold, floor, warm;
  double residency = 0; ///< of the bundle before cold runs, at most, 0 to 1
  uint64_t coldPeak = 0, warmPeak = 0;
  /// The warm session's switches: how many it has, how many it took, and after
  /// how many runs.
  uint32_t switches = 0, switchesDone = 0, runsToSwitch = 0;
  OperationProfile profile; ///< empty if not asked for
  double otherCpus = -1;    ///< that other programs took meanwhile
};
} // namespace

/// Ends the process where options do not go with --video, or need it.
static void checkVideo(const BenchOptions &given) {
  const BenchOptions defaults;
  checkVideoOptions(given.video, {{"--input", !given.input.inputs.empty()},
                                  {"--random", given.input.random},
                                  {"--cold", given.cold != defaults.cold},
                                  {"--warm", given.warm != defaults.warm},
                                  {"--floor", given.floor > 0},
                                  {"--drop-caches", given.dropCaches},
                                  {"--unbacked", given.unbacked},
                                  {"--profile", given.profile}});
  if (!given.maxAge)
    return;
  if (given.video.clip.empty())
    fail("--max-age: found no --video, which it is for");
  if (given.video.clip == "-")
    fail("--max-age: found --video -, expected a file or a folder, which can "
         "be read again");
  for (auto [name, isGiven] :
       {std::pair{"--reuse", !given.video.reuse.empty()},
        {"--tolerance", given.video.tolerance.has_value()},
        {"--input-tolerance", given.video.inputTolerance.has_value()},
        {"--refresh", given.video.refresh != VideoOptions::bundlesRefresh},
        {"--audit", given.video.audit}})
    if (isGiven)
      fail(std::string("--max-age, ") + name +
           ": found both, expected one of them");
  if (*given.maxAge < 0)
    fail("--max-age: found a number below 0, expected 0 or more");
}

static BenchOptions parseOptions(int argc, char **argv) {
  BenchOptions result;
  Options options("nnv12-bench", overview, examples);
  options.positional("BUNDLE.nnv", result.bundle);
  options.number("cold", "N", result.cold, 0, 100000, "Cold runs. Default 5.");
  options.number(
      "warm", "N", result.warm, 0, 10000000,
      "Warm runs, after one that is reported as first run and, where the "
      "bundle has switches, after those until all are taken. Default 20.");
  options.number("floor", "N", result.floor, 0, 100000,
                 "N times, taking turns with the cold runs, map the bundle and "
                 "touch all pages of its weights: the floor of cold runs. "
                 "Default 0.");
  options.flag("drop-caches", result.dropCaches,
               "Before each cold run drop the system's whole page cache. Needs "
               "root.");
  options.flag("unbacked", result.unbacked,
               "Leave free memory as it is. Else more than a cold run needs is "
               "used and freed before, which matters in virtual machines: free "
               "memory there may have to come from the host first.");
  options.text("json", "FILE", result.json,
               "Write the results to FILE as well; - is standard output, "
               "instead of the table.");
  options.flag("profile", result.profile,
               "Print the median time of each layer over the warm runs.");
  result.video.addTo(options);
  options.real("max-age", "AGE", result.maxAge,
               "Try tolerances of reuse between frames, for "
               "bundles of nnv12c --video bounded, on the first half of the "
               "clip. Those that save most work and whose answers are no "
               "older than AGE, or 1.3 times as old as with noise of a level, "
               "are tried on the second half.");
  result.input.addTo(options);
  result.session.addTo(options);
  result.load.addTo(options);
  options.flag("floor-run", result.floorRun, "");
  options.number("report-to", "FD", result.reportTo, 0, 1000000, "");
  options.number("inputs-from", "FD", result.inputsFrom, 0, 1000000, "");
  options.parse(argc, argv);
  checkVideo(result);
  // Speed hardly depends on the numbers: inputs need not be given.
  result.input.random = true;
  return result;
}

/// The work of a fresh process.
static int coldMain(const BenchOptions &options) {
  ColdReport report;
  if (options.floorRun) {
    report.floor =
        touchWeights(options.bundle, !options.unbacked, report.residency);
    sendReport(options.reportTo, report);
    return 0;
  }
  // Comes before all else: reading the inputs does not count, but reading ahead
  // meanwhile would use that time.
  std::vector<Input> in = takeInputs(options.inputsFrom);
  double cpu = milliseconds(CLOCK_PROCESS_CPUTIME_ID), start = milliseconds();
  Bundle bundle = openBundle(options.bundle, options.load);
  report.open = milliseconds() - start;
  std::vector<Tensor> outputs = makeOutputs(bundle);
  std::vector<Output> out = asOutputs(outputs);
  start = milliseconds();
  Session session =
      openSession(options.bundle, bundle, options.session.session());
  report.session = milliseconds() - start;
  start = milliseconds();
  runSession(options.bundle, session, in, out);
  report.end = milliseconds();
  report.firstRun = report.end - start;
  report.cpu = milliseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  report.peakBytes = peakMemory();
  sendReport(options.reportTo, report);
  return 0;
}

static void measureCold(const BenchOptions &options, char **argv,
                        const std::vector<Tensor> &inputs, Results &results) {
  std::string inputsFrom =
      "--inputs-from=" + std::to_string(handInputs(inputs));
  results.cold = {{"process", {}}, {"in-process", {}}, {"open", {}},
                  {"session", {}}, {"first run", {}},  {"CPU time", {}}};
  results.floor = {{"floor", {}}};
  auto run = [&](const std::string &option) {
    double residency =
        evict(options.bundle, options.dropCaches, !options.unbacked);
    ColdReport report = runFresh(argv, option);
    results.residency =
        std::max({results.residency, residency, report.residency});
    return report;
  };
  for (unsigned i = 0; i < std::max(options.cold, options.floor); ++i) {
    if (i < options.floor)
      results.floor[0].samples.push_back(run("--floor-run").floor);
    if (i >= options.cold)
      continue;
    ColdReport report = run(inputsFrom);
    const double values[] = {
        report.process,  report.open + report.session + report.firstRun,
        report.open,     report.session,
        report.firstRun, report.cpu};
    assert(results.cold.size() == std::size(values) && "a time for each stage");
    for (size_t k = 0; k < results.cold.size(); ++k)
      results.cold[k].samples.push_back(values[k]);
    results.coldPeak = std::max(results.coldPeak, report.peakBytes);
  }
}

/// Runs until every switch is taken, if the session has any; reports the second
/// run, which goes on beside the preparing.
static void runUntilSwitched(const BenchOptions &options, Session &session,
                             const std::vector<Input> &in,
                             const std::vector<Output> &out, Results &results) {
  // A session with no thread to spare prepares a piece a run.
  static constexpr uint32_t mostRuns = 100000;
  nnv12_session_info info = session.info();
  results.switches = info.num_switches;
  std::vector<double> second;
  uint32_t runs = 0;
  while (info.switches_done < info.num_switches && runs < mostRuns) {
    double start = milliseconds();
    runSession(options.bundle, session, in, out);
    if (runs++ == 0)
      second.push_back(milliseconds() - start);
    info = session.info();
  }
  results.switchesDone = info.switches_done;
  results.runsToSwitch = runs;
  results.warm.push_back({"second run", second});
}

/// Medians of each operation's time in later runs, nanoseconds.
static OperationProfile profileOf(const BenchOptions &options,
                                  const Bundle &bundle,
                                  const std::vector<Input> &in,
                                  const std::vector<Output> &out) {
  SessionOptions recorded = options.session.session();
  Recorder recorder(bundle, recorded, NNV12_RECORD_OPERATION, 1);
  recorder.setGpuPerMille(0);
  Session session = openSession(options.bundle, bundle, recorded, &recorder);
  Recording recording = recorder.recording();
  runSession(options.bundle, session, in, out);
  Results ignored;
  runUntilSwitched(options, session, in, out, ignored);
  uint32_t operations = bundle.info().num_operations;
  std::vector<std::vector<double>> samples(operations);
  uint64_t lost = 0;
  recording.readAll(lost);
  OperationProfile profile;
  for (unsigned i = 0; i < options.warm; ++i) {
    runSession(options.bundle, session, in, out);
    std::vector<nnv12_record> records = recording.readAll(lost);
    std::vector<uint64_t> times = operationTimes(records, operations).back();
    profile.isOnGpu = operationsOnGpu(records, operations);
    for (uint32_t k = 0; k < operations; ++k)
      samples[k].push_back(double(times[k]));
  }
  for (const std::vector<double> &layer : samples)
    profile.nanoseconds.push_back(
        static_cast<uint64_t>(Statistics(layer).median));
  return profile;
}

static void measureWarm(const BenchOptions &options, const Bundle &bundle,
                        double open, Results &results) {
  forgetPeakMemory(); // that of backMemory()
  std::vector<Tensor> inputs =
      loadInputs(options.bundle, bundle, options.input, "");
  std::vector<Tensor> outputs = makeOutputs(bundle);
  std::vector<Input> in = asInputs(inputs);
  std::vector<Output> out = asOutputs(outputs);
  double start = milliseconds();
  Session session =
      openSession(options.bundle, bundle, options.session.session());
  double created = milliseconds() - start;
  results.warm = {{"open", {open}}, {"session", {created}}};
  if (options.session.waitFor) {
    start = milliseconds();
    prepareSession(options.bundle, session, options.session.waitFor);
    results.warm.push_back({"prepare", {milliseconds() - start}});
  }
  start = milliseconds();
  runSession(options.bundle, session, in, out);
  results.warm.push_back({"first run", {milliseconds() - start}});
  runUntilSwitched(options, session, in, out, results);
  results.warm.push_back({"run", {}});
  for (unsigned i = 0; i < options.warm; ++i) {
    start = milliseconds();
    runSession(options.bundle, session, in, out);
    results.warm.back().samples.push_back(milliseconds() - start);
  }
  results.warmPeak = peakMemory();
  options.session.explainGpu("nnv12-bench", session, options.load);
  if (options.profile && options.warm)
    results.profile = profileOf(options, bundle, in, out);
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
  printf("bundle %.2f MB (code %.2f, weights %.2f), arena %.2f MB, prepared "
         "%.2f MB\n",
         info.file_size * 1e-6, info.code_size * 1e-6, info.weights_size * 1e-6,
         info.arena_size * 1e-6, info.prepared_size * 1e-6);
  if (info.predicted_cold_ns)
    printf("predicted: cold %.3f ms, warm %.3f ms\n",
           info.predicted_cold_ns * 1e-6, info.predicted_warm_ns * 1e-6);
  printf("  %-12s %10s %10s %10s\n", "ms", "median", "min", "p95");
  if (options.cold) {
    printf("cold: %u processes, at most %.0f %% of the bundle cached before, "
           "peak memory %.2f MB\n",
           options.cold, 100 * results.residency, results.coldPeak * 1e-6);
    printStages(results.cold);
  }
  if (options.floor) {
    printf("floor: %u processes that touch all weights\n", options.floor);
    printStages(results.floor);
  }
  if (options.warm) {
    printf("warm: %u runs, peak memory %.2f MB\n", options.warm,
           results.warmPeak * 1e-6);
    if (results.switches)
      printf("  %u of %u switches taken after run %u\n", results.switchesDone,
             results.switches, results.runsToSwitch);
    printStages(results.warm);
  }
  if (std::string busy =
          busyText(results.otherCpus, unsigned(sysconf(_SC_NPROCESSORS_ONLN)));
      !busy.empty())
    printf("%s\n", busy.c_str());
  if (!results.profile.nanoseconds.empty())
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
  json.member("prepared_size", info.prepared_size);
  json.member("num_operations", info.num_operations);
  json.member("num_preparations", info.num_preparations);
  json.member("num_lanes", info.num_lanes);
  json.member("predicted_cold_ms", info.predicted_cold_ns * 1e-6);
  json.member("predicted_warm_ms", info.predicted_warm_ns * 1e-6);
  if (results.otherCpus >= 0)
    json.member("other_programs_cpus", results.otherCpus);
  if (options.cold) {
    json.key("cold").beginObject().member("runs", options.cold);
    json.member("cached_before", results.residency);
    json.member("caches_dropped", options.dropCaches);
    json.member("peak_bytes", results.coldPeak);
    addStages(json, results.cold);
    json.endObject();
  }
  if (options.floor) {
    json.key("floor").beginObject().member("runs", options.floor);
    json.member("cached_before", results.residency);
    addStages(json, results.floor);
    json.endObject();
  }
  if (options.warm) {
    json.key("warm").beginObject().member("runs", options.warm);
    json.member("switches", results.switches);
    json.member("switches_done", results.switchesDone);
    json.member("runs_to_switch", results.runsToSwitch);
    json.member("peak_bytes", results.warmPeak);
    addStages(json, results.warm);
    json.endObject();
  }
  json.endObject();
  return json.text();
}

int main(int argc, char **argv) {
  BenchOptions options = parseOptions(argc, argv);
  reportBoundsFaults();
  if (options.reportTo)
    return coldMain(options);
  if (!options.video.clip.empty()) {
    options.maxAge ? tryTolerances(options) : benchVideo(options);
    finishOutput();
    return 0;
  }
  Results results;
  // A bundle that cannot be opened is an error of this process, not of those
  // that it starts; and while it is open here its pages cannot be evicted.
  uint32_t threads;
  std::vector<Tensor> inputs;
  {
    Bundle bundle = openBundle(options.bundle, options.load);
    SessionOptions probe = options.session.session();
    probe.gpu.mode = NNV12_GPU_OFF;
    threads = openSession(options.bundle, bundle, probe).threads();
    inputs = loadInputs(options.bundle, bundle, options.input, "");
  }
  checkOutput(options.json);
  OtherPrograms others;
  if (options.cold || options.floor)
    measureCold(options, argv, inputs, results);
  double start = milliseconds();
  Bundle bundle = openBundle(options.bundle, options.load);
  double open = milliseconds() - start;
  if (options.warm)
    measureWarm(options, bundle, open, results);
  results.otherCpus = others.cpus();
  if (options.json != "-")
    printTable(options, bundle, threads, results);
  if (!options.json.empty())
    writeText(options.json, makeJson(options, bundle, threads, results));
  finishOutput();
}
