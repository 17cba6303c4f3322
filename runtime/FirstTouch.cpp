//===- FirstTouch.cpp - Memory that is about to be used -------------------===//
#include "runtime/FirstTouch.h"

#include "artifact/RuntimePolicy.h"

#include <algorithm>
#include <cassert>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 // Linux 5.14
#endif

namespace nnv12::runtime {

bool FirstTouch::create(size_t ranges) {
  page_ = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  assert(page_ && (page_ & (page_ - 1)) == 0);
  return table_.allocate(ranges);
}

/// A fresh page reads as 0. If another thread writes there at the same time,
/// its value stays: an exchange is one access, and stores the value that it
/// found.
static void touch(uintptr_t address) {
  uint8_t expected = 0;
  __atomic_compare_exchange_n(
      reinterpret_cast<uint8_t *>(address), &expected, 0,
      /*weak=*/false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/// The piece of memory that is not ours: a call for it holds a lock that other
/// threads' starts and allocations wait for.
static constexpr uintptr_t populatePiece = 128 << 10;

void FirstTouch::add(void *data, size_t size, bool ours) {
  auto begin = reinterpret_cast<uintptr_t>(data);
  // The first user touches pages that the memory shares with other memory.
  uintptr_t first = (begin + page_ - 1) & ~(page_ - 1),
            end = (begin + size) & ~(page_ - 1);
  uint32_t index = count_.load(std::memory_order_relaxed);
  if (index == table_.size() || first >= end)
    return;
  table_[index].begin = first;
  table_[index].end = end;
  table_[index].ours = ours;
  table_[index].next.store(first, std::memory_order_relaxed);
  count_.store(index + 1, std::memory_order_release);
}

/// The next piece of a range ends where a huge page does. False where none is
/// left.
bool FirstTouch::touchNext(Range &range) {
  uintptr_t begin = range.next.load(std::memory_order_relaxed), end;
  do {
    if (begin >= range.end)
      return false;
    uintptr_t piece = range.ours ? hugePageSize : populatePiece;
    end = std::min((begin + piece) & ~(piece - 1), range.end);
  } while (
      !range.next.compare_exchange_weak(begin, end, std::memory_order_relaxed));
  assert(begin % page_ == 0 && begin >= range.begin && begin < end &&
         end <= range.end);
  if (range.ours)
    for (uintptr_t address = begin; address < end; address += page_)
      touch(address);
  else
    madvise(reinterpret_cast<void *>(begin), end - begin, MADV_POPULATE_WRITE);
  return true;
}

bool FirstTouch::touchNext() {
  uint32_t ranges = count_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < ranges; ++i)
    if (!closed_.load(std::memory_order_relaxed) && touchNext(table_[i]))
      return true;
  return false;
}

} // namespace nnv12::runtime
