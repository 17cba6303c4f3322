//===- VideoTrials.cpp - Finds tolerances for a video ---------------------===//
#include "tools/nnv12-bench/VideoTrials.h"

#include "tools/common/Clock.h"
#include "tools/common/Files.h"
#include "tools/common/Json.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"
#include "tools/common/ToleranceChoice.h"
#include "tools/nnv12-bench/FrameSession.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <unistd.h>

namespace nnv12::bench {

using namespace tools;

/// Sessions that run at once, for each pass over the clip: each keeps the
/// values of a frame.
static constexpr size_t sessionsAtOnce = 6;
namespace {

/// Frames [begin, end) of the clip.
struct Part {
  uint64_t begin, end;
};

/// Work of a stream so far, in runs that compute all.
struct StreamWork {
  double done = 0, runs = 0;

  static StreamWork of(const Session &session) {
    nnv12_stream_info info = session.streamInfo();
    auto parts = double(info.frames - info.whole_frames);
    return {double(info.runs) - parts + info.computed * parts,
            double(info.runs)};
  }
};

/// The trials of a part of the clip, and the age of noise.
struct PartResult {
  std::vector<ToleranceTrial> trials;
  AnswerAge noise;
  /// CPU milliseconds of each frame but the first, plain and of the first
  /// trial. For people: nothing is decided by them.
  std::vector<double> plainTimes, times;
};

/// Runs a frame, and returns its CPU time in milliseconds.
double measure(FrameSession &session, const std::vector<Input> &in) {
  double start = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
  session.run(in);
  return milliseconds(CLOCK_PROCESS_CPUTIME_ID) - start;
}

class Trials {
public:
  Trials(const BenchOptions &options, const Bundle &bundle)
      : options(options), bundle(bundle), showsProgress(isatty(STDERR_FILENO)) {
  }

  uint64_t countFrames() const {
    VideoInput video = open();
    Levels levels;
    while (video.next(levels)) {
    }
    return video.count();
  }

  PartResult run(const char *what, const Part &part,
                 const std::vector<Tolerances> &all) {
    PartResult result;
    for (size_t i = 0; i < all.size(); i += sessionsAtOnce) {
      tell(what, i, all.size());
      runSome(
          part,
          {all.begin() + ptrdiff_t(i),
           all.begin() + ptrdiff_t(std::min(i + sessionsAtOnce, all.size()))},
          result);
    }
    tell(what, all.size(), all.size());
    return result;
  }

private:
  VideoInput open() const {
    return {options.bundle, bundle, options.video, options.input.image};
  }

  void tell(const char *what, size_t done, size_t all) const {
    if (showsProgress)
      fprintf(stderr, "\r%s: %zu of %zu tolerances tried%s", what, done, all,
              done == all ? "\n" : "");
  }

  /// One pass over the clip. The first one has noise as well.
  void runSome(const Part &part, const std::vector<Tolerances> &some,
               PartResult &result) {
    bool isFirst = result.trials.empty();
    nnv12_stream_options stream = NNV12_STREAM_OPTIONS_INIT;
    stream.reuse = NNV12_REUSE_OFF;
    FrameSession plain(options, bundle, stream);
    std::vector<std::unique_ptr<FrameSession>> streams;
    stream.reuse = NNV12_REUSE_BOUNDED;
    for (const Tolerances &tolerances : some) {
      stream.input_tolerance = tolerances.input;
      stream.tolerance = tolerances.value;
      stream.refresh = tolerances.refresh;
      streams.push_back(
          std::make_unique<FrameSession>(options, bundle, stream));
    }
    VideoInput video = open();
    std::vector<Tensor> inputs;
    inputs.emplace_back(video.input());
    std::vector<Input> in = asInputs(inputs);
    PixelNoise noise(options.input.seed);
    std::vector<Answer> ways(streams.size() + isFirst);
    VideoAges ages(ways.size(), /*knowsShares=*/true);
    std::vector<StreamWork> before(streams.size());
    Answer full;
    for (Levels levels; video.count() < part.end && video.next(levels);) {
      if (video.count() <= part.begin)
        continue;
      video.fill(levels, inputs[0]);
      bool isFirstFrame = ages.numFrames() == 0;
      if (isFirstFrame)
        plain.warmUp(in);
      double plainTime = measure(plain, in);
      plain.takeAnswer(video.place(), full);
      for (size_t i = 0; i < streams.size(); ++i) {
        if (isFirstFrame) {
          streams[i]->warmUp(in);
          streams[i]->forget();
        }
        double time = measure(*streams[i], in);
        streams[i]->takeAnswer(video.place(), ways[i]);
        if (isFirst && i == 0 && !isFirstFrame) {
          result.plainTimes.push_back(plainTime);
          result.times.push_back(time);
        }
        // No way to save anything of the first frame.
        if (isFirstFrame)
          before[i] = StreamWork::of(streams[i]->session());
      }
      if (isFirst) {
        noise.addTo(levels);
        video.fill(levels, inputs[0]);
        plain.run(in);
        plain.takeAnswer(video.place(), ways.back());
      }
      ages.add(full, ways);
    }
    for (size_t i = 0; i < streams.size(); ++i) {
      StreamWork after = StreamWork::of(streams[i]->session());
      double runs = after.runs - before[i].runs;
      ToleranceTrial trial;
      trial.tolerances = some[i];
      trial.saved = runs > 0 ? 1 - (after.done - before[i].done) / runs : 0;
      trial.age = ages.way(i);
      trial.skipping = ages.leavingOut(trial.saved);
      result.trials.push_back(trial);
    }
    if (isFirst)
      result.noise = ages.way(streams.size());
  }

