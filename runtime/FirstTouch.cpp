//===- FirstTouch.cpp - Memory that is about to be used -------------------===//
#include "runtime/FirstTouch.h"

#include "runtime/Policy.h"

#include <cassert>
#include <sched.h>
#include <unistd.h>

namespace nnv12::runtime {

bool FirstTouch::create(size_t ranges) {
  page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  assert(page && (page & (page - 1)) == 0);
  return table.allocate(ranges);
}

/// A page that is fresh reads as 0. Whoever writes there at the same time wins:
/// an exchange is one access, and what it stores is what it found.
static void touch(uintptr_t address) {
  uint8_t expected = 0;
  __atomic_compare_exchange_n(
      reinterpret_cast<uint8_t *>(address), &expected, 0,
      /*weak=*/false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void FirstTouch::add(void *data, size_t size) {
  auto begin = reinterpret_cast<uintptr_t>(data);
  // What shares a page with others is left to whoever comes first.
  uintptr_t first = (begin + page - 1) & ~(page - 1),
            end = (begin + size) & ~(page - 1);
  uint32_t index = count.load(std::memory_order_relaxed);
  if (index == table.size() || first >= end)
    return;
  table[index].begin = first;
  table[index].end = end;
  table[index].next.store(first, std::memory_order_relaxed);
  count.store(index + 1, std::memory_order_release);
}

/// The next piece of a range ends where a huge page does. False where none is
/// left.
bool FirstTouch::touchNext(Range &range) {
  uintptr_t begin = range.next.load(std::memory_order_relaxed), end;
  do {
    if (begin >= range.end)
      return false;
    end = (begin + hugePageSize) & ~(hugePageSize - 1);
    if (end > range.end)
      end = range.end;
  } while (
      !range.next.compare_exchange_weak(begin, end, std::memory_order_relaxed));
  assert(begin % page == 0 && begin >= range.begin && begin < end &&
         end <= range.end);
  // One by one: a call that asks for all (MADV_POPULATE_WRITE) holds a lock
  // that other threads' starts and allocations wait for.
  for (uintptr_t address = begin; address < end; address += page)
    touch(address);
  return true;
}

bool FirstTouch::touchNext() {
  // Announce first, look then: close() shuts first, and waits for whom it sees
  // then.
  touching.fetch_add(1);
  bool touched = false;
  uint32_t ranges = count.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < ranges && !touched && !closed.load(); ++i)
    touched = touchNext(table[i]);
  touching.fetch_sub(1);
  return touched;
}

/// Waits for one piece of each thread that is at it, which is the pages of a
/// huge page at most, and for nobody who comes later. Yields, as such a thread
/// may have no CPU.
void FirstTouch::close() {
  closed.store(true);
  while (touching.load())
    sched_yield();
}

} // namespace nnv12::runtime
