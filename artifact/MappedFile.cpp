//===- MappedFile.cpp - A file mapped for reading -------------------------===//
#include "artifact/MappedFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nnv12::artifact {

MappedFile::~MappedFile() {
  if (bytes_)
    munmap(const_cast<uint8_t *>(bytes_), length_);
  closeDescriptor();
}

void MappedFile::closeDescriptor() {
  if (fd_ >= 0)
    ::close(fd_);
  fd_ = -1;
}

bool MappedFile::open(const char *path, Fault &fault, size_t wanted) {
  // O_NONBLOCK: opening a FIFO by mistake must not hang.
  fd_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0)
    return fault.set(Fault::Io, "cannot open: %s", strerror(errno));
  struct stat info;
  if (fstat(fd_, &info) != 0)
    return fault.set(Fault::Io, "cannot stat: %s", strerror(errno));
  if (!S_ISREG(info.st_mode))
    return fault.set(Fault::Io, "found %s, expected a regular file",
                     S_ISDIR(info.st_mode) ? "a folder" : "a special file");
  length_ = static_cast<size_t>(info.st_size);
  if (length_ == 0)
    return true;
  // The first touch of a mapping makes Linux read as much as its read-ahead
  // allows around it, up to megabytes, and the thread waits for most of that:
  // milliseconds instead of a tenth of one.
  askFor(0, std::min(length_, wanted));
  void *mapping = mmap(nullptr, length_, PROT_READ, MAP_PRIVATE, fd_, 0);
  if (mapping == MAP_FAILED) {
    length_ = 0;
    return fault.set(Fault::Io, "cannot map: %s", strerror(errno));
  }
  bytes_ = static_cast<const uint8_t *>(mapping);
  return true;
}

bool MappedFile::isWaiting() const {
  unsigned char state = 0;
  return length_ && mincore(const_cast<uint8_t *>(bytes_), 1, &state) == 0 &&
         !(state & 1);
}

void MappedFile::askFor(size_t begin, size_t end) const {
  if (begin < end)
    posix_fadvise(fd_, static_cast<off_t>(begin),
                  static_cast<off_t>(end - begin), POSIX_FADV_WILLNEED);
}

} // namespace nnv12::artifact
