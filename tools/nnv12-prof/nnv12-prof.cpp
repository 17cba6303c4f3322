//===- nnv12-prof.cpp - Where the time of a bundle's runs goes ------------===//
#include "artifact/NonCopyable.h"
#include "tools/common/Clock.h"
#include "tools/common/Counters.h"
#include "tools/common/Files.h"
#include "tools/common/Loading.h"
#include "tools/common/OtherPrograms.h"
#include "tools/common/RecordFile.h"
#include "tools/common/Report.h"
#include "tools/common/TextFormat.h"
#include "tools/common/Traces.h"
#include "tools/nnv12-prof/Commands.h"
#include "tools/nnv12-prof/Overhead.h"
#include "tools/nnv12-prof/Profile.h"
#include "tools/nnv12-prof/ProfileVideo.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <sys/mman.h>

using namespace nnv12;
using namespace nnv12::tools;
using namespace nnv12::prof;

namespace {

/// How a profile is shown.
struct ShowOptions {
  std::string json, html, chrome, perfetto, table;
  unsigned top = 20;

  void addTo(Options &options) {
    options.number("top", "N", top, 0, 1000000,
                   "Show the N operations that take longest; 0: all, in their "
                   "order. Default 20.");
    options.text("json", "FILE", json,
                 "Write the profile to FILE as well; - is standard output, "
                 "instead of the text.");
    options.text("html", "FILE", html,
                 "Write a page to FILE, for any browser, with all of it as "
                 "pictures and tables: lanes over time, layers, roofline, "
                 "threads, memory, runs.");
    options.text(
        "perfetto", "FILE", perfetto,
        "Write all that was recorded to FILE, in Perfetto's own format: "
        "open it at ui.perfetto.dev.");
    options.text("chrome", "FILE", chrome,
                 "The same in the Trace Event Format, for chrome://tracing and "
                 "nnv12-inspect --html.");
    options.text("table", "FILE", table,
                 "Write a line for each kernel to FILE, with its features and "
                 "times, with commas between.");
  }

  void checkOutputs() const {
    for (const std::string *path : {&json, &html, &chrome, &perfetto, &table})
      if (!path->empty())
        checkOutput(*path);
  }

  /// All that was asked for.
  void show(const std::string &path, const Bundle &bundle,
            const Recorded &recorded, const Machine &machine) const {
    Profile profile = makeProfile(bundle, recorded, machine);
    // The plan for a GPU is in the file alone, as is much of a page.
    std::optional<StoredProgram> stored;
    if (recorded.info.has_gpu_threads || !html.empty())
      stored.emplace(path, bundle);
    if (recorded.info.has_gpu_threads)
      profile.gpu = findGpuPreparing(*stored, recorded);
    bool isQuiet = false;
    for (const std::string *output : {&json, &html, &chrome, &perfetto, &table})
      isQuiet |= *output == "-";
    if (!isQuiet)
      printProfile(path, bundle, profile, top);
    if (!json.empty())
      writeText(json, profileJson(path, bundle, profile));
    if (!html.empty())
      writeText(html, profilePage(path, *stored, bundle, recorded, profile));
    if (!chrome.empty())
      writeText(chrome, chromeTrace(bundle, recorded));
    if (!perfetto.empty())
      writeText(perfetto, perfettoTrace(bundle, recorded));
    if (!table.empty())
      writeText(table, kernelTable(path, bundle, profile, /*withHead=*/true));
  }

  /// The same for a clip.
  void show(const std::string &path, const Bundle &bundle,
            const VideoProfile &profile) const {
    if (json != "-" && html != "-")
      printVideo(path, bundle, profile, top);
    if (!json.empty())
      writeText(json, videoJson(path, bundle, profile));
    if (!html.empty())
      writeText(html,
                videoPage(path, StoredProgram(path, bundle), bundle, profile));
  }
};

/// The options of a session that is profiled.
struct ProfileOptions {
  unsigned runs = 200;
  unsigned every = 0; ///< milliseconds from one run to the next
  bool freshOutputs = false;
  std::string level = "piece";
  Counters counters{"all"};
  LoadOptions load;
  RunOptions session;
  InputOptions input;

  void addTo(Options &options) {
    options.number("runs", "N", runs, 1, 10000000,
                   "How often to run: the first one is shown apart. Default "
                   "200.");
    options.number(
        "every", "MS", every, 0, 1000000,
        "Begin a run each MS milliseconds, as a camera does, and sleep "
        "between. Default 0: one after the other.");
    options.flag(
        "fresh-outputs", freshOutputs,
        "Give each run outputs in memory that was never used before, as "
        "programs do that allocate each result anew.");
    addLevel(options);
  }

