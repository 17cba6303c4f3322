//===- VideoProfile.cpp - Reuse between frames, by layer ------------------===//
#include "tools/nnv12-prof/VideoProfile.h"

#include <cmath>

namespace nnv12::prof {

const char *kindName(FrameKind kind) {
  static constexpr const char *names[] = {"plain", "whole", "reused"};
  return names[unsigned(kind)];
}

uint64_t VideoProfile::count(FrameKind kind) const {
  return std::count_if(
      frames.begin(), frames.end(),
      [&](const VideoFrame &frame) { return frame.kind == kind; });
}

/// The value in frames that reuse values.
static std::vector<double> valuesOf(const std::vector<VideoFrame> &frames,
                                    double VideoFrame::*value) {
  std::vector<double> values;
  for (const VideoFrame &frame : frames)
    if (frame.kind == FrameKind::Reused)
      values.push_back(frame.*value);
  return values;
}

double VideoProfile::mean(double VideoFrame::*value) const {
  std::vector<double> values = valuesOf(frames, value);
  return values.empty() ? 0 : tools::Statistics(values).mean;
}

double VideoProfile::median(double VideoFrame::*value) const {
  std::vector<double> values = valuesOf(frames, value);
  return values.empty() ? 0 : tools::median(values);
}

/// How much of an operation's tiles were computed, 0 to 1.
static double computedOf(const nnv12_record &record) {
  if (record.flags & NNV12_RECORD_SKIPPED)
    return 0;
  return record.flags & NNV12_RECORD_PARTIAL ? record.count / 65535. : 1;
}

void addFrame(VideoProfile &profile, const FrameRecords &records) {
  VideoFrame frame;
  frame.kind = records.kind;
  bool isReused = records.kind == FrameKind::Reused;
  std::vector<VideoLayer> &layers = profile.layers;
  for (const nnv12_record &record : records.plain) {
    if (record.kind == NNV12_RECORD_WHOLE_RUN)
      frame.plain = double(record.duration_ns);
    if (isReused && record.kind == NNV12_RECORD_EXECUTE &&
        record.index < layers.size())
      layers[record.index].plainTimes.push_back(double(record.duration_ns));
  }
  for (VideoLayer &layer : layers)
    layer.frames.push_back(0);
  unsigned inputs = 0;
  for (const nnv12_record &record : records.stream) {
    double time = double(record.duration_ns);
    if (record.kind == NNV12_RECORD_WHOLE_RUN)
      frame.time = time;
    if (record.kind == NNV12_RECORD_MATCH) {
      frame.matching += time;
      frame.changed += record.count / 65535.;
      ++inputs;
    }
    bool isMerge = record.kind == NNV12_RECORD_MERGE;
    if ((!isMerge && record.kind != NNV12_RECORD_EXECUTE) ||
        record.index >= layers.size())
      continue;
    VideoLayer &layer = layers[record.index];
    (isMerge ? frame.merging : frame.operations) += time;
    if (isReused && !(record.flags & NNV12_RECORD_SKIPPED))
      (isMerge ? layer.merges : layer.times).push_back(time);
    if (isMerge)
      continue;
    double computed = computedOf(record);
    layer.frames.back() = uint8_t(std::ceil(computed * 255));
    if (!isReused)
      continue;
    layer.tiles += computed;
    if (record.flags & NNV12_RECORD_SKIPPED)
      ++layer.skipped;
    else if (record.flags & NNV12_RECORD_PARTIAL)
      ++layer.partial;
    else
      ++layer.whole;
  }
  if (inputs)
    frame.changed /= inputs;
  profile.frames.push_back(frame);
}

void closeProfile(VideoProfile &profile) {
  double count = double(profile.count(FrameKind::Reused));
  auto typical = [&](const std::vector<double> &times) {
    return times.empty() ? 0
                         : tools::median(times) * double(times.size()) / count;
  };
  for (VideoLayer &layer : profile.layers) {
    layer.plain = typical(layer.plainTimes);
    layer.time = typical(layer.times);
    layer.merging = typical(layer.merges);
    if (count > 0)
      layer.tiles /= count;
  }
}

} // namespace nnv12::prof
