//===- FileOfBytes.h - Bytes as a file, for readers of files ----*- C++ -*-===//
#ifndef NNV12_TEST_FUZZ_FILEOFBYTES_H
#define NNV12_TEST_FUZZ_FILEOFBYTES_H

#include <cstdint>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace nnv12::test {

/// A file in memory, gone with this.
class FileOfBytes {
public:
  FileOfBytes(const uint8_t *data, size_t size) : fd(memfd_create("input", 0)) {
    if (fd < 0 || write(fd, data, size) != ssize_t(size))
      abort();
  }
  ~FileOfBytes() { close(fd); }
  FileOfBytes(const FileOfBytes &) = delete;
  FileOfBytes &operator=(const FileOfBytes &) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }

private:
  int fd;
};

/// A reader must report nothing, or one line that begins with the path.
inline void expectOneLine(const std::string &error, const FileOfBytes &file) {
  if (!error.empty() && (error.find('\n') != std::string::npos ||
                         error.compare(0, file.path().size(), file.path())))
    abort();
}

} // namespace nnv12::test

#endif // NNV12_TEST_FUZZ_FILEOFBYTES_H
