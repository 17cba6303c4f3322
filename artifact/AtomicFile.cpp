//===- AtomicFile.cpp - A file that appears whole or not at all -----------===//
#include "artifact/AtomicFile.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nnv12::artifact {

AtomicFile::~AtomicFile() {
  if (fd_ >= 0)
    close(fd_);
  if (!temporary_.empty())
    unlink(temporary_.c_str());
}

static bool failed(const char *what, Fault &fault) {
  return fault.set(Fault::Io, "%s: %s", what, strerror(errno));
}

/// A name that no other writer uses: the process, and a counter inside it.
static std::string nextTemporary(const std::string &target) {
  static unsigned counter = 0;
  return target + ".tmp" + std::to_string(getpid()) + "." +
         std::to_string(__atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED));
}

bool AtomicFile::open(const char *path, Fault &fault, mode_t mode) {
  target_ = path;
  struct stat info;
  bool isReplaced = stat(path, &info) == 0;
  if (isReplaced) {
    if (!S_ISREG(info.st_mode))
      return fault.set(Fault::Io, "found %s, expected a regular file",
                       S_ISDIR(info.st_mode) ? "a folder" : "a special file");
    if (char *real = realpath(path, nullptr)) {
      target_ = real;
      free(real);
    }
  }
  size_t slash = target_.rfind('/');
  folder_ = slash == std::string::npos ? "." : target_.substr(0, slash + 1);

#ifdef O_TMPFILE
  // commit() names it by way of /proc, which a container may lack.
  if (access("/proc/self/fd", X_OK) == 0)
    fd_ = ::open(folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
#endif
  if (fd_ < 0) {
    temporary_ = nextTemporary(target_);
    fd_ = ::open(temporary_.c_str(),
                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  }
  if (fd_ < 0) {
    temporary_.clear();
    return failed("cannot create", fault);
  }
  // A file system without permissions refuses this, and nothing is lost.
  if (isReplaced)
    (void)!fchmod(fd_, info.st_mode & 0777);
  return true;
}

bool AtomicFile::write(const void *data, size_t size, Fault &fault) {
  auto *bytes = static_cast<const uint8_t *>(data);
  while (size) {
    ssize_t n = ::write(fd_, bytes, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return failed("cannot write", fault);
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return true;
}

bool AtomicFile::commit(Fault &fault, Durability durability) {
  if (durability == Durability::Full && fsync(fd_) != 0)
    return failed("cannot write", fault);
  if (temporary_.empty()) {
    std::string name = nextTemporary(target_);
    std::string self = "/proc/self/fd/" + std::to_string(fd_);
    if (linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(),
               AT_SYMLINK_FOLLOW) != 0)
      return failed("cannot create", fault);
    temporary_ = name;
  }
  // Some file systems report a full disk only here.
  int closed = close(fd_);
  fd_ = -1;
  if (closed != 0)
    return failed("cannot write", fault);
  if (rename(temporary_.c_str(), target_.c_str()) != 0)
    return failed("cannot rename", fault);
  temporary_.clear();
  if (durability == Durability::None)
    return true;
  // The new name must survive a power cut as well. The file is complete either
  // way, so a folder that cannot be synced is no failure.
  int folderFd = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folderFd >= 0) {
    fsync(folderFd);
    close(folderFd);
  }
  return true;
}

} // namespace nnv12::artifact
