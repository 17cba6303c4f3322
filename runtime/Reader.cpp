//===- Reader.cpp - Brings pages of a mapped file into memory -------------===//
#include "runtime/Reader.h"

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif

namespace nnv12::runtime {

/// For kernels before 5.14.
static void touchPages(uintptr_t begin, uintptr_t end, size_t pageSize) {
  madvise(reinterpret_cast<void *>(begin), end - begin, MADV_WILLNEED);
  for (; begin < end; begin += pageSize)
    (void)*reinterpret_cast<const volatile uint8_t *>(begin);
}

bool readPages(const uint8_t *data, size_t size) {
  if (size == 0)
    return true;
  auto pageSize = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  uintptr_t begin = reinterpret_cast<uintptr_t>(data) & ~(pageSize - 1);
  uintptr_t end = reinterpret_cast<uintptr_t>(data) + size;
  for (;;) {
    if (madvise(reinterpret_cast<void *>(begin), end - begin,
                MADV_POPULATE_READ) == 0)
      return true;
    if (errno == EINTR || errno == EAGAIN)
      continue;
    // An error of the device, or a file that was cut: the process would get
    // SIGBUS where it touches those pages.
    if (errno == EFAULT || errno == EHWPOISON)
      return false;
    break;
  }
  touchPages(begin, end, pageSize);
  return true;
}

} // namespace nnv12::runtime
