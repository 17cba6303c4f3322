//===- SystemCounters.cpp - The system's counters of threads --------------===//
#include "runtime/counters/SystemCounters.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <new>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nnv12::runtime {

namespace {

struct Event {
  nnv12_counter counter;
  uint64_t config;
};

} // namespace

static constexpr Event softwareEvents[] = {
    {NNV12_COUNTER_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS},
    {NNV12_COUNTER_MIGRATIONS, PERF_COUNT_SW_CPU_MIGRATIONS}};

/// The last one takes the place of the one before it where that is not there.
static constexpr Event hardwareEvents[] = {
    {NNV12_COUNTER_CYCLES, PERF_COUNT_HW_CPU_CYCLES},
    {NNV12_COUNTER_INSTRUCTIONS, PERF_COUNT_HW_INSTRUCTIONS},
    {NNV12_COUNTER_CACHE_MISSES, PERF_COUNT_HW_CACHE_MISSES},
    {NNV12_COUNTER_BRANCH_MISSES, PERF_COUNT_HW_BRANCH_MISSES},
    {NNV12_COUNTER_STALLED_CYCLES, PERF_COUNT_HW_STALLED_CYCLES_BACKEND}};

/// Numbers of threads that the system uses again are no good for it.
static uint64_t serialOfThread() {
  static std::atomic<uint64_t> last{0};
  static thread_local uint64_t mine = 0;
  if (!mine)
    mine = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return mine;
}

static uint64_t faultsOf(const rusage &usage) {
  return uint64_t(usage.ru_minflt) + uint64_t(usage.ru_majflt);
}

int SystemCounters::openEvent(perf_event_attr &event, int group) {
  return static_cast<int>(syscall(SYS_perf_event_open, &event, /*pid=*/0,
                                  /*cpu=*/-1, group, PERF_FLAG_FD_CLOEXEC));
}

void SystemCounters::Group::close() {
  // Closes members first: their values are read by the group's leader.
  while (size)
    ::close(files[--size]);
}

void SystemCounters::Thread::close() {
  software.close();
  hardware.close();
  if (schedule >= 0)
    ::close(schedule);
  schedule = -1;
}

uint32_t SystemCounters::Group::read(uint64_t *values) const {
  struct {
    uint64_t count, enabled, running, values[4];
  } found;
  if (!size || ::read(files[0], &found, sizeof found) < 0 ||
      found.count != size || found.running == 0)
    return 0;
  // Scales counts of events that had to share the processor's counters with
  // others.
  double scale = found.running < found.enabled
                     ? double(found.enabled) / double(found.running)
                     : 1;
  uint32_t known = 0;
  for (uint32_t i = 0; i < size; ++i) {
    values[counters[i]] =
        scale == 1 ? found.values[i]
                   : static_cast<uint64_t>(double(found.values[i]) * scale);
    known |= 1u << counters[i];
  }
  return known;
}

/// 0, or why it is not counted.
int SystemCounters::add(Group &group, uint32_t type, uint64_t config,
                        nnv12_counter counter) {
  perf_event_attr event = {};
  event.size = sizeof event;
  event.type = type;
  event.config = config;
  event.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                      PERF_FORMAT_TOTAL_TIME_RUNNING;
  event.exclude_hv = 1;
  // Users compare the processor's counts with kernels' work.
  event.exclude_kernel = type == PERF_TYPE_HARDWARE;
  int leader = group.size ? group.files[0] : -1;
  int file = open_(event, leader);
  // Many systems let programs look at themselves alone. Migrations happen in
  // the kernel: that event would count nothing.
  if (file < 0 && !event.exclude_kernel &&
      counter != NNV12_COUNTER_MIGRATIONS) {
    event.exclude_kernel = 1;
    file = open_(event, leader);
  }
  if (file < 0)
    return errno;
  group.files[group.size] = file;
  group.counters[group.size++] = static_cast<uint8_t>(counter);
  return 0;
}

SystemCounters::Refusals SystemCounters::openGroups(Thread &thread) {
  Refusals refusals;
  for (const Event &event : softwareEvents)
    if (int error = add(thread.software, PERF_TYPE_SOFTWARE, event.config,
                        event.counter))
      refusals.software = error;
  if (!(wanted_ & NNV12_COUNT_HARDWARE))
    return refusals;
  for (const Event &event : hardwareEvents) {
    if (thread.hardware.size == std::size(thread.hardware.files))
      break;
    if (int error = add(thread.hardware, PERF_TYPE_HARDWARE, event.config,
                        event.counter))
      refusals.hardware = error;
  }
  return refusals;
}

SystemCounters::SystemCounters(unsigned wanted, Open open)
    : wanted_(wanted), open_(open) {
  functions_.struct_size = sizeof functions_;
  functions_.context = this;
  functions_.attach = [](void *context, uint32_t thread) {
    return int(static_cast<SystemCounters *>(context)->attach(thread));
  };
  functions_.read = [](void *context, uint32_t thread, uint64_t *values) {
    return static_cast<SystemCounters *>(context)->read(thread, values);
  };
  // The system treats all threads alike, so one probe suffices.
  Thread probe;
  describe(probe, openGroups(probe));
  probe.close();
}

SystemCounters::~SystemCounters() {
  for (Thread &thread : threads_)
    thread.close();
}

static void explain(int error, char *text, size_t size) {
  FILE *file = error == EACCES || error == EPERM
                   ? fopen("/proc/sys/kernel/perf_event_paranoid", "re")
                   : nullptr;
  int paranoid;
  if (file && fscanf(file, "%d", &paranoid) == 1)
    snprintf(text, size, "not permitted: perf_event_paranoid is %d", paranoid);
  else if (error == ENOENT || error == EOPNOTSUPP)
    snprintf(text, size, "there are none, as in many virtual machines");
  else
    snprintf(text, size, "%s", strerror(error));
  if (file)
    fclose(file);
}

