//===- VideoInput.h - A video as the inputs of a model ----------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_VIDEOINPUT_H
#define NNV12_TOOLS_COMMON_VIDEOINPUT_H

#include "runtime/include/nnv12.hpp"
#include "tools/common/ImageInput.h"

#include <memory>
#include <optional>

namespace nnv12::tools {

/// The options that tools have for a video.
struct VideoOptions {
  std::string clip;    ///< a .y4m file, a folder of images, or "-"; empty: none
  std::string size;    ///< of raw frames, WIDTHxHEIGHT; empty: they are not raw
  unsigned frames = 0; ///< at most so many; 0: all
  std::string reuse;   ///< a nnv12_reuse in words; empty: as the bundle has it
  // As in nnv12_stream_options.
  std::optional<double> tolerance, inputTolerance;
  static constexpr unsigned bundlesRefresh = ~0u;
  unsigned refresh = bundlesRefresh; ///< 0: no frame
  bool audit = false;

  /// `otherTolerance`: a sentence about another use of --tolerance, if any.
  void addTo(Options &options, const std::string &otherTolerance = "");
};

/// As --reuse has it.
const char *reuseName(nnv12_reuse reuse);

/// Names options that a tool cannot have beside --video, and whether they are
/// given. Ends the process where one of them is given with --video, or one that
/// is for --video without it.
void checkVideoOptions(
    const VideoOptions &options,
    const std::vector<std::pair<const char *, bool>> &others);

/// How a session uses values of the frame before. Without an option it does not
/// where its GPU is waited for. Ends the process where the options ask for more
/// than the bundle has.
nnv12_stream_options chooseStream(const VideoOptions &options,
                                  const std::string &bundlePath,
                                  const Bundle &bundle, nnv12_gpu_mode gpu);

/// Opens the frames of a clip. Null where `error` tells a fault in one line.
std::unique_ptr<FrameSource> openFrames(const VideoOptions &options,
                                        std::string &error);

/// The frames of a clip as a model's only input takes them. Ends the process
/// with one line where the clip or a frame is faulty.
class VideoInput {
public:
  /// `bundlePath`: for messages. The bundle must outlive it. Ends the process
  /// where the bundle has not one input that is an image.
  VideoInput(const std::string &bundlePath, const Bundle &bundle,
             const VideoOptions &options, const ImageArguments &image);

  /// Reads the next frame and fits it to the input. False behind the last one.
  bool next(Levels &levels);
  /// Makes the frame numbers. `tensor` has the input's type and shape.
  void fill(const Levels &levels, Tensor &tensor) const;

  nnv12_tensor_info input() const { return input_; }
  /// The number of frames so far.
  uint64_t count() const { return count_; }
  /// The frame that was read last, for messages.
  std::string place() const { return source_->place(); }
  /// The size of frames in the clip; 0 before the first one.
  int width() const { return frame_.width; }
  int height() const { return frame_.height; }

private:
  nnv12_tensor_info input_;
  ImageOptions image_;
  unsigned most_;
  std::unique_ptr<FrameSource> source_;
  Frame frame_;
  uint64_t count_ = 0;
};

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_VIDEOINPUT_H
