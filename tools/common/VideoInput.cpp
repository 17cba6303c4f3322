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

/// By nnv12_reuse.
static constexpr const char *reuseWords[] = {"off", "exact"};

void VideoOptions::addTo(Options &options) {
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
}

nnv12_reuse chooseReuse(const VideoOptions &options,
                        const std::string &bundlePath, const Bundle &bundle) {
  nnv12_reuse most = bundle.info().reuse;
  if (options.reuse.empty())
    return most;
  auto wanted = static_cast<nnv12_reuse>(
      std::find(reuseWords, std::end(reuseWords), options.reuse) - reuseWords);
  if (wanted > most)
    fail(bundlePath + ": --reuse: found " + options.reuse +
         ", expected at "
         "most " +
         reuseWords[most] + ", as the bundle was compiled");
  return wanted;
}

void checkVideoOptions(
    const VideoOptions &options,
    const std::vector<std::pair<const char *, bool>> &others) {
  if (options.clip.empty()) {
    for (auto [name, isGiven] :
         {std::pair{"--video-size", !options.size.empty()},
          {"--frames", options.frames > 0},
          {"--reuse", !options.reuse.empty()}})
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
