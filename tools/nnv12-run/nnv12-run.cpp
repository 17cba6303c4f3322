//===- nnv12-run.cpp - Runs a bundle once ---------------------------------===//
#include "artifact/Escape.h"
#include "tools/common/Clock.h"
#include "tools/common/Compare.h"
#include "tools/common/Files.h"
#include "tools/common/LayerTimes.h"
#include "tools/common/Loading.h"
#include "tools/common/Npy.h"
#include "tools/common/Report.h"
#include "tools/common/Traces.h"
#include "tools/nnv12-run/Classes.h"
#include "tools/nnv12-run/OutputSummary.h"
#include "tools/nnv12-run/VideoRun.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::run;
using namespace nnv12::tools;

static constexpr char overview[] =
    "runs a bundle once, or on each frame of a video: reads its inputs, "
    "computes, and writes, compares or explains the outputs";

static constexpr char examples[] =
    R"(  nnv12-run model.nnv --input x=x.npy --output-dir out
      writes out/output_0.npy, out/output_1.npy... in the model's order
  nnv12-run model.nnv --input photo.jpg
      says what is on a photo, where the bundle has labels and says how it takes
      pictures; else as here:
  nnv12-run model.nnv --input photo.jpg --mean 0.485,0.456,0.406 \
            --std 0.229,0.224,0.225 --labels imagenet.txt --top 3
  nnv12-run model.nnv --expect case
      takes case/input_0.npy..., compares with case/output_0.npy...; exits with
      1 if they differ
  nnv12-run model.nnv --random --threads 2 --profile
      where the time goes, layer by layer
  nnv12-run model.nnv --random --trace trace.json
      which lane did what when
  ffmpeg -i in.mp4 -f yuv4mpegpipe -pix_fmt yuv420p - | nnv12-run model.nnv \
            --video -
      what is on each frame of a video
)";

/// Ends the process where options do not go with --video, or need it.
static void checkVideo(const CommandLine &given) {
  const CommandLine defaults;
  const InputOptions &input = given.input;
  checkVideoOptions(given.video, {{"--input", !input.inputs.empty()},
                                  {"--random", input.random},
                                  {"--seed", input.seed != defaults.input.seed},
                                  {"--output-dir", !given.outputDir.empty()},
                                  {"--save-inputs", !given.saveInputs.empty()},
                                  {"--expect", !given.expect.empty()},
                                  {"--top", given.top != defaults.top},
                                  {"--runs", given.runs != defaults.runs},
                                  {"--settle", given.settle},
                                  {"--trace", !given.trace.empty()},
                                  {"--time", given.time},
                                  {"--profile", given.profile}});
  if (given.video.clip.empty() && !given.json.empty())
    fail("--json: found no --video, which it is for");
}

static CommandLine parseOptions(int argc, char **argv) {
  CommandLine result;
  Options options("nnv12-run", overview, examples);
  options.positional("BUNDLE.nnv", result.bundle);
  result.input.addTo(options);
  options.output(
      "output-dir", "DIR", result.outputDir,
      "Write each output to DIR/output_I.npy. DIR is made if it does "
      "not exist.");
  options.output(
      "save-inputs", "DIR", result.saveInputs,
      "Write each input, as it was made of its file, to DIR/input_I.npy, where "
      "--expect looks for inputs. DIR is made if it does not exist.");
  options.text("expect", "DIR", result.expect,
               "Compare each output with DIR/output_I.npy, print the largest "
               "absolute and relative error, and exit with 1 if one is outside "
               "of the tolerance. An output NAME with a NAME.count is compared "
               "without its padding. Inputs without --input come from "
               "DIR/input_I.npy.");
  options.real("half-units", "N", result.tolerance.halfUnits,
               "For --expect of f16: |a-b| may also be N units in the last "
               "place of max|b|. Default 4.");
  options.text("labels", "FILE", result.labels,
               "Print the first output as a classification: one line of FILE "
               "is the name of one class. Without: the names that the bundle "
               "has (nnv12c --labels), if any.");
  options.number("top", "K", result.top, 1, 1000000,
                 "For --labels: how many classes to print. Default 5.");
  options.number("runs", "N", result.runs, 1, 1000000,
                 "Run N times; outputs are those of the last. Default 1.");
  options.number("deadline-ms", "N", result.deadline, 1, 86400000,
                 "An error if a run takes longer than N ms, which is looked at "
                 "between layers. Default: none.");
  options.flag("settle", result.settle,
               "Then wait until all is prepared that later runs want, and run "
               "once more: with the kernels that the bundle has for later "
               "runs, and with a GPU's part in them.");
  options.text(
      "trace", "FILE", result.trace,
      "Write the times of each lane's work, from opening the bundle to the "
      "end of the last run, in the Trace Event Format, for Perfetto, "
      "chrome://tracing and nnv12-inspect --html; - is standard "
      "output, instead of the summary of the outputs.");
  result.video.addTo(
      options, "For --expect: |a-b| may be T * max|b| + 1e-5. Default 1e-4. ");
  options.text("json", "FILE", result.json,
               "For --video: write a JSON object for each frame to FILE, one a "
               "line; - is standard output, instead of the text.");
  options.flag("time", result.time, "Print how long each stage took.");
  options.flag("profile", result.profile,
               "Print how long each layer took, in a second run, with caches "
               "warm.");
  result.session.addTo(options);
  result.load.addTo(options);
  options.parse(argc, argv);
  // One option, of --expect or of --video.
  if (result.video.clip.empty() && result.video.tolerance) {
    result.tolerance.relative = *result.video.tolerance;
    result.video.tolerance.reset();
  }
  checkVideo(result);
  return result;
}

