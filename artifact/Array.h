//===- Array.h - A fixed number of elements, without libstdc++ --*- C++ -*-===//
#ifndef NNV12_ARTIFACT_ARRAY_H
#define NNV12_ARTIFACT_ARRAY_H

#include <cassert>
#include <cstddef>
#include <cstdlib>

namespace nnv12::artifact {

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

  /// Gives the elements back.
  void reset() {
    free(elements);
    elements = nullptr;
    count = 0;
  }

  T *data() { return elements; }
  const T *data() const { return elements; }
  size_t size() const { return count; }
  T &operator[](size_t i) {
    assert(i < count);
    return elements[i];
  }
  const T &operator[](size_t i) const {
    assert(i < count);
    return elements[i];
  }
  T *begin() { return elements; }
  T *end() { return elements + count; }
  const T *begin() const { return elements; }
  const T *end() const { return elements + count; }

private:
  T *elements = nullptr;
  size_t count = 0;
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_ARRAY_H