void SystemCounters::describe(const Thread &thread, Refusals refusals) {
  char why[100];
  int length = 0;
  if (refusals.software) {
    explain(refusals.software, why, sizeof why);
    length = snprintf(stateText_, sizeof stateText_,
                      thread.software.size
                          ? "migrations are not counted: %s"
                          : "page faults are counted of the thread that calls "
                            "run alone, migrations not: %s",
                      why);
  }
  if (refusals.hardware && thread.hardware.size == 0) {
    explain(refusals.hardware, why, sizeof why);
    snprintf(stateText_ + length, sizeof stateText_ - size_t(length),
             "%sthe processor's counters are not read: %s", length ? "; " : "",
             why);
  }
}

bool SystemCounters::attach(uint32_t number) {
  if (number >= maxThreads)
    return false;
  Thread &thread = threads_[number];
  uint64_t serial = serialOfThread();
  if (thread.isAttached.load(std::memory_order_relaxed)) {
    if (thread.serial == serial)
      return false;
    thread.isAttached.store(false, std::memory_order_relaxed);
    thread.close();
  }
  thread.serial = serial;
  thread.lastKnown = 0;
  openGroups(thread);
  if (pthread_getcpuclockid(pthread_self(), &thread.clock))
    thread.clock = CLOCK_THREAD_CPUTIME_ID;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat",
           syscall(SYS_gettid));
  thread.schedule = ::open(path, O_RDONLY | O_CLOEXEC);
  rusage usage;
  if (number == 0 && getrusage(RUSAGE_THREAD, &usage) == 0)
    thread.firstFaults = faultsOf(usage);
  thread.isAttached.store(true, std::memory_order_release);
  return true;
}

/// The second and the third of three numbers.
static bool parseSchedule(const char *text, uint64_t &wait, uint64_t &slices) {
  char *end;
  strtoull(text, &end, 10);
  const char *second = end;
  wait = strtoull(second, &end, 10);
  const char *third = end;
  slices = strtoull(third, &end, 10);
  return end != third;
}

uint32_t SystemCounters::read(uint32_t number, uint64_t *values) {
  if (number >= maxThreads ||
      !threads_[number].isAttached.load(std::memory_order_acquire))
    return 0;
  Thread &thread = threads_[number];
  uint32_t known = 0;
  timespec time;
  if (clock_gettime(thread.clock, &time) == 0) {
    values[NNV12_COUNTER_CPU_TIME] =
        uint64_t(time.tv_sec) * 1'000'000'000 + uint64_t(time.tv_nsec);
    known |= 1u << NNV12_COUNTER_CPU_TIME;
    // A thread that had no CPU since has done nothing that could be counted,
    // and asking costs microseconds.
    if (thread.lastKnown &&
        thread.last[NNV12_COUNTER_CPU_TIME] == values[NNV12_COUNTER_CPU_TIME]) {
      std::copy_n(thread.last, size_t(NNV12_NUM_COUNTERS), values);
      return thread.lastKnown;
    }
  }
  known |= thread.software.read(values) | thread.hardware.read(values);
  char text[96];
  ssize_t length = thread.schedule < 0
                       ? -1
                       : pread(thread.schedule, text, sizeof text - 1, 0);
  if (length > 0 &&
      (text[length] = 0, parseSchedule(text, values[NNV12_COUNTER_CPU_WAIT],
                                       values[NNV12_COUNTER_CONTEXT_SWITCHES])))
    known |=
        1u << NNV12_COUNTER_CPU_WAIT | 1u << NNV12_COUNTER_CONTEXT_SWITCHES;
  // The system tells them of the calling thread alone, which is number 0.
  rusage usage;
  if (number == 0 && !(known & 1u << NNV12_COUNTER_PAGE_FAULTS) &&
      getrusage(RUSAGE_THREAD, &usage) == 0) {
    values[NNV12_COUNTER_PAGE_FAULTS] = faultsOf(usage) - thread.firstFaults;
    known |= 1u << NNV12_COUNTER_PAGE_FAULTS;
  }
  std::copy_n(values, size_t(NNV12_NUM_COUNTERS), thread.last);
  thread.lastKnown = known;
  return known;
}

} // namespace nnv12::runtime

using nnv12::runtime::SystemCounters;

struct nnv12_counters : SystemCounters {
  using SystemCounters::SystemCounters;
};

nnv12_counters *nnv12_counters_create(unsigned wanted) {
  void *memory = malloc(sizeof(nnv12_counters));
  return memory ? new (memory) nnv12_counters(wanted) : nullptr;
}

void nnv12_counters_close(nnv12_counters *counters) {
  if (counters)
    counters->~nnv12_counters();
  free(counters);
}

const nnv12_counter_source *
nnv12_counters_source(const nnv12_counters *counters) {
  return &counters->source();
}

const char *nnv12_counters_state(const nnv12_counters *counters) {
  return counters->state();
}

const char *nnv12_counter_name(uint32_t counter) {
  static constexpr const char *names[] = {
      "CPU time",      "wait for a CPU", "page faults",  "context switches",
      "migrations",    "cycles",         "instructions", "cache misses",
      "branch misses", "stalled cycles"};
  static_assert(std::size(names) == NNV12_NUM_COUNTERS);
  return counter < std::size(names) ? names[counter] : "other";
}
