//===- RawClip.h - Frames that are bytes and nothing else -------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_RAWCLIP_H
#define NNV12_TOOLS_COMMON_RAWCLIP_H

#include "tools/common/FrameSource.h"
#include "tools/common/InputStream.h"

namespace nnv12::tools {

/// Frames as `ffmpeg -f rawvideo -pix_fmt rgb24` writes them: row by row three
/// bytes a pixel, and nothing between frames.
class RawClip : public FrameSource {
public:
  RawClip(int width, int height) : width_(width), height_(height) {}
  /// "-" is standard input. Empty, or one line that starts with the name.
  std::string open(const std::string &path) { return stream_.open(path); }
  std::string place() const override;

protected:
  bool read(Frame &frame, std::string &error) override;
  std::string name() const override { return stream_.name(); }

private:
  InputStream stream_;
  int width_, height_;
};

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_RAWCLIP_H
