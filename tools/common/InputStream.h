//===- InputStream.h - Bytes of a file or of standard input -----*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_INPUTSTREAM_H
#define NNV12_TOOLS_COMMON_INPUTSTREAM_H

#include <cstddef>
#include <cstdio>
#include <string>

namespace nnv12::tools {

/// Bytes that are read from the first to the last, with little memory.
class InputStream {
public:
  InputStream() = default;
  ~InputStream();
  InputStream(const InputStream &) = delete;
  InputStream &operator=(const InputStream &) = delete;

  /// Opens a regular file, or for "-" standard input, and notes it
  /// (noteInput()). Empty, or one line that starts with the name.
  std::string open(const std::string &path);
  /// The path, or "standard input".
  const std::string &name() const { return name_; }

  /// Returns the number of bytes that were read: fewer than `size` at the end
  /// and on a fault.
  size_t read(void *bytes, size_t size);
  /// Reads a line of at most `most` bytes, without its end. False where there
  /// is none; `line` has the bytes that there are then.
  bool readLine(size_t most, std::string &line);
  /// Empty, or a line that starts with the name: reading failed.
  std::string fault() const;

private:
  std::string name_;
  FILE *file_ = nullptr;
  int reason_ = 0; ///< errno of a read that failed
};

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_INPUTSTREAM_H