  const BenchOptions &options;
  const Bundle &bundle;
  const bool showsProgress;
};

struct TrialResults {
  Part first, second;
  PartResult tried, proven; ///< on the first half; the chosen on the second
  double limit = 0;
  std::optional<size_t> chosen;
};

} // namespace

static void printTrials(const BenchOptions &options,
                        const TrialResults &results) {
  printf("%s: frames 0 to %llu, answers to noise of 1 level have an age of "
         "%.2f\n",
         options.video.clip.c_str(),
         static_cast<unsigned long long>(results.first.end - 1),
         results.tried.noise.age);
  printf("  %8s %8s %8s %8s %8s %8s %8s %8s\n", "input", "values", "refresh",
         "saved", "age", "worst", "skip age", "worst");
  auto row = [](const ToleranceTrial &trial, const char *mark) {
    printf("  %8g %8g %8u %6.0f %% %8.2f %8.3g %8.2f %8.3g%s\n",
           double(trial.tolerances.input), double(trial.tolerances.value),
           trial.tolerances.refresh, 100 * trial.saved, trial.age.age,
           1000 * trial.age.worst, trial.skipping.age,
           1000 * trial.skipping.worst, mark);
  };
  for (size_t i = 0; i < results.tried.trials.size(); ++i)
    row(results.tried.trials[i], results.chosen == i ? "  *" : "");
  if (!results.chosen) {
    printf("--max-age: %s: reuse does not pay on this clip\n",
           whyNone(results.tried.trials, results.limit).c_str());
    return;
  }
  printf("* on the other half, with an age of %.2f for noise\n",
         results.proven.noise.age);
  row(results.proven.trials[0], "");
  printf("CPU time of a frame there: %.2f ms, of a plain one %.2f ms\n",
         median(results.proven.times), median(results.proven.plainTimes));
}

static std::string makeTrialsJson(const BenchOptions &options,
                                  const TrialResults &results) {
  Json json;
  json.beginObject().member("file", options.bundle);
  json.member("clip", options.video.clip);
  json.member("frames", results.second.end);
  json.member("max_age", options.maxAge.value_or(0));
  json.member("limit", results.limit);
  auto addTrial = [&](const ToleranceTrial &trial) {
    json.member("input_tolerance", double(trial.tolerances.input));
    json.member("tolerance", double(trial.tolerances.value));
    json.member("refresh", trial.tolerances.refresh);
    json.member("saved", trial.saved).member("age", trial.age.age);
    json.member("worst", 1000 * trial.age.worst);
    json.member("skipping_age", trial.skipping.age);
    json.member("skipping_worst", 1000 * trial.skipping.worst);
  };
  auto addHalf = [&](const char *name, const PartResult &half) {
    json.key(name).beginObject().member("noise_age", half.noise.age);
    json.objects("trials", half.trials, addTrial).endObject();
  };
  addHalf("first_half", results.tried);
  if (results.chosen) {
    json.member("chosen", uint64_t(*results.chosen));
    addHalf("second_half", results.proven);
    json.member("cpu_ms", median(results.proven.times));
    json.member("plain_cpu_ms", median(results.proven.plainTimes));
  } else {
    json.member("reason", whyNone(results.tried.trials, results.limit));
  }
  json.endObject();
  return json.text();
}

void tryTolerances(const BenchOptions &options) {
  Bundle bundle = openBundle(options.bundle, options.load);
  if (bundle.info().reuse != NNV12_REUSE_BOUNDED)
    fail(options.bundle +
         ": --max-age: found a bundle without tolerances, expected one of "
         "nnv12c --video bounded");
  checkOutput(options.json);
  Trials trials(options, bundle);
  uint64_t frames = trials.countFrames();
  if (frames < fewestFrames)
    fail(options.video.clip + ": --max-age: found " + std::to_string(frames) +
         " frames, expected " + std::to_string(fewestFrames) + " or more");
  TrialResults results;
  results.first = {0, frames / 2};
  results.second = {frames / 2, frames};
  results.tried = trials.run("first half", results.first, tolerancesToTry());
  results.limit = ageLimit(*options.maxAge, results.tried.noise.age);
  results.chosen = chooseTolerances(results.tried.trials, results.limit);
  if (results.chosen)
    results.proven =
        trials.run("second half", results.second,
                   {results.tried.trials[*results.chosen].tolerances});
  if (options.json != "-")
    printTrials(options, results);
  if (!options.json.empty())
    writeText(options.json, makeTrialsJson(options, results));
}

} // namespace nnv12::bench