  /// Without those that say what runs there are.
  void addLevel(Options &options) {
    options.choice("level", {"run", "operation", "piece"}, level,
                   ("How much is recorded: runs alone; each operation as well; "
                    "each thread's part of it as well. Default " +
                    level + ".")
                       .c_str());
    counters.addTo(options);
    input.addTo(options);
    session.addTo(options);
    load.addTo(options);
  }

  nnv12_record_level recordLevel() const {
    return level == "run"         ? NNV12_RECORD_RUN
           : level == "operation" ? NNV12_RECORD_OPERATION
                                  : NNV12_RECORD_PIECE;
  }
};

/// As programs have them that allocate each result anew.
class FreshOutputs : artifact::NonCopyable {
public:
  /// Ends the process where there is no memory.
  explicit FreshOutputs(const Bundle &bundle) {
    for (uint32_t i = 0; i < bundle.numOutputs(); ++i) {
      size_t size = bundle.output(i).byte_size;
      void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED)
        fail("no memory for outputs of " + std::to_string(size) + " bytes");
      buffers_.push_back({memory, size});
    }
  }
  ~FreshOutputs() {
    for (const Output &buffer : buffers_)
      munmap(buffer.data, buffer.size);
  }

  /// The bundle's outputs, in its order.
  const std::vector<Output> &outputs() const { return buffers_; }
  /// From now on each page is as if it was never used: the next use of it is a
  /// page fault.
  void renew() {
    for (const Output &buffer : buffers_)
      madvise(buffer.data, buffer.size, MADV_DONTNEED);
  }

private:
  std::vector<Output> buffers_;
};

} // namespace

/// Runs a session; `file` is where to record, empty: in memory.
static Recorded record(const std::string &path, const Bundle &bundle,
                       const ProfileOptions &options, const std::string &file) {
  std::vector<Tensor> inputs = loadInputs(path, bundle, options.input, "");
  std::vector<Tensor> outputs = makeOutputs(bundle);
  std::vector<Input> in = asInputs(inputs);
  FreshOutputs fresh(bundle);
  std::vector<Output> out =
      options.freshOutputs ? fresh.outputs() : asOutputs(outputs);
  SessionOptions session = options.session.session();
  nnv12_record_level level = options.recordLevel();
  // Keeps the last ones of very many runs.
  static constexpr size_t mostBytes = size_t(256) << 20;
  uint32_t kept = options.runs;
  nnv12_recorder counting = NNV12_RECORDER_INIT(nullptr, 0);
  counting.counters = options.counters.source();
  session.recorder = &counting;
  for (nnv12_session_options c = session.get();
       kept > 1 &&
       nnv12_recorder_size(bundle.get(), &c, level, kept) > mostBytes;)
    kept /= 2;
  std::optional<RecordFile> recordFile;
  std::optional<Recorder> recorder;
  if (file.empty()) {
    recorder.emplace(bundle, session, level, kept, options.counters.source());
    session.recorder = recorder->get();
  } else {
    recordFile.emplace(file, bundle, session, level, kept,
                       options.counters.source());
    session.recorder = recordFile->get();
  }
  // The cost of counters is outside of the times.
  nnv12_recorder each = *session.recorder;
  each.counters_per_mille = each.gpu_per_mille = 0;
  session.recorder = &each;
  OtherPrograms others;
  double othersCpu = -1;
  Recording recording = [&] {
    Session running = openSession(path, bundle, session);
    uint64_t next = nanoseconds();
    for (unsigned i = 0; i < options.runs; ++i) {
      // Even where the time has passed sleeping is not free.
      if (options.every)
        sleepUntil(next);
      next += uint64_t(options.every) * 1'000'000;
      if (options.freshOutputs)
        fresh.renew();
      runSession(path, running, in, out);
    }
    othersCpu = others.cpuTime();
    return Recording(session.recorder->memory, session.recorder->size);
  }();
  Recorded recorded;
  recorded.read(recording);
  recorded.countersState = options.counters.state();
  recorded.othersCpu = othersCpu;
  return recorded;
}

//===----------------------------------------------------------------------===//
// nnv12-prof BUNDLE
//===----------------------------------------------------------------------===//

static constexpr char overview[] =
    "runs a bundle and shows where the time goes: runs, losses of slow ones, "
    "threads, operations, the first run. Other commands: nnv12-prof live FILE "
    "watches a session that records to a file; nnv12-prof report FILE shows "
    "what was recorded; nnv12-prof table BUNDLE... makes a table of kernels; "
    "nnv12-prof overhead BUNDLE... measures the cost of recording; "
    "nnv12-prof compare OLD NEW says whether a bundle is slower. Each has a "
    "--help of its own";

