//===- VideoInput.cpp - A video as the inputs of a model ------------------===//
#include "tools/common/VideoInput.h"

#include "tools/common/Clip.h"
#include "tools/common/ImageFolder.h"
#include "tools/common/Properties.h"
#include "tools/common/RawClip.h"
#include "tools/common/Report.h"

#include <algorithm>
#include <cassert>
#include <filesystem>

namespace nnv12::tools {

/// More is as good as none.
static constexpr unsigned mostRefresh = 1000000;

/// By nnv12_reuse.
static constexpr const char *reuseWords[] = {"off", "exact", "bounded"};

const char *reuseName(nnv12_reuse reuse) { return reuseWords[reuse]; }

void VideoOptions::addTo(Options &options, const std::string &otherTolerance) {
  options.text("video", "CLIP", clip,
               "Each frame of a clip is an input: a .y4m file, a folder of "
               "images in the order of their names (frame2 before frame10), or "
               "-, for .y4m on standard input, as ffmpeg -f yuv4mpegpipe "
               "writes it.");
  options.text("video-size", "WIDTHxHEIGHT", size,
               "The clip is raw frames of that size, three bytes a pixel, in "
               "a file or on standard input, as ffmpeg -f rawvideo -pix_fmt "
               "rgb24 writes them.");
  options.number("frames", "N", frames, 1, ~0u,
                 "Read at most N frames of the clip. Default: all.");
  options.choice("reuse", {reuseWords, std::end(reuseWords)}, reuse,
                 "How a frame uses values of the frame before, for bundles of "
                 "nnv12c --video. Default: as the bundle was compiled.");
  std::string toleranceHelp =
      otherTolerance +
      "With --reuse bounded: a layer's values stay where they would differ by "
      "at most this part of their root mean square, more than 0 and at most 1. "
      "Default: the bundle's.";
  options.real("tolerance", "T", tolerance, toleranceHelp.c_str());
  options.real("input-tolerance", "T", inputTolerance,
               "With --reuse bounded: 8x8 pixels of the input stay where they "
               "differ by at most this part of the standard deviation of its "
               "values, more than 0 and at most 1. Default: the bundle's.");
  options.number("refresh", "N", refresh, 0, mostRefresh,
                 "Compute all of each Nth frame; 0: of none. Default with "
                 "--reuse bounded: the bundle's number; otherwise: of none.");
  options.flag("audit", audit,
               "Compute frames of --refresh with reuse as well, and tell the "
               "largest difference.");
}

static nnv12_reuse chooseReuse(const VideoOptions &options,
                               const std::string &bundlePath,
                               const Bundle &bundle, nnv12_gpu_mode gpu) {
  nnv12_reuse most = bundle.info().reuse;
  if (options.reuse.empty())
    return gpu == NNV12_GPU_WAIT ? NNV12_REUSE_OFF : most;
  auto wanted = static_cast<nnv12_reuse>(
      std::find(reuseWords, std::end(reuseWords), options.reuse) - reuseWords);
  if (wanted > most)
    fail(bundlePath + ": --reuse: found " + options.reuse +
         ", expected at "
         "most " +
         reuseName(most) + ", as the bundle was compiled");
  return wanted;
}

/// A tolerance as a stream has it; 0 where it is not given.
static float toleranceOf(const char *option, std::optional<double> given) {
  if (!given)
    return 0;
  auto result = static_cast<float>(*given);
  if (!(result > 0 && *given <= 1))
    fail(std::string(option) + ": found " + std::to_string(*given) +
         ", expected a number more than 0 and at most 1");
  return result;
}

nnv12_stream_options chooseStream(const VideoOptions &options,
                                  const std::string &bundlePath,
                                  const Bundle &bundle, nnv12_gpu_mode gpu) {
  nnv12_stream_options result = NNV12_STREAM_OPTIONS_INIT;
  result.reuse = chooseReuse(options, bundlePath, bundle, gpu);
  result.tolerance = toleranceOf("--tolerance", options.tolerance);
  result.input_tolerance =
      toleranceOf("--input-tolerance", options.inputTolerance);
  for (auto [name, isGiven] :
       {std::pair{"--tolerance", options.tolerance.has_value()},
        {"--input-tolerance", options.inputTolerance.has_value()}})
    if (isGiven && result.reuse != NNV12_REUSE_BOUNDED)
      fail(bundlePath + ": " + name + ": found --reuse " +
           reuseName(result.reuse) + ", expected bounded");
  if (options.refresh != VideoOptions::bundlesRefresh)
    result.refresh = options.refresh ? options.refresh : NNV12_NO_REFRESH;
  result.audit = options.audit;
  return result;
}

void checkVideoOptions(
    const VideoOptions &options,
    const std::vector<std::pair<const char *, bool>> &others) {
  if (options.clip.empty()) {
    for (auto [name, isGiven] :
         {std::pair{"--video-size", !options.size.empty()},
          {"--frames", options.frames > 0},
          {"--reuse", !options.reuse.empty()},
          {"--tolerance", options.tolerance.has_value()},
          {"--input-tolerance", options.inputTolerance.has_value()},
          {"--refresh", options.refresh != VideoOptions::bundlesRefresh},
          {"--audit", options.audit}})
      if (isGiven)
        fail(std::string(name) + ": found no --video, which it is for");
    return;
  }
  for (auto [name, isGiven] : others)
    if (isGiven)
      fail(std::string("--video, ") + name +
           ": found both, expected one of them");
}

/// Parses WIDTHxHEIGHT.
static bool parseSize(const std::string &text, int &width, int &height) {
  size_t cross = text.find('x');
  if (cross == std::string::npos)
    return false;
  width = parseFrameSide(text.substr(0, cross));
  height = parseFrameSide(text.substr(cross + 1));
  return width && height;
}

std::unique_ptr<FrameSource> openFrames(const VideoOptions &options,
                                        std::string &error) {
  assert(!options.clip.empty() && "there is a clip");
  if (!options.size.empty()) {
    int width, height;
    if (!parseSize(options.size, width, height)) {
      error = "--video-size: found '" + options.size +
              "', expected WIDTHxHEIGHT, each from 1 to " +
              std::to_string(mostFrameSide);
      return nullptr;
    }
    auto clip = std::make_unique<RawClip>(width, height);
    error = clip->open(options.clip);
    return error.empty() ? std::move(clip) : nullptr;
  }
  std::error_code ignored;
  if (options.clip != "-" &&
      std::filesystem::is_directory(options.clip, ignored)) {
    auto folder = std::make_unique<ImageFolder>();
    error = folder->open(options.clip);
    return error.empty() ? std::move(folder) : nullptr;
  }
  auto clip = std::make_unique<Clip>();
  error = clip->open(options.clip);
  return error.empty() ? std::move(clip) : nullptr;
}

VideoInput::VideoInput(const std::string &bundlePath, const Bundle &bundle,
                       const VideoOptions &options, const ImageArguments &image)
    : image_(imageOptions(bundlePath, bundle, image)), most_(options.frames) {
  if (bundle.numInputs() != 1)
    fail(bundlePath + ": --video: found a model of " +
         std::to_string(bundle.numInputs()) +
         " inputs, expected one input, which is an image");
  input_ = bundle.input(0);
  std::string error = checkImageInput(input_, image_);
  if (!error.empty())
    fail(bundlePath + ": --video: input '" + input_.name + "': " + error);
  source_ = openFrames(options, error);
  failIf(error);
}

bool VideoInput::next(Levels &levels) {
  if (most_ && count_ == most_)
    return false;
  std::string error;
  bool isThere = source_->next(frame_, error);
  if (isThere)
    error = fitFrame(source_->place(), frame_, input_, image_, levels);
  failIf(error);
  count_ += isThere;
  return isThere;
}

void VideoInput::fill(const Levels &levels, Tensor &tensor) const {
  fillFromLevels(levels, input_, image_, tensor);
}

} // namespace nnv12::tools
