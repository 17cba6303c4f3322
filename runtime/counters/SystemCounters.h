//===- SystemCounters.h - The system's counters of threads ------*- C++ -*-===//
//
// The thread's clock counts time on CPUs. Linux's statistics of its scheduling
// count the time without one, and how often a thread got one; they are exact
// after a switch, where that matters. A group of performance events for each
// thread counts faults and migrations, and one system call reads it. A second
// group holds the processor's counters, since it may have to share those with
// others. Where the system refuses events, getrusage gives a part of the
// numbers. (There is an event for time on CPUs; as the first of a group it
// keeps the others from counting with some kernels.)
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_COUNTERS_SYSTEMCOUNTERS_H
#define NNV12_RUNTIME_COUNTERS_SYSTEMCOUNTERS_H

#include "runtime/include/nnv12_counters.h"

#include <atomic>
#include <linux/perf_event.h>
#include <pthread.h>
#include <time.h>

namespace nnv12::runtime {

class SystemCounters {
public:
  /// Opens an event of the calling thread in the group of the file `group`, or
  /// -1. A file, or -1 and errno.
  using Open = int (*)(perf_event_attr &event, int group);

  /// Tests have another way to open than the system's.
  explicit SystemCounters(unsigned wanted, Open open = openEvent);
  ~SystemCounters();

  /// False where the calling thread has that number already.
  bool attach(uint32_t number);
  uint32_t read(uint32_t number, uint64_t *values);

  const nnv12_counter_source &source() const { return functions_; }
  const char *state() const { return stateText_; }

private:
  static constexpr uint32_t maxThreads = 256;

  /// Events that are read with one call.
  struct Group {
    int files[4] = {-1, -1, -1, -1};
    uint8_t counters[4]; ///< nnv12_counter of each
    uint32_t size = 0;

    void close();
    uint32_t read(uint64_t *values) const;
  };

  struct Thread {
    /// Set last.
    std::atomic<bool> isAttached{false};
    uint64_t serial = 0; ///< of the system's thread, never used twice
    Group software, hardware;
    clockid_t clock = 0; ///< of its time on CPUs
    int schedule = -1;   ///< the file that says when it had none
    uint64_t firstFaults = 0;
    uint64_t last[NNV12_NUM_COUNTERS]; ///< that were read
    uint32_t lastKnown = 0;            ///< which of them; 0: none yet

    void close();
  };

  /// Why the last event of a kind that was refused was: errno, or 0.
  struct Refusals {
    int software = 0, hardware = 0;
  };

  static int openEvent(perf_event_attr &event, int group);
  int add(Group &group, uint32_t type, uint64_t config, nnv12_counter counter);
  /// Opens the groups of the calling thread; threads of a session do so at
  /// once.
  Refusals openGroups(Thread &thread);
  void describe(const Thread &thread, Refusals refusals);

  unsigned wanted_;
  Open open_;
  nnv12_counter_source functions_ = {};
  char stateText_[256] = "";
  Thread threads_[maxThreads];
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_COUNTERS_SYSTEMCOUNTERS_H
