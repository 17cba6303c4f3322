//===- RawClip.cpp - Frames that are bytes and nothing else ---------------===//
#include "tools/common/RawClip.h"

#include "tools/common/Clip.h"

#include <cassert>

namespace nnv12::tools {

std::string RawClip::place() const {
  assert(count() && "a frame was read");
  return name() + ": frame " + std::to_string(count() - 1);
}

bool RawClip::read(Frame &frame, std::string &error) {
  frame.width = width_;
  frame.height = height_;
  frame.pixels.resize(size_t(width_) * height_ * 3);
  size_t found = stream_.read(frame.pixels.data(), frame.pixels.size());
  error = stream_.fault();
  if (!error.empty())
    return false;
  if (count() == 0 && isClip(frame.pixels)) {
    error = name() + ": found YUV4MPEG2, which has its own size, expected raw "
                     "frames for --video-size";
    return false;
  }
  if (found && found < frame.pixels.size())
    error = name() + ": frame " + std::to_string(count()) + ": found " +
            std::to_string(found) + " bytes, expected " +
            std::to_string(frame.pixels.size()) + " for " +
            std::to_string(width_) + "x" + std::to_string(height_) +
            " pixels (truncated, or of another size)";
  return found == frame.pixels.size();
}

} // namespace nnv12::tools