static void printSummary(const Bundle &bundle,
                         const std::vector<Tensor> &outputs) {
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const nnv12_tensor_info &info = bundle.output(i);
    OutputSummary summary(outputs[i]);
    bool isNumber = summary.numNan < summary.count;
    printf("output_%u '%s' %s", i, info.name, describe(info).c_str());
    if (isNumber)
      printf(": min %g, max %g, mean %g", summary.least, summary.most,
             summary.mean);
    if (summary.numNan)
      printf("%s %zu of %zu are NaN", isNumber ? "," : ":", summary.numNan,
             summary.count);
    printf("\n");
  }
}

static std::string caseFile(const std::string &dir, uint32_t output) {
  return dir + "/output_" + std::to_string(output) + ".npy";
}

static std::string inputFile(const std::string &dir, uint32_t input) {
  return dir + "/input_" + std::to_string(input) + ".npy";
}

/// Checks before the run that no output replaces an input, not even one that is
/// read after the run.
static void checkOutputs(const CommandLine &options, const Bundle &bundle) {
  noteInput(options.labels);
  for (uint32_t i = 0; i < bundle.numOutputs() && !options.expect.empty(); ++i)
    noteInput(caseFile(options.expect, i));
  for (uint32_t i = 0; i < bundle.numOutputs() && !options.outputDir.empty();
       ++i)
    checkOutput(caseFile(options.outputDir, i));
  for (uint32_t i = 0; i < bundle.numInputs() && !options.saveInputs.empty();
       ++i)
    checkOutput(inputFile(options.saveInputs, i));
  checkOutput(options.trace);
}

static void makeFolder(const std::string &dir) {
  if (mkdir(dir.c_str(), 0777) != 0 && errno != EEXIST)
    fail(dir + ": cannot create: " + strerror(errno));
}

static void saveInputs(const std::string &dir, const Bundle &bundle,
                       const std::vector<Tensor> &inputs) {
  makeFolder(dir);
  for (uint32_t i = 0; i < inputs.size(); ++i)
    failIf(writeNpy(inputFile(dir, i), bundle.input(i), inputs[i].data.data()));
}

static void writeOutputs(const std::string &dir, const Bundle &bundle,
                         const std::vector<Tensor> &outputs) {
  makeFolder(dir);
  for (uint32_t i = 0; i < outputs.size(); ++i)
    failIf(
        writeNpy(caseFile(dir, i), bundle.output(i), outputs[i].data.data()));
}

/// The output that says how many elements of output `i` count; none for one of
/// which all do.
static std::optional<uint32_t> countOf(const Bundle &bundle, uint32_t i) {
  std::string name = bundle.output(i).name + std::string(".count");
  for (uint32_t k = 0; k < bundle.numOutputs(); ++k)
    if (bundle.output(k).name == name && bundle.output(k).type == NNV12_I64)
      return k;
  return std::nullopt;
}

