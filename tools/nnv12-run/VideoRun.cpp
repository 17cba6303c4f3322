//===- VideoRun.cpp - Runs a bundle on each frame of a video --------------===//
#include "tools/nnv12-run/VideoRun.h"

#include "artifact/AtomicFile.h"
#include "artifact/Escape.h"
#include "tools/common/Clock.h"
#include "tools/common/Files.h"
#include "tools/common/Json.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"
#include "tools/nnv12-run/Classes.h"
#include "tools/nnv12-run/OutputSummary.h"

#include <cstdio>

namespace nnv12::run {

using namespace tools;

namespace {

/// Lines of JSON for standard output, at once, or for a file, which appears
/// whole behind the last one.
class JsonLines {
public:
  /// "": none, "-": standard output.
  explicit JsonLines(const std::string &path) : path_(path) {
    artifact::Fault fault;
    if (isFile() && !file_.open(path_.c_str(), fault))
      fail(path_ + ": " + fault.text);
  }
  void write(const std::string &line) {
    artifact::Fault fault;
    if (!isFile())
      fwrite(line.data(), 1, line.size(), stdout);
    else if (!file_.write(line.data(), line.size(), fault))
      fail(path_ + ": " + fault.text);
  }
  void finish() {
    artifact::Fault fault;
    if (isFile() &&
        !file_.commit(fault, artifact::AtomicFile::Durability::None))
      fail(path_ + ": " + fault.text);
  }

private:
  bool isFile() const { return !path_.empty() && path_ != "-"; }

  std::string path_;
  artifact::AtomicFile file_;
};

/// Milliseconds of runs: a video may have no end, so the last ones.
class RecentTimes {
public:
  void add(double time) {
    if (times_.size() < most)
      times_.push_back(time);
    else
      times_[count_ % most] = time;
    ++count_;
  }
  void print() const {
    Statistics statistics(times_);
    printf("%llu frame%s: median %.3f ms, p90 %.3f ms",
           static_cast<unsigned long long>(count_), count_ == 1 ? "" : "s",
           statistics.median, statistics.p90);
    if (count_ > most)
      printf(" of the last %zu", most);
    printf("\n");
  }

private:
  static constexpr size_t most = 100000;
  std::vector<double> times_;
  uint64_t count_ = 0;
};

/// The facts of a frame that are shown.
struct FrameResult {
  uint64_t frame = 0;
  double time = 0;                    ///< milliseconds of its run
  const std::string *label = nullptr; ///< of the top class; null: no classes
  Class top;
  std::vector<OutputSummary> outputs; ///< where there are no classes
};

} // namespace

static void printLine(const Bundle &bundle, const FrameResult &result) {
  printf("frame %llu: %.3f ms", static_cast<unsigned long long>(result.frame),
         result.time);
  if (result.label)
    printf(", %.2f %% %s", 100 * result.top.share,
           artifact::escaped(*result.label).c_str());
  for (uint32_t i = 0; i < result.outputs.size(); ++i) {
    const OutputSummary &output = result.outputs[i];
    printf("%s %s %.4g", i ? "," : ", largest", bundle.output(i).name,
           output.most);
    if (output.numNan && output.numNan < output.count)
      printf(" (%zu NaN)", output.numNan);
  }
  printf("\n");
}

static std::string makeLine(const Bundle &bundle, const FrameResult &result) {
  Json json;
  json.beginObject().member("frame", result.frame).member("ms", result.time);
  if (result.label) {
    json.key("class").beginObject();
    json.member("number", uint64_t(result.top.number));
    json.member("name", *result.label).member("share", result.top.share);
    json.endObject();
  } else {
    json.key("outputs").beginArray();
    for (uint32_t i = 0; i < result.outputs.size(); ++i) {
      const OutputSummary &output = result.outputs[i];
      json.beginObject().member("name", bundle.output(i).name);
      json.member("min", output.least).member("max", output.most);
      json.member("mean", output.mean).member("nan", uint64_t(output.numNan));
      json.endObject();
    }
    json.endArray();
  }
  json.endObject();
  return json.line() + "\n";
}

static void printAudits(const nnv12_stream_info &info) {
  printf("%llu frame%s audited: outputs with reuse differ by at most %.3g of "
         "the root mean square\n",
         static_cast<unsigned long long>(info.audits),
         info.audits == 1 ? "" : "s", info.audit_error);
}

void runVideo(const CommandLine &options, const Bundle &bundle,
              Session &session) {
  VideoInput video(options.bundle, bundle, options.video, options.input.image);
  noteInput(options.labels);
  checkOutput(options.json);
  std::vector<std::string> labels = chooseLabels(options, bundle);
  std::vector<Tensor> inputs, outputs = makeOutputs(bundle);
  inputs.emplace_back(video.input());
  std::vector<Input> in = asInputs(inputs);
  std::vector<Output> out = asOutputs(outputs);
  if (options.session.waitFor)
    prepareSession(options.bundle, session, options.session.waitFor);
  JsonLines lines(options.json);
  RecentTimes times;
  for (Levels levels; video.next(levels);) {
    video.fill(levels, inputs[0]);
    FrameResult result;
    result.frame = video.count() - 1;
    double start = milliseconds();
    runSession(options.bundle, session, in, out, options.deadline);
    result.time = milliseconds() - start;
    times.add(result.time);
    if (!labels.empty()) {
      result.top = topClasses(options, bundle, outputs[0], 1).front();
      result.label = &labels[result.top.number];
    } else {
      for (const Tensor &output : outputs)
        result.outputs.emplace_back(output);
    }
    if (!options.json.empty())
      lines.write(makeLine(bundle, result));
    if (options.json != "-")
      printLine(bundle, result);
    // A reader sees each frame as it comes; where there is none any more, no
    // further frame is run.
    finishOutput();
  }
  lines.finish();
  if (options.json == "-")
    return;
  times.print();
  if (options.video.audit)
    printAudits(session.streamInfo());
}

} // namespace nnv12::run
