//===- VideoBench.cpp - Measures runs over the frames of a video ----------===//
#include "tools/nnv12-bench/VideoBench.h"

#include "tools/common/AnswerChange.h"
#include "tools/common/Clock.h"
#include "tools/common/ColdRun.h"
#include "tools/common/Files.h"
#include "tools/common/Json.h"
#include "tools/common/OtherPrograms.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"
#include "tools/nnv12-bench/FrameSession.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>
#include <unistd.h>

namespace nnv12::bench {

using namespace tools;

namespace {

/// A session whose frames are measured.
class MeasuredSession : public FrameSession {
public:
  MeasuredSession(const BenchOptions &options, const Bundle &bundle,
                  const char *name, const nnv12_stream_options &stream)
      : FrameSession(options, bundle, stream), name(name) {}

  /// Runs a frame and notes its times.
  void measure(const std::vector<Input> &in) {
    double cpu = milliseconds(CLOCK_PROCESS_CPUTIME_ID), start = milliseconds();
    run(in);
    times.push_back(milliseconds() - start);
    cpuTimes.push_back(milliseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
  }

  const char *name;
  std::vector<double> times, cpuTimes; ///< milliseconds of each frame
};

/// A way to answer frames with less than a full run of each.
struct AgeRow {
  std::string name;
  double saved = 0; ///< part of the work, 0 to 1
  AnswerAge age;
};

struct VideoResults {
  std::vector<const MeasuredSession *> sessions;
  uint64_t frames = 0;
  int width = 0, height = 0; ///< of the clip
  double step = 0;           ///< VideoAges::step()
  AnswerChange::Kind change = AnswerChange::Kind::None;
  std::vector<AgeRow> rows;
  nnv12_stream_options options = {}; ///< of the session that reuses values
  nnv12_stream_info stream = {};     ///< of that session
  double otherCpus = -1;
};

} // namespace

/// The part of the time of all frames but the first that a session saves.
static double savedTime(const MeasuredSession &plain,
                        const MeasuredSession &stream) {
  auto sum = [](const std::vector<double> &times) {
    double total = 0;
    for (size_t i = 1; i < times.size(); ++i)
      total += times[i];
    return total;
  };
  double all = sum(plain.times);
  return all > 0 ? 1 - sum(stream.times) / all : 0;
}

/// Answers are compared from the second frame on.
static bool hasAges(const VideoResults &results) {
  return results.frames > 1 && results.step > 0;
}

static void printVideo(const BenchOptions &options, const Bundle &bundle,
                       const VideoResults &results) {
  nnv12_bundle_info info = bundle.info();
  printf("%s: model '%s', %s, %u threads\n", options.bundle.c_str(), info.model,
         info.target, results.sessions[0]->session().threads());
  printf("%s: %llu frame%s of %dx%d\n", options.video.clip.c_str(),
         static_cast<unsigned long long>(results.frames),
         results.frames == 1 ? "" : "s", results.width, results.height);
  printf("  %-16s %10s %10s %10s %10s\n", "ms", "median", "p90", "p99", "CPU");
  for (const MeasuredSession *session : results.sessions) {
    Statistics times(session->times);
    printf("  %-16s %10.3f %10.3f %10.3f %10.3f\n", session->name, times.median,
           times.p90, times.p99, median(session->cpuTimes));
  }
  if (results.stream.frames > results.stream.whole_frames)
    printf("of frames but the first %.1f %% of the pixels changed, and %.1f %% "
           "of the work was done; %.2f MB of values\n",
           100 * results.stream.changed, 100 * results.stream.computed,
           double(results.stream.memory_size) * 1e-6);
  else if (results.stream.changed > 0)
    printf("%.1f %% of the pixels changed from frame to frame: none reused "
           "values\n",
           100 * results.stream.changed);
  if (results.stream.audits)
    printf("audits: outputs of %llu frames with reuse differ by at most %.3g "
           "of the root mean square\n",
           static_cast<unsigned long long>(results.stream.audits),
           results.stream.audit_error);
  if (std::string busy =
          busyText(results.otherCpus, unsigned(sysconf(_SC_NPROCESSORS_ONLN)));
      !busy.empty())
    printf("%s\n", busy.c_str());
  if (results.frames < 2) {
    printf("found one frame, expected two for ages of answers\n");
    return;
  }
  if (!hasAges(results))
    printf("no answer differs from the one before: there are no ages\n");
  bool isTopOne = results.change == AnswerChange::Kind::TopOne,
       hasRows = results.change == AnswerChange::Kind::Rows;
  printf("  %-16s %10s %10s %10s", "answers", "saved", "age", "worst");
  printf(isTopOne ? "      top-1\n" : hasRows ? "       rows\n" : "\n");
  for (const AgeRow &row : results.rows) {
    printf("  %-16s %8.0f %% ", row.name.c_str(), 100 * row.saved);
    if (hasAges(results))
      printf("%10.2f", row.age.age);
    else
      printf("%10s", "-");
    printf(" %10.3g", 1000 * row.age.worst);
    if (isTopOne)
      printf(" %8.1f %%", 100 * (1 - row.age.change));
    if (hasRows)
      printf(" %10.2f", row.age.change);
    printf("\n");
  }
  printf("age: the mean distance from full answers, by that of full answers to "
         "two frames in a row\n"
         "worst: the largest 1 - cosine of a frame, in thousandths\n");
  if (isTopOne)
    printf("top-1: frames with the class of the full answer\n");
  if (hasRows)
    printf("rows: the mean number of rows whose largest score is another by "
           "more than %g\n",
           AnswerChange::scoreStep);
}

static std::string makeVideoJson(const BenchOptions &options,
                                 const Bundle &bundle,
                                 const VideoResults &results) {
  nnv12_bundle_info info = bundle.info();
  Json json;
  json.beginObject().member("file", options.bundle);
  json.member("model", info.model).member("target", info.target);
  json.member("threads", results.sessions[0]->session().threads());
  if (results.otherCpus >= 0)
    json.member("other_programs_cpus", results.otherCpus);
  json.key("video").beginObject().member("clip", options.video.clip);
  json.member("frames", results.frames);
  json.member("width", int64_t(results.width));
  json.member("height", int64_t(results.height));
  json.member("seed", options.input.seed);
  json.objects("sessions", results.sessions,
               [&](const MeasuredSession *session) {
                 Statistics times(session->times);
                 json.member("name", session->name);
                 json.member("median_ms", times.median);
                 json.member("p90_ms", times.p90).member("p99_ms", times.p99);
                 json.member("cpu_ms", median(session->cpuTimes));
                 json.array("samples_ms", session->times);
                 json.array("cpu_samples_ms", session->cpuTimes);
               });
  json.member("step", results.step);
  if (results.stream.frames) {
    json.key("stream").beginObject();
    const nnv12_stream_options &stream = results.options;
    json.member("reuse", reuseName(stream.reuse));
    // Zeros are the bundle's.
    json.member("tolerance", double(stream.tolerance));
    json.member("input_tolerance", double(stream.input_tolerance));
    json.member("refresh", uint64_t(stream.refresh));
    json.member("frames", results.stream.frames);
    json.member("whole_frames", results.stream.whole_frames);
    json.member("memory_bytes", results.stream.memory_size);
    json.member("changed", results.stream.changed);
    json.member("computed", results.stream.computed);
    json.member("audits", results.stream.audits);
    json.member("audit_error", results.stream.audit_error).endObject();
  }
  if (results.frames > 1)
    json.objects("answers", results.rows, [&](const AgeRow &row) {
      json.member("name", row.name).member("saved", row.saved);
      json.member("distance", row.age.distance);
      // Without steps there is no number for it.
      json.member("age", hasAges(results) ? row.age.age : NAN);
      json.member("worst", 1000 * row.age.worst);
      json.member("worst_frame", row.age.worstFrame);
      if (results.change == AnswerChange::Kind::TopOne)
        json.member("top1", 1 - row.age.change);
      if (results.change == AnswerChange::Kind::Rows)
        json.member("rows", row.age.change);
    });
  json.endObject().endObject();
  return json.text();
}

/// Bytes of the values that streams of most networks keep.
static constexpr size_t mostKept = 32 << 20;

void benchVideo(const BenchOptions &options) {
  Bundle bundle = openBundle(options.bundle, options.load);
  VideoInput video(options.bundle, bundle, options.video, options.input.image);
  checkOutput(options.json);
  // Values that are kept are touched first in the middle of the clip. In
  // virtual machines free memory may have to come from the host first.
  backMemory(mostKept);
  OtherPrograms others;
  nnv12_stream_options reuse =
                           chooseStream(options.video, options.bundle, bundle,
                                        options.session.session().gpu.mode),
                       none = NNV12_STREAM_OPTIONS_INIT;
  none.reuse = NNV12_REUSE_OFF;
  MeasuredSession plain(options, bundle, "plain", none);
  // One of its own, so that each session meets caches as others leave them.
  FrameSession noisy(options, bundle, none);
  std::optional<MeasuredSession> stream;
  if (reuse.reuse != NNV12_REUSE_OFF)
    stream.emplace(options, bundle, "reuse", reuse);
  std::vector<Tensor> inputs;
  inputs.emplace_back(video.input());
  std::vector<Input> in = asInputs(inputs);
  PixelNoise noise(options.input.seed);
  std::vector<Answer> ways(stream ? 2 : 1);
  VideoAges ages(ways.size());
  std::vector<nnv12_tensor_info> outputs;
  for (uint32_t i = 0; i < bundle.numOutputs(); ++i)
    outputs.push_back(bundle.output(i));
  AnswerChange change(outputs);
  ages.setMeasure([&](const Answer &full, const Answer &given) {
    return change.between(full, given);
  });
  Answer full;
  for (Levels levels; video.next(levels);) {
    video.fill(levels, inputs[0]);
    if (video.count() == 1) {
      plain.warmUp(in);
      noisy.warmUp(in);
      if (stream)
        stream->warmUp(in);
    }
    plain.measure(in);
    plain.takeAnswer(video.place(), full);
    if (video.count() == 1)
      change.look(full);
    if (stream) {
      // As the first frame of the clip: nothing of the other runs is left.
      if (video.count() == 1)
        stream->forget();
      stream->measure(in);
      stream->takeAnswer(video.place(), ways[1]);
    }
    noise.addTo(levels);
    video.fill(levels, inputs[0]);
    noisy.run(in);
    noisy.takeAnswer(video.place(), ways[0]);
    ages.add(full, ways);
  }
  VideoResults results;
  results.sessions = {&plain};
  if (stream) {
    results.sessions.push_back(&*stream);
    results.rows.push_back({"reuse", savedTime(plain, *stream), ages.way(1)});
    results.options = reuse;
    results.stream = stream->session().streamInfo();
  }
  results.frames = ages.numFrames();
  results.width = video.width();
  results.height = video.height();
  results.step = ages.step();
  results.change = change.kind();
  results.rows.push_back({"noise of 1 level", 0, ages.way(0)});
  static constexpr const char *skipNames[] = {
      "every 2nd frame", "every 3rd frame", "every 4th frame"};
  static_assert(std::size(skipNames) == std::size(VideoAges::skips));
  for (size_t i = 0; i < std::size(skipNames); ++i)
    results.rows.push_back(
        {skipNames[i], 1 - 1.0 / VideoAges::skips[i], ages.skipping(i)});
  results.otherCpus = others.cpus();
  options.session.explainGpu("nnv12-bench", plain.session(), options.load);
  if (options.json != "-")
    printVideo(options, bundle, results);
  if (!options.json.empty())
    writeText(options.json, makeVideoJson(options, bundle, results));
}

} // namespace nnv12::bench
