//===- VideoProfile.h - Reuse between frames, by layer ----------*- C++ -*-===//
//
// Two sessions run each frame of a clip: a plain one, and a stream. Times are
// nanoseconds. The stream's frames are of three kinds. Facts of layers are
// about the frames that reuse values.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12_PROF_VIDEOPROFILE_H
#define NNV12_TOOLS_NNV12_PROF_VIDEOPROFILE_H

#include "runtime/include/nnv12.hpp"
#include "tools/common/ImageInput.h"
#include "tools/common/Statistics.h"
#include "tools/nnv12-prof/PixelHeat.h"

#include <string>
#include <vector>

namespace nnv12::prof {

struct VideoLayer {
  uint32_t index = 0;
  nnv12_operation_info info = {}; ///< the bundle's, which it points into
  /// How it computes parts: "cells", "rows", "runs"; "whole" where it does not.
  std::string parts;
  /// In a frame that reuses values. Medians, so that other programs do not
  /// count: of the run without a stream; and of frames that computed some of
  /// it, times their part of all.
  double plain = 0, time = 0, merging = 0;
  double tiles = 0; ///< the mean part of them that was computed, 0 to 1
  /// Frames in which it computed nothing, some of its tiles, all.
  uint64_t skipped = 0, partial = 0, whole = 0;
  /// By frame of the clip, the part of its tiles that was computed: 255 is all.
  std::vector<uint8_t> frames;
  PixelHeat pixels; ///< of its result: how often each was computed
  std::vector<double> plainTimes, times, merges; ///< of these frames
};

enum class FrameKind : uint8_t {
  Plain, ///< as without a stream
  Whole, ///< computed all, for the next frame
  Reused
};
/// "plain", "whole", "reused".
const char *kindName(FrameKind kind);

struct VideoFrame {
  FrameKind kind = FrameKind::Plain;
  double plain = 0, time = 0; ///< of the run without a stream, and with it
  /// Parts of that time.
  double matching = 0, merging = 0, operations = 0;
  double changed = 0; ///< the part of the inputs' pixels, 0 to 1
};

struct VideoProfile {
  uint32_t threads = 0;
  std::string clip;
  int width = 0, height = 0; ///< of the clip
  std::vector<VideoFrame> frames;
  std::vector<VideoLayer> layers;
  PixelHeat input; ///< how often each pixel changed
  /// The last frame, as the input has it; empty: its pixels are not known.
  tools::Levels picture;
  uint32_t rows = 0, columns = 0; ///< of the picture
  nnv12_stream_info stream = {};
  uint64_t lost = 0; ///< records

  uint64_t count(FrameKind kind) const;
  /// The mean over frames that reuse values; 0: there are none.
  double mean(double VideoFrame::*value) const;
  /// Medians of these frames.
  double median(double VideoFrame::*value) const;
};

/// The records of one frame, of both sessions.
struct FrameRecords {
  FrameKind kind;
  std::vector<nnv12_record> stream, plain;
};

/// Adds a frame to a profile whose layers are there.
void addFrame(VideoProfile &profile, const FrameRecords &records);
/// Makes medians and means, after the last frame.
void closeProfile(VideoProfile &profile);

/// For people: frames, where their time goes, and the `top` layers that take
/// longest (0: all, in their order).
void printVideo(const std::string &path, const Bundle &bundle,
                const VideoProfile &profile, unsigned top);
/// All of it, for programs and for the page.
std::string videoJson(const std::string &path, const Bundle &bundle,
                      const VideoProfile &profile);

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_VIDEOPROFILE_H
