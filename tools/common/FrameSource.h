//===- FrameSource.h - The frames of a video, one by one --------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_FRAMESOURCE_H
#define NNV12_TOOLS_COMMON_FRAMESOURCE_H

#include <cstdint>
#include <string>
#include <vector>

namespace nnv12::tools {

/// A picture of three bytes a pixel: red, green, blue.
struct Frame {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;
};

/// A clip whose frames are read in order. Its memory is that of a frame,
/// however many there are.
class FrameSource {
public:
  FrameSource() = default;
  virtual ~FrameSource() = default;
  FrameSource(const FrameSource &) = delete;
  FrameSource &operator=(const FrameSource &) = delete;

  /// Reads the next frame. False behind the last one, and on a fault, which
  /// `error` tells then in one line that starts with the source's name. A clip
  /// without a frame is a fault, and so is a frame of another size.
  bool next(Frame &frame, std::string &error);
  /// The frame that was read last, for messages.
  virtual std::string place() const = 0;

protected:
  /// next(), but for the faults of the clip as a whole.
  virtual bool read(Frame &frame, std::string &error) = 0;
  /// The clip, for messages.
  virtual std::string name() const = 0;
  /// The number of frames so far.
  uint64_t count() const { return count_; }

private:
  uint64_t count_ = 0;
  int width_ = 0, height_ = 0; ///< of the frames so far
};

/// The most pixels of a side: more than cameras have.
constexpr int mostFrameSide = 16384;
/// Parses the number of pixels of a side; 0: it is none, or too large.
int parseFrameSide(const std::string &text);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_FRAMESOURCE_H
