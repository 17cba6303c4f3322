//===- Memory.h - Owned memory without libstdc++ ----------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_SYSTEM_MEMORY_H
#define NNV12_RUNTIME_SYSTEM_MEMORY_H

#include "artifact/Array.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace nnv12::runtime {

using artifact::Array;

/// Anonymous pages. Zero when fresh; the system supplies each at its first use.
class Pages : artifact::NonCopyable {
public:
  ~Pages() { release(); }

  /// `alignment` is a power of two. False when memory ran out.
  bool allocate(size_t size, size_t alignment) {
    if (size == 0)
      return true;
    assert(alignment && (alignment & (alignment - 1)) == 0 &&
           "alignments are powers of two");
    if (size > SIZE_MAX - alignment)
      return false;
    // Alignment beyond a page costs address space, no memory.
    length_ = size + alignment;
    base_ = mmap(nullptr, length_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base_ == MAP_FAILED) {
      base_ = nullptr;
      return false;
    }
    auto address = reinterpret_cast<uintptr_t>(base_);
    start_ = reinterpret_cast<uint8_t *>((address + alignment - 1) &
                                         ~uintptr_t(alignment - 1));
    return true;
  }

  /// Where the system has huge pages, the first `size` bytes shall be in such.
  void adviseHuge(size_t size) { madvise(start_, size, MADV_HUGEPAGE); }

  /// The first `size` bytes of `other` become those of this, without a copy;
  /// `other` is empty then. Both begin at a multiple of `size`. False where the
  /// system cannot.
  bool replaceHead(Pages &other, size_t size) {
    assert(reinterpret_cast<uintptr_t>(start_) % size == 0 &&
           reinterpret_cast<uintptr_t>(other.start_) % size == 0);
    if (mremap(other.start_, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
               start_) == MAP_FAILED) {
      other.release();
      return false;
    }
    // Another mapping may have the old addresses by now.
    auto *first = static_cast<uint8_t *>(other.base_);
    unmap(first, other.start_);
    unmap(other.start_ + size, first + other.length_);
    other.abandon();
    return true;
  }

  /// The bytes from `offset` on, a multiple of pages, become those of `tail`.
  void giveTail(size_t offset, Pages &tail) {
    tail.release();
    if (!base_)
      return;
    auto *end = static_cast<uint8_t *>(base_) + length_;
    tail.base_ = tail.start_ = start_ + offset;
    tail.length_ = static_cast<size_t>(end - tail.start_);
    length_ -= tail.length_;
  }

  /// Gives the first `size` bytes back to the system. They read as zero when
  /// they are used again.
  void empty(size_t size) { madvise(start_, size, MADV_DONTNEED); }

  void release() {
    if (base_)
      munmap(base_, length_);
    abandon();
  }

  /// Leaves the pages where they are, for ever.
  void abandon() {
    base_ = nullptr;
    start_ = nullptr;
  }

  uint8_t *data() { return start_; }
  const uint8_t *data() const { return start_; }

private:
  static void unmap(uint8_t *from, uint8_t *to) {
    if (to > from)
      munmap(from, static_cast<size_t>(to - from));
  }

  void *base_ = nullptr;
  size_t length_ = 0;
  uint8_t *start_ = nullptr;
};

/// Creates and destroys objects on malloc's heap: the runtime links no operator
/// new.
template <typename T> T *create() {
  void *memory = nullptr;
  if (posix_memalign(&memory, alignof(T) < 16 ? 16 : alignof(T), sizeof(T)))
    return nullptr;
  return ::new (memory) T();
}

template <typename T> void destroy(T *object) {
  if (!object)
    return;
  object->~T();
  free(object);
}

/// Takes an element out of the list from `first` on, which `next` links.
template <typename T> void takeOut(T *&first, T &element, T *T::*next) {
  T **at = &first;
  while (*at && *at != &element)
    at = &((*at)->*next);
  if (*at)
    *at = element.*next;
}

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_SYSTEM_MEMORY_H
