//===- FloatMode.h - Flushes denormals while kernels run --------*- C++ -*-===//
#ifndef NNV12_RUNTIME_FLOATMODE_H
#define NNV12_RUNTIME_FLOATMODE_H

#include "artifact/NonCopyable.h"

#include <cstdint>

namespace nnv12::runtime {

/// While it lives, the thread rounds to nearest, flushes denormals to zero and
/// masks floating-point exceptions, whatever the application had set. Denormals
/// cost up to a hundred cycles each on x86-64.
class FloatMode : artifact::NonCopyable {
public:
  FloatMode() : saved_(read()) { write(mode); }
  ~FloatMode() { write(saved_); }

private:
#if defined(__x86_64__)
  using Register = uint32_t;
  /// MXCSR: all exceptions masked (0x1f80), FTZ (bit 15), DAZ (bit 6).
  static constexpr Register mode = 0x1f80 | 1u << 15 | 1u << 6;
  static Register read() { return __builtin_ia32_stmxcsr(); }
  static void write(Register value) { __builtin_ia32_ldmxcsr(value); }
#else
  using Register = uint64_t;
  /// FPCR: FZ (bit 24). Not FZ16: half floats need their denormals.
  static constexpr Register mode = 1u << 24;
  static Register read() {
    Register value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
  }
  static void write(Register value) {
    __asm__ volatile("msr fpcr, %0" : : "r"(value));
  }
#endif
  Register saved_;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_FLOATMODE_H
