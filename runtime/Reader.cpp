//===- Reader.cpp - Brings pages of a mapped file into memory -------------===//
#include "runtime/Reader.h"

namespace nnv12::runtime {

void readPages(const uint8_t *data, size_t size) {
  static constexpr size_t smallestPage = 4096;
  for (size_t i = 0; i < size; i += smallestPage)
    (void)*static_cast<const volatile uint8_t *>(data + i);
  if (size)
    (void)*static_cast<const volatile uint8_t *>(data + size - 1);
}

} // namespace nnv12::runtime