static bool isCount(const Bundle &bundle, uint32_t output) {
  for (uint32_t i = 0; i < bundle.numOutputs(); ++i)
    if (countOf(bundle, i) == output)
      return true;
  return false;
}

/// The first `size` slices along `axis`.
static Tensor cut(const Tensor &tensor, size_t axis, int64_t size) {
  size_t inner = elementSize(tensor.type), outer = 1;
  for (size_t d = 0; d < tensor.shape.size(); ++d)
    (d < axis ? outer : inner) *= d == axis ? 1 : size_t(tensor.shape[d]);
  Tensor result;
  result.type = tensor.type;
  result.shape = tensor.shape;
  result.shape[axis] = size;
  result.data = Buffer(outer * size * inner);
  for (size_t i = 0; i < outer; ++i)
    memcpy(result.data.data() + i * size * inner,
           tensor.data.data() + i * tensor.shape[axis] * inner, size * inner);
  return result;
}

/// Output `i` without the padding behind the elements that count, if it has
/// such: along the axis in which another size is expected, else the first.
static std::optional<Tensor>
withoutPadding(const Bundle &bundle, const std::vector<Tensor> &outputs,
               uint32_t i, const std::vector<int64_t> &expected) {
  const Tensor &output = outputs[i];
  std::optional<uint32_t> count = countOf(bundle, i);
  if (!count || expected.empty() || expected.size() != output.shape.size())
    return std::nullopt;
  size_t axis =
      std::mismatch(expected.begin(), expected.end(), output.shape.begin())
          .first -
      expected.begin();
  if (axis == expected.size())
    axis = 0;
  double size = elementAt(NNV12_I64, outputs[*count].data.data(), 0);
  return cut(output, axis,
             std::clamp<int64_t>(int64_t(size), 0, output.shape[axis]));
}

/// Returns whether all outputs are within the tolerance.
static bool compareOutputs(const CommandLine &options, const Bundle &bundle,
                           const std::vector<Tensor> &outputs) {
  bool good = true;
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    const nnv12_tensor_info &info = bundle.output(i);
    std::string file = caseFile(options.expect, i);
    // The count of another output is compared with that output's size.
    if (isCount(bundle, i) && access(file.c_str(), F_OK) != 0)
      continue;
    Tensor expected;
    failIf(readNpy(file, info.type, expected));
    if (expected.type != info.type)
      fail(file + ": type: found " + nnv12_type_name(info.type) +
           ", expected " + nnv12_type_name(expected.type));
    std::optional<Tensor> counted =
        withoutPadding(bundle, outputs, i, expected.shape);
    const Tensor &found = counted ? *counted : outputs[i];
    if (expected.shape != found.shape)
      fail(file + ": shape: found " + shapeText(found.shape) + ", expected " +
           shapeText(expected.shape));
    Difference difference = compare(found, expected, options.tolerance);
    printf("output_%u '%s' %s: largest error %.3g absolute, %.3g relative", i,
           info.name, describe(info).c_str(), difference.absolute,
           difference.relative);
    if (info.type == NNV12_F16)
      printf(", %.3g units in the last place", difference.units);
    printf(": %s", difference.within ? "ok" : "differs");
    if (!difference.within)
      printf(" (element %zu: found %.9g, expected %.9g)", difference.index,
             difference.found, difference.expected);
    printf("\n");
    good &= difference.within;
  }
  return good;
}

static void printClasses(const CommandLine &options, const Bundle &bundle,
                         const std::vector<std::string> &labels,
                         const Tensor &scores) {
  for (const Class &best : topClasses(options, bundle, scores, options.top))
    printf("%6.2f %%  %s\n", 100 * best.share,
           artifact::escaped(labels[best.number]).c_str());
}

/// The longest wait of --settle: a longer one does not come to an end.
static constexpr unsigned mostSettling = 600000;

