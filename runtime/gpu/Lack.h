//===- Lack.h - A requirement that a device misses --------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_GPU_LACK_H
#define NNV12_RUNTIME_GPU_LACK_H

#include <cstdint>

namespace nnv12::runtime {

/// A property of a device: it has `found`, and kernels need `expected`. False
/// where the device has enough.
struct Lack {
  const char *what = nullptr;
  uint64_t found = 0, expected = 0;

  explicit operator bool() const { return found < expected; }

  /// Notes a property if it is not enough, and none before it was a lack.
  void need(const char *thing, uint64_t has, uint64_t wants) {
    if (!*this && has < wants)
      *this = {thing, has, wants};
  }
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_LACK_H
