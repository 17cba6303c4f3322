//===- Clip.cpp - Frames of YUV4MPEG2 files -------------------------------===//
#include "tools/common/Clip.h"

#include "artifact/Escape.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace nnv12::tools {

static constexpr char magic[] = "YUV4MPEG2";
static constexpr size_t magicSize = sizeof magic - 1;

bool isClip(const std::vector<uint8_t> &bytes) {
  return bytes.size() >= magicSize &&
         memcmp(bytes.data(), magic, magicSize) == 0;
}

bool isClip(const std::string &path) {
  FILE *file = fopen(path.c_str(), "rb");
  std::vector<uint8_t> start(magicSize);
  bool isOne =
      file && fread(start.data(), magicSize, 1, file) == 1 && isClip(start);
  if (file)
    fclose(file);
  return isOne;
}

std::string Clip::place() const {
  assert(count() && "a frame was read");
  return name() + ": frame " + std::to_string(count() - 1);
}

/// A fault of the frame that is being read.
std::string Clip::fault(const std::string &text) const {
  std::string reason = stream_.fault();
  return reason.empty()
             ? name() + ": frame " + std::to_string(count()) + ": " + text
             : reason;
}

static std::vector<std::string> words(const std::string &line) {
  std::vector<std::string> result;
  for (size_t begin = 0; begin <= line.size();) {
    size_t end = std::min(line.find(' ', begin), line.size());
    if (end > begin)
      result.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

/// More than headers have.
static constexpr size_t longestHeader = 1024;

std::string Clip::open(const std::string &path) {
  std::string error = stream_.open(path), line;
  if (!error.empty())
    return error;
  bool hasHeader = stream_.readLine(longestHeader, line) &&
                   line.compare(0, magicSize, magic) == 0;
  error = stream_.fault();
  if (!error.empty())
    return error;
  if (!hasHeader)
    return name() + ": found no header of YUV4MPEG2, expected a .y4m file";
  std::string chroma = "420";
  for (const std::string &word : words(line)) {
    std::string value = word.substr(1);
    if (word[0] == 'W')
      width_ = parseFrameSide(value);
    else if (word[0] == 'H')
      height_ = parseFrameSide(value);
    else if (word[0] == 'C')
      chroma = value;
    else if (word == "XCOLORRANGE=FULL")
      isFull_ = true;
  }
  if (!width_ || !height_)
    return name() + ": header: found '" + artifact::escaped(line) +
           "', expected W and H from 1 to " + std::to_string(mostFrameSide);
  // 420jpeg, 420mpeg2 and 420paldv differ in where chroma is sampled, by less
  // than a pixel.
  bool isHalved = chroma == "420" || chroma == "420jpeg" ||
                  chroma == "420mpeg2" || chroma == "420paldv";
  if (isHalved || chroma == "422") {
    chromaWidth_ = (width_ + 1) / 2;
    chromaHeight_ = isHalved ? (height_ + 1) / 2 : height_;
  } else if (chroma == "444") {
    chromaWidth_ = width_;
    chromaHeight_ = height_;
  } else if (chroma != "mono") {
    return name() + ": header: found chroma '" + artifact::escaped(chroma) +
           "', expected 420, 422, 444 or mono, of 8 bits";
  }
  planes_.resize(size_t(width_) * height_ +
                 2 * size_t(chromaWidth_) * chromaHeight_);
  return {};
}

bool Clip::read(Frame &frame, std::string &error) {
  std::string line;
  bool hasLine = stream_.readLine(longestHeader, line);
  if (!hasLine && line.empty() && stream_.fault().empty())
    return false;
  if (!hasLine || (line != "FRAME" && line.compare(0, 6, "FRAME ") != 0)) {
    error = fault("found no header, expected FRAME");
    return false;
  }
  if (stream_.read(planes_.data(), planes_.size()) != planes_.size()) {
    error = fault("found the end of the file, expected " +
                  std::to_string(planes_.size()) + " bytes (truncated)");
    return false;
  }
  makeColors(frame);
  return true;
}

void Clip::makeColors(Frame &frame) const {
  frame.width = width_;
  frame.height = height_;
  frame.pixels.resize(size_t(width_) * height_ * 3);
  // ITU-R BT.601, in 1/65536.
  const int luma = isFull_ ? 65536 : 76309, black = isFull_ ? 0 : 16;
  const int red = isFull_ ? 91881 : 104597, blue = isFull_ ? 116130 : 132201;
  const int greenRed = isFull_ ? 46802 : 53279,
            greenBlue = isFull_ ? 22554 : 25675;
  const uint8_t *y = planes_.data(), *u = y + size_t(width_) * height_,
                *v = u + size_t(chromaWidth_) * chromaHeight_;
  auto byte = [](int x) {
    return uint8_t(std::clamp((x + 32768) >> 16, 0, 255));
  };
  for (int row = 0; row < height_; ++row)
    for (int column = 0; column < width_; ++column) {
      size_t at = size_t(row) * width_ + column;
      int gray = (y[at] - black) * luma, cb = 0, cr = 0;
      if (chromaWidth_) {
        size_t chroma =
            size_t(chromaHeight_ == height_ ? row : row / 2) * chromaWidth_ +
            (chromaWidth_ == width_ ? column : column / 2);
        cb = u[chroma] - 128;
        cr = v[chroma] - 128;
      }
      uint8_t *to = frame.pixels.data() + 3 * at;
      to[0] = byte(gray + red * cr);
      to[1] = byte(gray - greenRed * cr - greenBlue * cb);
      to[2] = byte(gray + blue * cb);
    }
}

} // namespace nnv12::tools