static constexpr char examples[] =
    R"(  nnv12-prof model.nnv
      200 runs with random inputs
  nnv12-prof model.nnv --threads 1 --runs 1000 --json profile.json
      for programs
  nnv12-prof model.nnv --perfetto model.pftrace
      a picture of all that was recorded, for ui.perfetto.dev
  nnv12-prof model.nnv --video clip.y4m --html page.html
      what a stream reuses of the frames of a clip, by layer
  nnv12-prof model.nnv --record model.nnr & nnv12-prof live model.nnr
      while it runs
)";

static int profileMain(int argc, char **argv) {
  std::string bundlePath, recordPath;
  ProfileOptions profile;
  ShowOptions show;
  VideoOptions video;
  Options options("nnv12-prof", overview, examples);
  options.positional("BUNDLE.nnv", bundlePath);
  options.output("record", "FILE", recordPath,
                 "Keep the recording in FILE, which others may read while it "
                 "is written: see nnv12-prof live and report.");
  show.addTo(options);
  video.addTo(options);
  profile.addTo(options);
  options.parse(argc, argv);
  const ProfileOptions defaults;
  checkVideoOptions(video,
                    {{"--input", !profile.input.inputs.empty()},
                     {"--random", profile.input.random},
                     {"--seed", profile.input.seed != defaults.input.seed},
                     {"--runs", profile.runs != defaults.runs},
                     {"--every", profile.every != defaults.every},
                     {"--fresh-outputs", profile.freshOutputs},
                     {"--level", profile.level != defaults.level},
                     {"--record", !recordPath.empty()},
                     {"--perfetto", !show.perfetto.empty()},
                     {"--chrome", !show.chrome.empty()},
                     {"--table", !show.table.empty()}});
  profile.input.random = true;
  Bundle bundle = openBundle(bundlePath, profile.load);
  if (!video.clip.empty()) {
    SessionOptions session = profile.session.session();
    session.stream = chooseProfiledStream(video, bundlePath, bundle);
    VideoInput input(bundlePath, bundle, video, profile.input.image);
    // Not before the clip is known, which must stay.
    show.checkOutputs();
    VideoProfile found = profileVideo(bundlePath, bundle, input, session,
                                      profile.session.waitFor);
    found.clip = video.clip;
    show.show(bundlePath, bundle, found);
    return 0;
  }
  show.checkOutputs();
  profile.counters.open();
  if (!recordPath.empty())
    checkOutput(recordPath);
  Recorded recorded = record(bundlePath, bundle, profile, recordPath);
  // Afterwards: the first run found the machine as it was.
  Machine machine =
      measureMachine(bundle.info().target,
                     recorded.info.num_threads - recorded.info.num_preparing);
  show.show(bundlePath, bundle, recorded, machine);
  return 0;
}

//===----------------------------------------------------------------------===//
// nnv12-prof report FILE
//===----------------------------------------------------------------------===//

static constexpr char reportOverview[] =
    "shows what a session has recorded to a file, as nnv12-prof does of one "
    "that it runs itself";

static constexpr char reportExamples[] =
    R"(  nnv12-prof report camera.nnr --bundle camera.nnv
  nnv12-prof report camera.nnr --bundle camera.nnv --perfetto camera.pftrace
)";

static int reportMain(int argc, char **argv) {
  std::string recordPath, bundlePath;
  ShowOptions show;
  LoadOptions load;
  Options options("nnv12-prof report", reportOverview, reportExamples);
  options.positional("RECORDING.nnr", recordPath);
  options.text("bundle", "FILE", bundlePath,
               "The bundle that ran. Required: names, kernels and the plan are "
               "there.");
  show.addTo(options);
  load.addTo(options);
  options.parse(argc, argv);
  if (bundlePath.empty())
    fail("--bundle: found none, expected the bundle that ran");
  noteInput(recordPath);
  Bundle bundle = openBundle(bundlePath, load);
  show.checkOutputs();
  RecordView view(recordPath);
  Recording recording = openRecording(recordPath, view);
  checkBundle(recordPath, recording.info(), bundlePath, bundle);
  Recorded recorded;
  recorded.read(recording);
  if (recorded.records.empty())
    fail(recordPath + ": found no run that has ended, expected one at least");
  // Nobody knows what the machine could do that it was recorded on.
  show.show(bundlePath, bundle, recorded, Machine());
  return 0;
}

