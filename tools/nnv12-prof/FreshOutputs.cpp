//===- FreshOutputs.cpp - Outputs in memory that was never used -----------===//
#include "tools/nnv12-prof/FreshOutputs.h"

#include "tools/common/Report.h"

#include <sys/mman.h>

namespace nnv12::prof {

FreshOutputs::FreshOutputs(const Bundle &bundle) {
  for (uint32_t i = 0; i < bundle.numOutputs(); ++i) {
    size_t size = bundle.output(i).byte_size;
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      tools::fail("no memory for outputs of " + std::to_string(size) +
                  " bytes");
    buffers_.push_back({memory, size});
  }
}

FreshOutputs::~FreshOutputs() {
  for (const Output &buffer : buffers_)
    munmap(buffer.data, buffer.size);
}

void FreshOutputs::renew() {
  for (const Output &buffer : buffers_)
    madvise(buffer.data, buffer.size, MADV_DONTNEED);
}

} // namespace nnv12::prof
