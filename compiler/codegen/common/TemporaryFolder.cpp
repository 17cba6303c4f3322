//===- TemporaryFolder.cpp - A folder for files between programs ----------===//

#include "compiler/codegen/common/TemporaryFolder.h"

#include "artifact/FolderTrust.h"
#include "compiler/codegen/common/HeldSignals.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>

using namespace nnv12;

/// All folders that exist, linked through themselves: noting one takes no
/// memory. A thread that holds the mutex holds ending signals back, too: their
/// handler takes it.
static std::mutex mutex;
static TemporaryFolder *first = nullptr;

TemporaryFolder::TemporaryFolder(const std::string &parent) {
  llvm::SmallString<128> above(parent);
  if (parent.empty())
    llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, above);
  std::error_code code = llvm::sys::fs::make_absolute(above);
  artifact::Fault fault;
  if (code)
    error = (above + ": " + code.message()).str();
  else if (!artifact::isTrusted(above.str().str(), artifact::Others::NotOurs,
                                fault))
    error = (above + ": " + fault.text).str();
  path = above;
  llvm::sys::path::append(path, "nnv12c-XXXXXX");
  HeldSignals held;
  // For this user alone, whatever the umask.
  if (error.empty() && !mkdtemp(const_cast<char *>(path.c_str())))
    error = (above + ": " + strerror(errno)).str();
  std::lock_guard lock(mutex);
  next = first;
  if (next)
    next->previous = this;
  first = this;
}

TemporaryFolder::~TemporaryFolder() {
  HeldSignals held;
  {
    std::lock_guard lock(mutex);
    (previous ? previous->next : first) = next;
    if (next)
      next->previous = previous;
  }
  if (error.empty())
    (void)llvm::sys::fs::remove_directories(path);
}

std::string TemporaryFolder::inside(llvm::StringRef name) const {
  llvm::SmallString<128> result(path);
  llvm::sys::path::append(result, name);
  return result.str().str();
}

std::string TemporaryFolder::file(llvm::StringRef name) const {
  std::string result = inside(name);
  int fd = open(result.c_str(),
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  // If the file cannot be made, the writer that opens it next reports why.
  if (fd >= 0)
    close(fd);
  return result;
}

/// An entry of a folder as the system returns it.
namespace {
struct Entry {
  uint64_t inode;
  int64_t next;
  uint16_t length;
  uint8_t type;
  char name[1];
};
} // namespace

/// Removes the contents of a folder, and of `depth` levels of folders there. By
/// system calls alone: the C library's functions take memory and locks.
static void removeContents(int folder, unsigned depth) {
  alignas(Entry) char buffer[2048];
  for (;;) {
    long size = syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (size <= 0)
      return;
    bool isRemoved = false;
    for (long at = 0; at < size;) {
      auto *entry = reinterpret_cast<const Entry *>(buffer + at);
      at += entry->length;
      const char *name = entry->name;
      if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        continue;
      if (unlinkat(folder, name, 0) == 0) {
        isRemoved = true;
        continue;
      }
      int below = depth
                      ? openat(folder, name,
                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                      : -1;
      if (below < 0)
        continue;
      removeContents(below, depth - 1);
      close(below);
      isRemoved |= unlinkat(folder, name, AT_REMOVEDIR) == 0;
    }
    // Removing entries may move the ones that follow.
    if (isRemoved)
      lseek(folder, 0, SEEK_SET);
  }
}

void TemporaryFolder::removeAll() {
  HeldSignals held;
  std::lock_guard lock(mutex);
  for (TemporaryFolder *folder = first; folder; folder = folder->next) {
    if (!folder->error.empty())
      continue;
    const char *path = folder->path.data();
    int opened = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (opened < 0)
      continue;
    removeContents(opened, /*depth=*/2);
    close(opened);
    rmdir(path);
  }
}

std::error_code nnv12::writeTemporary(llvm::StringRef path,
                                      llvm::StringRef bytes) {
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (error)
    return error;
  os << bytes;
  os.close();
  error = os.error();
  os.clear_error();
  return error;
}