//===----------------------------------------------------------------------===//
// nnv12-prof table BUNDLE...
//===----------------------------------------------------------------------===//

static constexpr char tableOverview[] =
    "runs bundles and writes a line for each kernel, with its features (layer, "
    "routine, multiply-adds, bytes, tiles) and its times: the data from which "
    "predictors of latency and searches for architectures are made";

static constexpr char tableExamples[] =
    R"(  nnv12-prof table a.nnv b.nnv -o kernels.csv --threads 1
)";

static int tableMain(int argc, char **argv) {
  std::vector<std::string> bundlePaths;
  std::string output = "-";
  ProfileOptions profile;
  // Records of tiles cost time.
  profile.level = "operation";
  profile.counters = Counters("none");
  Options options("nnv12-prof table", tableOverview, tableExamples);
  options.positionals("BUNDLE.nnv", bundlePaths);
  options.text("o", "FILE", output,
               "Where to write; -, the default, is standard output.");
  profile.addTo(options);
  options.parse(argc, argv);
  profile.input.random = true;
  std::vector<Bundle> bundles;
  for (const std::string &path : bundlePaths)
    bundles.push_back(openBundle(path, profile.load));
  checkOutput(output);
  profile.counters.open();
  std::string table;
  for (size_t i = 0; i < bundles.size(); ++i)
    table +=
        kernelTable(bundlePaths[i], bundles[i],
                    makeProfile(bundles[i], record(bundlePaths[i], bundles[i],
                                                   profile, "")),
                    /*withHead=*/i == 0);
  writeText(output, table);
  return 0;
}

//===----------------------------------------------------------------------===//
// nnv12-prof overhead BUNDLE...
//===----------------------------------------------------------------------===//

static constexpr char overheadOverview[] =
    "measures the cost of recording: runs each bundle with every other run "
    "recorded, and shows how much longer these take, with the interval in "
    "which the median is with 95 %";

static constexpr char overheadExamples[] =
    R"(  nnv12-prof overhead a.nnv b.nnv --threads 1
  nnv12-prof overhead a.nnv --level piece --pairs 10000
)";

static int overheadMain(int argc, char **argv) {
  std::vector<std::string> bundlePaths;
  unsigned pairs = 2000;
  ProfileOptions profile;
  profile.level = "operation";
  profile.counters = Counters("none");
  Options options("nnv12-prof overhead", overheadOverview, overheadExamples);
  options.positionals("BUNDLE.nnv", bundlePaths);
  options.number("pairs", "N", pairs, 1, 10000000,
                 "How many recorded runs, each beside one that is not. Default "
                 "2000.");
  profile.addLevel(options);
  options.parse(argc, argv);
  profile.input.random = true;
  profile.counters.open();
  printf("%10s %6s %10s %22s %8s %9s  %s\n", "us", "ops", "ns more", "between",
         "ns/op", "%", "bundle");
  double logarithms = 0;
  for (const std::string &path : bundlePaths) {
    Bundle bundle = openBundle(path, profile.load);
    std::vector<Tensor> inputs = loadInputs(path, bundle, profile.input, "");
    std::vector<Tensor> outputs = makeOutputs(bundle);
    Overhead found = measureOverhead(
        path, bundle, profile.session.session(), profile.recordLevel(), pairs,
        profile.counters.source(), asInputs(inputs), asOutputs(outputs));
    uint32_t operations = bundle.info().num_operations;
    std::string between = format("%.0f and %.0f", found.low, found.high);
    printf("%10.1f %6u %10.0f %22s %8.1f %9.4f  %s\n", found.run * 1e-3,
           operations, found.difference, between.c_str(),
           operations ? found.difference / operations : 0,
           100 * found.difference / found.run, path.c_str());
    logarithms += std::log1p(found.difference / found.run);
  }
  printf("geometric mean %.4f %%\n",
         100 * std::expm1(logarithms / double(bundlePaths.size())));
  return 0;
}

int main(int argc, char **argv) {
  static constexpr struct {
    const char *name;
    int (*main)(int argc, char **argv);
  } commands[] = {{"compare", compareMain},
                  {"live", liveMain},
                  {"overhead", overheadMain},
                  {"report", reportMain},
                  {"table", tableMain}};
  reportBoundsFaults();
  int status = -1;
  for (const auto &command : commands)
    if (argc > 1 && strcmp(argv[1], command.name) == 0)
      status = command.main(argc - 1, argv + 1);
  if (status < 0)
    status = profileMain(argc, argv);
  finishOutput();
  return status;
}
