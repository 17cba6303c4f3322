//===- InputStream.cpp - Bytes of a file or of standard input -------------===//
#include "tools/common/InputStream.h"

#include "tools/common/Files.h"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nnv12::tools {

InputStream::~InputStream() {
  if (file_ && file_ != stdin)
    fclose(file_);
}

std::string InputStream::open(const std::string &path) {
  assert(!file_ && "a stream is opened once");
  if (path == "-") {
    name_ = "standard input";
    file_ = stdin;
    noteInput("/dev/stdin");
    return {};
  }
  name_ = path;
  noteInput(path);
  // O_NONBLOCK: opening a FIFO by mistake must not hang.
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return name_ + ": cannot open: " + strerror(errno);
  struct stat info = {};
  bool isRegular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (isRegular)
    file_ = fdopen(fd, "rb");
  if (file_)
    return {};
  close(fd);
  return name_ + ": found " +
         (S_ISDIR(info.st_mode) ? "a folder" : "a special file") +
         ", expected a regular file";
}

size_t InputStream::read(void *bytes, size_t size) {
  assert(file_ && "the stream is open");
  size_t count = fread(bytes, 1, size, file_);
  if (ferror(file_))
    reason_ = errno;
  return count;
}

bool InputStream::readLine(size_t most, std::string &line) {
  assert(file_ && "the stream is open");
  line.clear();
  for (int c; (c = fgetc(file_)) != EOF;) {
    if (c == '\n')
      return true;
    line.push_back(char(c));
    if (line.size() > most)
      return false;
  }
  if (ferror(file_))
    reason_ = errno;
  return false;
}

std::string InputStream::fault() const {
  return reason_ ? name_ + ": cannot read: " + strerror(reason_) : "";
}

} // namespace nnv12::tools
