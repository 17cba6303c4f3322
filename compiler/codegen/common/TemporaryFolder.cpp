//===- TemporaryFolder.cpp - A folder for files between programs ----------===//

#include "compiler/codegen/common/TemporaryFolder.h"

#include "compiler/codegen/common/HeldSignals.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>

using namespace nnv12;

/// All that exist, linked through themselves: noting one takes no memory. Who
/// holds the mutex holds ending signals back, too: their handler takes it.
static std::mutex mutex;
static TemporaryFolder *first = nullptr;

TemporaryFolder::TemporaryFolder(const std::string &parent) {
  llvm::SmallString<128> prefix(parent);
  if (!parent.empty())
    error = llvm::sys::fs::make_absolute(prefix);
  llvm::sys::path::append(prefix, "nnv12c");
  HeldSignals held;
  if (!error)
    error = llvm::sys::fs::createUniqueDirectory(prefix, path);
  // A handler takes no memory to end the string.
  (void)path.c_str();
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
  if (!error)
    (void)llvm::sys::fs::remove_directories(path);
}

std::string TemporaryFolder::file(llvm::StringRef name) const {
  llvm::SmallString<128> result(path);
  llvm::sys::path::append(result, name);
  return result.str().str();
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

/// Removes what is in a folder, and in `depth` levels of folders there. By
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
    if (folder->error)
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
