//===- Expect.h - Faults that name where they were found --------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_EXPECT_H
#define NNV12_ARTIFACT_EXPECT_H

#include "artifact/Fault.h"

#include <cstdarg>
#include <cstdint>
#include <initializer_list>

namespace nnv12::artifact {

/// A part of a bundle's metadata, as a message names it: "program 0: gpu:
/// stretch 1".
struct Where {
  static constexpr uint32_t single = ~0u;

  const Where *outer; ///< null: the bundle
  const char *part;
  uint32_t index = single; ///< `single`: there is one of it
};

/// A number, and which ones are good: from `least` to before `end`.
struct Bounds {
  const char *field;
  uint64_t found, least, end;
};

/// False, with a fault that says where. The rest is as of printf.
__attribute__((format(printf, 3, 4))) bool
refuse(Fault &fault, const Where &where, const char *format, ...);

/// The same; `args` stands for the dots.
void vrefuse(Fault &fault, const Where &where, const char *format,
             va_list args);

/// Checks one number after another.
[[nodiscard]] bool expect(Fault &fault, const Where &where,
                          std::initializer_list<Bounds> numbers);

/// Checks that `size` bytes at `offset` are at least one, lie at a multiple of
/// `alignment`, and inside `available` bytes of `space`.
[[nodiscard]] bool expectInside(Fault &fault, const Where &where,
                                uint64_t offset, uint64_t size,
                                uint64_t alignment, uint64_t available,
                                const char *space);

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_EXPECT_H
