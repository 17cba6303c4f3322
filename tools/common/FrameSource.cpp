//===- FrameSource.cpp - The frames of a video, one by one ----------------===//
#include "tools/common/FrameSource.h"

#include <cctype>

namespace nnv12::tools {

static std::string sizeText(int width, int height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

bool FrameSource::next(Frame &frame, std::string &error) {
  if (!read(frame, error)) {
    if (error.empty() && count_ == 0)
      error = name() + ": found no frame, expected some";
    return false;
  }
  ++count_;
  if (count_ == 1) {
    width_ = frame.width;
    height_ = frame.height;
  }
  if (frame.width == width_ && frame.height == height_)
    return true;
  error = place() + ": found " + sizeText(frame.width, frame.height) +
          " pixels, expected " + sizeText(width_, height_) +
          " as in the frames before";
  return false;
}

int parseFrameSide(const std::string &text) {
  constexpr size_t mostDigits = 5;
  bool isNumber = !text.empty() && text.size() <= mostDigits;
  int value = 0;
  for (char digit : text) {
    if (!isNumber || !isdigit(static_cast<unsigned char>(digit)))
      return 0;
    value = 10 * value + (digit - '0');
  }
  return value <= mostFrameSide ? value : 0;
}

} // namespace nnv12::tools
