//===- Tensor.cpp - A tensor in a tool's memory ---------------------------===//
#include "tools/common/Tensor.h"

#include "artifact/RuntimePolicy.h"
#include "tools/common/Report.h"

#include <sys/mman.h>

namespace nnv12::tools {

Buffer::Buffer(size_t size) : length_(size) {
  void *memory = nullptr;
  // Small pages of an input or output of some megabytes cost a millisecond at
  // their first use.
  bool huge = size >= hugePageSize;
  if (posix_memalign(&memory, huge ? hugePageSize : 64, size ? size : 1) != 0)
    fail("no memory for " + std::to_string(size) + " bytes");
  if (huge)
    madvise(memory, size & ~(hugePageSize - 1), MADV_HUGEPAGE);
  bytes_.reset(static_cast<uint8_t *>(memory));
}

} // namespace nnv12::tools
