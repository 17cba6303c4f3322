//===- TemporaryFolder.cpp - A folder for files between programs ----------===//

#include "compiler/codegen/common/TemporaryFolder.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <mutex>

using namespace nnv12;

/// All that exist, linked through themselves: noting one takes no memory.
static std::mutex mutex;
static TemporaryFolder *first = nullptr;

TemporaryFolder::TemporaryFolder(const std::string &parent) {
  llvm::SmallString<128> prefix(parent);
  if (!parent.empty())
    error = llvm::sys::fs::make_absolute(prefix);
  llvm::sys::path::append(prefix, "nnv12c");
  if (!error)
    error = llvm::sys::fs::createUniqueDirectory(prefix, path);
  std::lock_guard lock(mutex);
  next = first;
  if (next)
    next->previous = this;
  first = this;
}

TemporaryFolder::~TemporaryFolder() {
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

void TemporaryFolder::removeAll() {
  std::lock_guard lock(mutex);
  for (TemporaryFolder *folder = first; folder; folder = folder->next)
    if (!folder->error)
      (void)llvm::sys::fs::remove_directories(folder->path);
}
