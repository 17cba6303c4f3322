//===- CodeMapping.h - Executable memory ------------------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_CODEMAPPING_H
#define NNV12_RUNTIME_CODEMAPPING_H

#include "artifact/Fault.h"
#include "artifact/NonCopyable.h"

#include <cstddef>
#include <cstdint>

namespace nnv12::runtime {

/// A code segment, mapped so that it may run and never so that it may be
/// written at the same time.
class CodeMapping : artifact::NonCopyable {
public:
  ~CodeMapping();

  /// Maps `size` bytes at `offset` of `descriptor` in place. False when the
  /// system refuses, as for a file on a noexec mount; then copy() may do.
  bool map(int descriptor, uint64_t offset, size_t size);
  [[nodiscard]] bool copy(const void *bytes, size_t size,
                          artifact::Fault &fault);

  const uint8_t *data() const { return static_cast<const uint8_t *>(base_); }

private:
  void *base_ = nullptr;
  size_t length_ = 0;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_CODEMAPPING_H
