//===- Clip.h - Frames of YUV4MPEG2 files -----------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_CLIP_H
#define NNV12_TOOLS_COMMON_CLIP_H

#include "tools/common/FrameSource.h"
#include "tools/common/InputStream.h"

namespace nnv12::tools {

/// True when the file begins as YUV4MPEG2 files (.y4m) do.
bool isClip(const std::string &path);
/// True when these bytes do.
bool isClip(const std::vector<uint8_t> &bytes);

/// The frames of a file of YUV4MPEG2, as `ffmpeg -f yuv4mpegpipe` writes it:
/// 8 bits, chroma 420, 422, 444 or mono.
class Clip : public FrameSource {
public:
  /// "-" is standard input. Empty, or one line that starts with the name.
  std::string open(const std::string &path);
  std::string place() const override;

protected:
  bool read(Frame &frame, std::string &error) override;
  std::string name() const override { return stream_.name(); }

private:
  std::string fault(const std::string &text) const;
  void makeColors(Frame &frame) const;

  InputStream stream_;
  int width_ = 0, height_ = 0;
  int chromaWidth_ = 0, chromaHeight_ = 0; ///< 0: there is none
  bool isFull_ = false; ///< values from 0 to 255, not from 16 to 235
  std::vector<uint8_t> planes_;
};

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_CLIP_H
