//===- Trace.h - What ran when, into memory of the caller -------*- C++ -*-===//
#ifndef NNV12_RUNTIME_TRACE_H
#define NNV12_RUNTIME_TRACE_H

#include "runtime/Threads.h"
#include "runtime/include/nnv12.h"

namespace nnv12::runtime {

/// Writes events into the caller's array, from any thread, without locks.
class Trace {
public:
  /// Whether the caller's struct has all that is needed here.
  static bool knows(const nnv12_trace &trace) {
    return trace.struct_size >= sizeof(nnv12_trace) &&
           trace.event_size >= sizeof(nnv12_trace_event) &&
           trace.event_size % alignof(nnv12_trace_event) == 0;
  }

  void start(nnv12_trace *trace) { target = trace; }
  explicit operator bool() const { return target != nullptr; }
  /// The time, where somebody wants to know it.
  uint64_t time() const { return target ? now() : 0; }

  /// Ends `event`, which has all but its end, and stores it.
  void add(nnv12_trace_event event) const {
    if (!target)
      return;
    event.end_ns = now();
    uint32_t index = __atomic_load_n(&target->count, __ATOMIC_RELAXED);
    do {
      if (index >= target->capacity) {
        __atomic_fetch_add(&target->dropped, 1, __ATOMIC_RELAXED);
        return;
      }
    } while (!__atomic_compare_exchange_n(&target->count, &index, index + 1,
                                          true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
    memcpy(reinterpret_cast<char *>(target->events) +
               index * target->event_size,
           &event, sizeof event);
  }

private:
  nnv12_trace *target = nullptr;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_TRACE_H
