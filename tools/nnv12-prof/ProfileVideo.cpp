//===- ProfileVideo.cpp - Runs a clip for its profile ---------------------===//
#include "tools/nnv12-prof/ProfileVideo.h"

#include "artifact/ProgramView.h"
#include "tools/common/Report.h"
#include "tools/common/WarmUp.h"
#include "tools/page/FlatPlan.h"

#include <optional>

namespace nnv12::prof {

using namespace tools;

namespace {

/// A session whose records are read after each run.
class RecordedSession : artifact::NonCopyable {
public:
  RecordedSession(const std::string &path, const Bundle &bundle,
                  const SessionOptions &options, nnv12_reuse reuse,
                  unsigned waitFor)
      : path_(path), options_(options), outputs_(makeOutputs(bundle)),
        out_(asOutputs(outputs_)) {
    options_.stream.reuse = reuse;
    // A part for GPUs computes plain runs alone: layers could not be compared.
    options_.gpu.mode = NNV12_GPU_OFF;
    recorder_.emplace(bundle, options_, NNV12_RECORD_OPERATION, /*runs=*/2);
    options_.recorder = recorder_->get();
    session_.emplace(openSession(path, bundle, options_));
    recording_.emplace(recorder_->recording());
    if (waitFor)
      prepareSession(path, *session_, waitFor);
  }

  void run(const std::vector<Input> &in) {
    runSession(path_, *session_, in, out_);
  }
  /// The records since the last call; adds to `lost` how many there are no
  /// more.
  std::vector<nnv12_record> takeRecords(uint64_t &lost) {
    return recording_->readAll(lost);
  }
  Session &session() { return *session_; }

private:
  std::string path_;
  SessionOptions options_;
  std::vector<Tensor> outputs_;
  std::vector<Output> out_;
  std::optional<Recorder> recorder_;
  std::optional<Session> session_;
  std::optional<Recording> recording_;
};

} // namespace

/// How each layer computes parts in runs after all switches were taken.
static std::vector<VideoLayer>
layersOf(const Bundle &bundle, const StoredProgram &stored, bool isSwitched) {
  const bundle::ProgramVideo *video = stored.video;
  std::vector<VideoLayer> layers(bundle.info().num_operations);
  for (uint32_t i = 0; i < layers.size(); ++i) {
    VideoLayer &layer = layers[i];
    layer.index = i;
    layer.info = bundle.operation(i);
    const bundle::VideoPart *part = video->executes()->Get(i)->part();
    for (uint32_t k = 0; isSwitched && k < bundle.info().num_switches; ++k)
      if (nnv12_switch_info change = bundle.kernelSwitch(k);
          change.operation == i) {
        layer.info.kernel = change.kernel;
        part = video->switches()->Get(k);
      }
    layer.parts = part->tiles() == bundle::VideoTiles_All
                      ? "whole"
                      : lowered(bundle::EnumNameVideoTiles(part->tiles()));
  }
  return layers;
}

static FrameKind kindOf(const nnv12_stream_info &before,
                        const nnv12_stream_info &after) {
  if (after.frames == before.frames)
    return FrameKind::Plain;
  return after.whole_frames == before.whole_frames ? FrameKind::Reused
                                                   : FrameKind::Whole;
}

/// Adds the pixels of a frame that reused values.
static void addPixels(Session &session, const Levels &levels,
                      VideoProfile &profile) {
  uint32_t rows, columns;
  std::vector<uint8_t> pixels = session.changed(0, rows, columns);
  profile.input.add(pixels, rows, columns);
  // Rows and columns that the compiler knows may be others.
  if (levels.size() == pixels.size() || levels.size() == 3 * pixels.size()) {
    profile.picture = levels;
    profile.rows = rows;
    profile.columns = columns;
  }
  for (VideoLayer &layer : profile.layers) {
    pixels = session.computed(layer.index, rows, columns);
    layer.pixels.add(pixels, rows, columns);
  }
}

nnv12_stream_options chooseProfiledStream(const VideoOptions &options,
                                          const std::string &path,
                                          const Bundle &bundle) {
  if (bundle.info().reuse == NNV12_REUSE_OFF)
    fail(path + ": --video: found a bundle without a part for video, expected "
                "one (nnv12c --video)");
  nnv12_stream_options stream =
      chooseStream(options, path, bundle, NNV12_GPU_OFF);
  if (stream.reuse == NNV12_REUSE_OFF)
    fail("--reuse: found off, expected a profile of frames that reuse values");
  return stream;
}

VideoProfile profileVideo(const std::string &path, const Bundle &bundle,
                          VideoInput &video, SessionOptions session,
                          unsigned waitFor) {
  StoredProgram stored(path, bundle);
  if (!stored.video)
    fail(path + ": the file has changed meanwhile");
  RecordedSession plain(path, bundle, session, NNV12_REUSE_OFF, waitFor),
      stream(path, bundle, session, session.stream.reuse, waitFor);
  std::vector<Tensor> inputs;
  inputs.emplace_back(video.input());
  std::vector<Input> in = asInputs(inputs);
  VideoProfile profile;
  for (Levels levels; video.next(levels);) {
    video.fill(levels, inputs[0]);
    if (video.count() == 1) {
      for (RecordedSession *each : {&plain, &stream})
        warmUp(each->session(), 2, [&] { each->run(in); });
      // As the first frame of the clip: nothing of the other runs is left.
      stream.session().reset();
      uint64_t ignored = 0;
      plain.takeRecords(ignored);
      stream.takeRecords(ignored);
      nnv12_session_info info = stream.session().info();
      profile.layers = layersOf(bundle, stored, info.switches_done > 0);
    }
    plain.run(in);
    nnv12_stream_info before = stream.session().streamInfo();
    stream.run(in);
    profile.stream = stream.session().streamInfo();
    FrameRecords records = {kindOf(before, profile.stream),
                            stream.takeRecords(profile.lost),
                            plain.takeRecords(profile.lost)};
    addFrame(profile, records);
    if (records.kind == FrameKind::Reused)
      addPixels(stream.session(), levels, profile);
  }
  closeProfile(profile);
  profile.threads = stream.session().threads();
  profile.width = video.width();
  profile.height = video.height();
  return profile;
}

} // namespace nnv12::prof