int main(int argc, char **argv) {
  CommandLine options = parseOptions(argc, argv);
  reportBoundsFaults();
  uint64_t start = nanoseconds();
  Bundle bundle = openBundle(options.bundle, options.load);
  uint64_t opened = nanoseconds();
  // Owned here, for its threads write to it until the session is closed.
  std::unique_ptr<Recorder> recorder;
  SessionOptions sessionOptions = options.session.session();
  if (!options.video.clip.empty())
    sessionOptions.stream = chooseStream(options.video, options.bundle, bundle,
                                         sessionOptions.gpu.mode);
  if (!options.trace.empty()) {
    recorder = std::make_unique<Recorder>(bundle, sessionOptions,
                                          NNV12_RECORD_OPERATION, options.runs);
    recorder->setGpuPerMille(0);
  }
  uint64_t creating = nanoseconds();
  auto session = std::make_unique<Session>(
      openSession(options.bundle, bundle, sessionOptions, recorder.get()));
  uint64_t created = nanoseconds();
  if (!options.video.clip.empty()) {
    runVideo(options, bundle, *session);
    options.session.explainGpu("nnv12-run", *session, options.load);
    finishOutput();
    return 0;
  }
  std::vector<Tensor> inputs =
      loadInputs(options.bundle, bundle, options.input, options.expect);
  checkOutputs(options, bundle);
  if (!options.saveInputs.empty())
    saveInputs(options.saveInputs, bundle, inputs);
  std::vector<Tensor> outputs = makeOutputs(bundle);
  std::vector<Input> in = asInputs(inputs);
  std::vector<Output> out = asOutputs(outputs);
  if (options.session.waitFor)
    prepareSession(options.bundle, *session, options.session.waitFor);
  // Shows the bundle's own result where no other output is asked for.
  bool isSummary = options.expect.empty() && options.outputDir.empty() &&
                   options.trace != "-";
  std::vector<std::string> labels;
  if (isSummary || !options.labels.empty())
    labels = chooseLabels(options, bundle);
  uint64_t loaded = nanoseconds(), ran = 0;
  for (unsigned i = 0; i < options.runs; ++i) {
    runSession(options.bundle, *session, in, out, options.deadline);
    if (i == 0)
      ran = nanoseconds();
  }
  if (options.settle) {
    prepareSession(options.bundle, *session, mostSettling);
    runSession(options.bundle, *session, in, out, options.deadline);
  }
  options.session.explainGpu("nnv12-run", *session, options.load);

  bool good = true;
  if (!options.outputDir.empty())
    writeOutputs(options.outputDir, bundle, outputs);
  if (!labels.empty())
    printClasses(options, bundle, labels, outputs[0]);
  if (!options.expect.empty())
    good = compareOutputs(options, bundle, outputs);
  else if (labels.empty() && isSummary)
    printSummary(bundle, outputs);
  if (options.time) {
    printf("open %.3f ms, session %.3f ms, read inputs %.3f ms, first run %.3f "
           "ms (%s, %u threads)\n",
           (opened - start) * 1e-6, (created - creating) * 1e-6,
           (loaded - created) * 1e-6, (ran - loaded) * 1e-6,
           bundle.info().target, session->threads());
    nnv12_session_info info = session->info();
    if (info.steady_run != NNV12_NO_RUN &&
        (info.switches_done || info.gpu_stretches_taken))
      printf("routines for later runs compute from run %u on\n",
             info.steady_run + 1);
    if (info.gpu_stretches_taken)
      printf("gpu %s: open after %.3f ms, ready after %.3f ms, %u stretches in "
             "the last run\n",
             info.gpu_device_name, info.gpu_open_ns * 1e-6,
             info.gpu_ready_ns * 1e-6, info.gpu_stretches_taken);
  }
  if (recorder) {
    session.reset();
    Recorded recorded;
    Recording recording = recorder->recording();
    recorded.read(recording);
    recorded.stages = {{"open and verify", start, opened},
                       {"create session", creating, created},
                       {"read inputs", created, loaded}};
    writeText(options.trace, chromeTrace(bundle, recorded));
  }
  if (options.profile) {
    // Profiles the second run, which does not wait for weights.
    Recorder runs(bundle, sessionOptions, NNV12_RECORD_OPERATION, 2);
    runs.setGpuPerMille(0);
    session = std::make_unique<Session>(
        openSession(options.bundle, bundle, sessionOptions, &runs));
    runSession(options.bundle, *session, in, out);
    runSession(options.bundle, *session, in, out);
    session.reset();
    uint64_t lost = 0;
    std::vector<nnv12_record> records = runs.recording().readAll(lost);
    uint32_t operations = bundle.info().num_operations;
    printProfile(bundle, {operationTimes(records, operations).back(),
                          operationsOnGpu(records, operations)});
  }
  finishOutput();
  return good ? 0 : 1;
}
