//===- Reader.cpp - Brings pages of a mapped file into memory -------------===//
#include "runtime/Reader.h"

#include "artifact/RuntimePolicy.h"

#include <algorithm>

namespace nnv12::runtime {

void readPages(const uint8_t *data, size_t size) {
  static constexpr size_t smallestPage = 4096;
  for (size_t i = 0; i < size; i += smallestPage)
    (void)*static_cast<const volatile uint8_t *>(data + i);
  if (size)
    (void)*static_cast<const volatile uint8_t *>(data + size - 1);
}

/// With the head in memory, the rest of its 2 MiB cannot come as one large
/// folio any more, and touching it page by page takes as long as some megabytes
/// do. It is asked for early, but not together with the head: that would come
/// as late as the rest then.
void readAhead(const artifact::MappedFile &file, size_t needed) {
  size_t end = std::min<size_t>(file.size(), headSize);
  if (needed > end && needed <= file.size()) {
    // With the first layers' weights, which would come with all the rest.
    size_t next = std::min<size_t>(needed + firstWeights, file.size());
    file.askFor(end, next);
    (void)*static_cast<const volatile uint8_t *>(file.data() + needed - 1);
    end = next;
  }
  file.askFor(end, std::min<size_t>(file.size(), hugePageSize));
}

} // namespace nnv12::runtime
