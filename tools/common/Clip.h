//===- Clip.h - Frames of a video -------------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_CLIP_H
#define NNV12_TOOLS_COMMON_CLIP_H

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace nnv12::tools {

/// A picture of three bytes a pixel: red, green, blue.
struct Frame {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;
};

/// True when the file begins as YUV4MPEG2 files (.y4m) do.
bool isClip(const std::string &path);

/// The frames of a file of YUV4MPEG2, as `ffmpeg -f yuv4mpegpipe` writes it:
/// 8 bits, chroma 420, 422, 444 or mono.
class Clip {
public:
  Clip() = default;
  ~Clip();
  Clip(const Clip &) = delete;
  Clip &operator=(const Clip &) = delete;

  /// Empty, or one line that starts with the path.
  std::string open(const std::string &path);
  /// Reads the next frame. False at the end of the file, and on a fault, which
  /// `error` tells then.
  bool next(Frame &frame, std::string &error);

private:
  std::string fault(const std::string &text) const;

  std::string path;
  FILE *file = nullptr;
  uint64_t number = 0; ///< frames so far
  int width = 0, height = 0;
  int chromaWidth = 0, chromaHeight = 0; ///< 0: there is none
  bool isFull = false; ///< values from 0 to 255, not from 16 to 235
  std::vector<uint8_t> planes;
};

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_CLIP_H
