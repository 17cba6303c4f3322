//===- ImageFolder.h - Images of a folder as frames -------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_IMAGEFOLDER_H
#define NNV12_TOOLS_COMMON_IMAGEFOLDER_H

#include "tools/common/FrameSource.h"

namespace nnv12::tools {

/// The images of a folder, in the natural order of their names. Hidden files
/// and notes are none of them (listFolder()).
class ImageFolder : public FrameSource {
public:
  /// Empty, or one line that starts with the path.
  std::string open(const std::string &path);
  std::string place() const override;

protected:
  bool read(Frame &frame, std::string &error) override;
  std::string name() const override { return path_; }

private:
  std::string path_;
  std::vector<std::string> images_;
};

/// Whether `a` stands before `b` where the digits of names are numbers: frame2
/// before frame10.
bool isBefore(const std::string &a, const std::string &b);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_IMAGEFOLDER_H
