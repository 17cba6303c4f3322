//===- ImageFolder.cpp - Images of a folder as frames ---------------------===//
#include "tools/common/ImageFolder.h"

#include "tools/common/Files.h"
#include "tools/common/ImageInput.h"

#include <algorithm>
#include <cassert>

namespace nnv12::tools {

/// The end of the digits that begin at `at`.
static size_t endOfNumber(const std::string &text, size_t at) {
  return std::min(text.find_first_not_of("0123456789", at), text.size());
}

bool isBefore(const std::string &a, const std::string &b) {
  size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    size_t endA = endOfNumber(a, i), endB = endOfNumber(b, k);
    if (endA == i || endB == k) {
      if (a[i] != b[k])
        return a[i] < b[k];
      ++i;
      ++k;
      continue;
    }
    // Numbers of any length: without zeros in front the longer one is larger.
    i = std::min(a.find_first_not_of('0', i), endA);
    k = std::min(b.find_first_not_of('0', k), endB);
    if (endA - i != endB - k)
      return endA - i < endB - k;
    if (int order = a.compare(i, endA - i, b, k, endB - k))
      return order < 0;
    i = endA;
    k = endB;
  }
  if (i < a.size() || k < b.size())
    return k < b.size();
  // They differ in zeros in front of numbers, if at all.
  return a < b;
}

std::string ImageFolder::open(const std::string &path) {
  path_ = path;
  std::string error = listFolder(path, images_);
  if (!error.empty())
    return error;
  if (images_.empty())
    return path + ": found no image, expected frames as " + imageKinds;
  std::sort(images_.begin(), images_.end(), isBefore);
  for (const std::string &image : images_)
    noteInput(image);
  return {};
}

std::string ImageFolder::place() const {
  assert(count() && "a frame was read");
  return images_[count() - 1];
}

bool ImageFolder::read(Frame &frame, std::string &error) {
  if (count() == images_.size())
    return false;
  error = readPicture(images_[count()], ImageOptions().mostPixels, frame);
  return error.empty();
}

} // namespace nnv12::tools
