//===- Memory.h - Owned memory without libstdc++ ----------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_MEMORY_H
#define NNV12_RUNTIME_MEMORY_H

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace nnv12::runtime {

/// A fixed number of zero-initialised, trivially destructible elements.
template <typename T> class Array {
public:
  Array() = default;
  Array(const Array &) = delete;
  Array &operator=(const Array &) = delete;
  ~Array() { free(elements); }

  /// False when memory ran out.
  bool allocate(size_t n) {
    elements = static_cast<T *>(calloc(n ? n : 1, sizeof(T)));
    count = elements ? n : 0;
    return elements != nullptr;
  }

  T *data() { return elements; }
  const T *data() const { return elements; }
  size_t size() const { return count; }
  T &operator[](size_t i) { return elements[i]; }
  const T &operator[](size_t i) const { return elements[i]; }
  T *begin() { return elements; }
  T *end() { return elements + count; }

private:
  T *elements = nullptr;
  size_t count = 0;
};

/// Anonymous pages. Zero when fresh; the system supplies each at its first use.
class Pages {
public:
  Pages() = default;
  Pages(const Pages &) = delete;
  Pages &operator=(const Pages &) = delete;
  ~Pages() {
    if (base)
      munmap(base, length);
  }

  /// `alignment` is a power of two. False when memory ran out.
  bool allocate(size_t size, size_t alignment) {
    if (size == 0)
      return true;
    if (size > SIZE_MAX - alignment)
      return false;
    // Alignment beyond a page costs address space, no memory.
    length = size + alignment;
    base = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
      base = nullptr;
      return false;
    }
    auto address = reinterpret_cast<uintptr_t>(base);
    start = reinterpret_cast<uint8_t *>((address + alignment - 1) &
                                        ~uintptr_t(alignment - 1));
    return true;
  }

  uint8_t *data() { return start; }

private:
  void *base = nullptr;
  size_t length = 0;
  uint8_t *start = nullptr;
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

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_MEMORY_H
