//===- CodeMapping.cpp - Executable memory --------------------------------===//
#include "runtime/CodeMapping.h"

#include <cassert>
#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <sys/types.h>

namespace nnv12::runtime {

CodeMapping::~CodeMapping() {
  if (base_)
    munmap(base_, length_);
}

bool CodeMapping::map(int descriptor, uint64_t offset, size_t size) {
  assert(!base_ && "a mapping is made once");
  if (size == 0)
    return true;
  void *mapping = mmap(nullptr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE,
                       descriptor, static_cast<off_t>(offset));
  if (mapping == MAP_FAILED)
    return false;
  base_ = mapping;
  length_ = size;
  return true;
}

bool CodeMapping::copy(const void *bytes, size_t size, artifact::Fault &fault) {
  assert(!base_ && "a mapping is made once");
  if (size == 0)
    return true;
  void *mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED)
    return fault.set(artifact::Fault::OutOfMemory,
                     "code: no memory for its %zu bytes", size);
  base_ = mapping;
  length_ = size;
  memcpy(mapping, bytes, size);
  if (mprotect(mapping, size, PROT_READ | PROT_EXEC) != 0)
    return fault.set(artifact::Fault::Io,
                     "code: the system allows no executable memory: %s",
                     strerror(errno));
  auto *begin = static_cast<char *>(mapping);
  __builtin___clear_cache(begin, begin + size);
  return true;
}

} // namespace nnv12::runtime
