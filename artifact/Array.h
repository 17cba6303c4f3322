//===- Array.h - A fixed number of elements, without libstdc++ --*- C++ -*-===//
#ifndef NNV12_ARTIFACT_ARRAY_H
#define NNV12_ARTIFACT_ARRAY_H

#include "artifact/NonCopyable.h"

#include <cassert>
#include <cstddef>
#include <cstdlib>

namespace nnv12::artifact {

/// A fixed number of zero-initialised, trivially destructible elements.
template <typename T> class Array : NonCopyable {
public:
  ~Array() { free(elements_); }

  /// False when memory ran out.
  bool allocate(size_t n) {
    elements_ = static_cast<T *>(calloc(n ? n : 1, sizeof(T)));
    count_ = elements_ ? n : 0;
    return elements_ != nullptr;
  }

  /// Gives the elements back.
  void reset() {
    free(elements_);
    elements_ = nullptr;
    count_ = 0;
  }

  T *data() { return elements_; }
  const T *data() const { return elements_; }
  size_t size() const { return count_; }
  T &operator[](size_t i) {
    assert(i < count_);
    return elements_[i];
  }
  const T &operator[](size_t i) const {
    assert(i < count_);
    return elements_[i];
  }
  T *begin() { return elements_; }
  T *end() { return elements_ + count_; }
  const T *begin() const { return elements_; }
  const T *end() const { return elements_ + count_; }

private:
  T *elements_ = nullptr;
  size_t count_ = 0;
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_ARRAY_H
