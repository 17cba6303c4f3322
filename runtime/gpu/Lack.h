//===- Lack.h - What a device has too little of -----------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_GPU_LACK_H
#define NNV12_RUNTIME_GPU_LACK_H

#include <cstdint>
#include <initializer_list>

namespace nnv12::runtime {

/// Something of which a device has `found`, and kernels need `expected`. False
/// where that is enough.
struct Lack {
  const char *what = nullptr;
  uint64_t found = 0, expected = 0;

  explicit operator bool() const { return found < expected; }
};

/// The first that is not enough, if there is one.
inline Lack firstLack(std::initializer_list<Lack> needs) {
  for (const Lack &need : needs)
    if (need)
      return need;
  return {};
}

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_LACK_H
