//===- Clip.cpp - Frames of a video ---------------------------------------===//

#include "tools/common/Clip.h"

#include "artifact/Escape.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace nnv12::tools {

static constexpr char magic[] = "YUV4MPEG2";
/// A side's pixels; more than cameras have.
static constexpr int mostPixels = 16384;

bool isClip(const std::string &path) {
  FILE *file = fopen(path.c_str(), "rb");
  char start[sizeof magic - 1] = {};
  bool isOne = file && fread(start, sizeof start, 1, file) == 1 &&
               memcmp(start, magic, sizeof start) == 0;
  if (file)
    fclose(file);
  return isOne;
}

Clip::~Clip() {
  if (file)
    fclose(file);
}

std::string Clip::fault(const std::string &text) const {
  return path + ": frame " + std::to_string(number) + ": " + text;
}

/// A line of at most `most` bytes without its end. False where there is none.
static bool readLine(FILE *file, size_t most, std::string &line) {
  line.clear();
  for (int c; (c = fgetc(file)) != EOF;) {
    if (c == '\n')
      return true;
    line.push_back(char(c));
    if (line.size() > most)
      return false;
  }
  return false;
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

/// A number of pixels; 0: it is none.
static int pixels(const std::string &text) {
  char *end;
  long value = strtol(text.c_str(), &end, 10);
  return *end || text.empty() || value < 1 || value > mostPixels ? 0
                                                                 : int(value);
}

std::string Clip::open(const std::string &name) {
  path = name;
  file = fopen(path.c_str(), "rb");
  if (!file)
    return path + ": cannot open: " + strerror(errno);
  std::string line;
  constexpr size_t longest = 1024;
  if (!readLine(file, longest, line) ||
      line.compare(0, sizeof magic - 1, magic) != 0)
    return path + ": found no header of YUV4MPEG2, expected a .y4m file";
  std::string chroma = "420";
  for (const std::string &word : words(line)) {
    std::string value = word.substr(1);
    if (word[0] == 'W')
      width = pixels(value);
    else if (word[0] == 'H')
      height = pixels(value);
    else if (word[0] == 'C')
      chroma = value;
    else if (word == "XCOLORRANGE=FULL")
      isFull = true;
  }
  if (!width || !height)
    return path + ": header: found '" + artifact::escaped(line) +
           "', expected W and H from 1 to " + std::to_string(mostPixels);
  // 420jpeg, 420mpeg2 and 420paldv differ in where chroma is sampled, by less
  // than a pixel.
  bool isHalved = chroma == "420" || chroma == "420jpeg" ||
                  chroma == "420mpeg2" || chroma == "420paldv";
  if (isHalved || chroma == "422") {
    chromaWidth = (width + 1) / 2;
    chromaHeight = isHalved ? (height + 1) / 2 : height;
  } else if (chroma == "444") {
    chromaWidth = width;
    chromaHeight = height;
  } else if (chroma != "mono") {
    return path + ": header: found chroma '" + artifact::escaped(chroma) +
           "', expected 420, 422, 444 or mono, of 8 bits";
  }
  planes.resize(size_t(width) * height +
                2 * size_t(chromaWidth) * chromaHeight);
  return {};
}

bool Clip::next(Frame &frame, std::string &error) {
  assert(file && "the clip is open");
  std::string line;
  constexpr size_t longest = 1024;
  if (!readLine(file, longest, line)) {
    if (!line.empty() || !feof(file))
      error = fault("found no header, expected FRAME");
    return false;
  }
  if (line.compare(0, 5, "FRAME") != 0) {
    error = fault("found no header, expected FRAME");
    return false;
  }
  if (fread(planes.data(), 1, planes.size(), file) != planes.size()) {
    error = fault("found the end of the file, expected " +
                  std::to_string(planes.size()) + " bytes (truncated)");
    return false;
  }
  ++number;
  frame.width = width;
  frame.height = height;
  frame.pixels.resize(size_t(width) * height * 3);
  // ITU-R BT.601, in 1/65536.
  const int luma = isFull ? 65536 : 76309, black = isFull ? 0 : 16;
  const int red = isFull ? 91881 : 104597, blue = isFull ? 116130 : 132201;
  const int greenRed = isFull ? 46802 : 53279,
            greenBlue = isFull ? 22554 : 25675;
  const uint8_t *y = planes.data(), *u = y + size_t(width) * height,
                *v = u + size_t(chromaWidth) * chromaHeight;
  auto byte = [](int x) {
    return uint8_t(std::clamp((x + 32768) >> 16, 0, 255));
  };
  for (int row = 0; row < height; ++row)
    for (int column = 0; column < width; ++column) {
      size_t at = size_t(row) * width + column;
      int gray = (y[at] - black) * luma, cb = 0, cr = 0;
      if (chromaWidth) {
        size_t chroma =
            size_t(chromaHeight == height ? row : row / 2) * chromaWidth +
            (chromaWidth == width ? column : column / 2);
        cb = u[chroma] - 128;
        cr = v[chroma] - 128;
      }
      uint8_t *to = frame.pixels.data() + 3 * at;
      to[0] = byte(gray + red * cr);
      to[1] = byte(gray - greenRed * cr - greenBlue * cb);
      to[2] = byte(gray + blue * cb);
    }
  return true;
}

} // namespace nnv12::tools
