//===- Cpus.cpp - Which CPUs there are ------------------------------------===//
#include "runtime/system/Cpus.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <unistd.h>

namespace nnv12::runtime {

/// Reads a small file of the system, as a string. False where there is none.
static bool readText(const char *path, char *text, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  ssize_t found = read(file, text, size - 1);
  close(file);
  text[found > 0 ? found : 0] = 0;
  return found > 0;
}

/// The time that control groups of version 2 give this process, in CPUs,
/// rounded up: the least of its own group and those around it (cpu.max has
/// microseconds of a period, or "max"). ~0 where nothing is said.
static uint32_t readGrant() {
  char groups[512], path[600], limit[64];
  uint32_t least = ~0u;
  if (!readText("/proc/self/cgroup", groups, sizeof groups))
    return least;
  // "0::/a/b"; lines of version 1 come before it.
  char *group = strstr(groups, "0::/");
  if (!group || (group != groups && group[-1] != '\n'))
    return least;
  group += 3;
  group[strcspn(group, "\n")] = 0;
  for (;;) {
    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    char *next;
    if (readText(path, limit, sizeof limit)) {
      long quota = strtol(limit, &next, 10), period = strtol(next, nullptr, 10);
      if (quota > 0 && period > 0)
        least = std::min(least, uint32_t((quota + period - 1) / period));
    }
    char *parent = strrchr(group, '/');
    if (!parent)
      return least;
    *parent = 0;
  }
}

/// What has been read, and 1 more; 0: nothing yet. Of CPUs with small numbers.
static std::atomic<uint32_t> knownGrant{0};
static std::atomic<uint16_t> knownCapacities[64];

uint32_t availableCpus() {
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  if (n <= 1)
    return 1;
  uint32_t known = knownGrant.load(std::memory_order_relaxed),
           granted = known ? known - 1 : readGrant();
  return std::min(static_cast<uint32_t>(n), granted);
}

void askForCpus() {
  uint32_t most = ~0u - 1; // so that there is one more
  knownGrant.store(std::min(readGrant(), most) + 1, std::memory_order_relaxed);
  Cpus().find();
}

void CpuMask::add(int cpu) {
  CPU_SET(static_cast<unsigned>(cpu), &set);
  known = true;
}

/// How fast a CPU is, of 1024, where the system knows; else 0. Linux knows on
/// machines whose cores differ.
static long capacityOf(int cpu) {
  bool isKept = cpu < static_cast<int>(std::size(knownCapacities));
  if (uint16_t known =
          isKept ? knownCapacities[cpu].load(std::memory_order_relaxed) : 0)
    return known - 1;
  char path[64], text[16];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpu_capacity",
           cpu);
  long capacity =
      readText(path, text, sizeof text) ? strtol(text, nullptr, 10) : 0;
  capacity = std::clamp(capacity, 0l, 1024l);
  if (isKept)
    knownCapacities[cpu].store(static_cast<uint16_t>(capacity + 1),
                               std::memory_order_relaxed);
  return capacity;
}

void Cpus::find() {
  mask.get();
  if (!mask.isKnown())
    return;
  caller = sched_getcpu();
  long capacities[mostCpus], most = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && count < mostCpus; ++cpu)
    if (CPU_ISSET(cpu, &mask.cpus())) {
      // Where the first has no capacity, none has.
      capacities[count] = count && !most ? 0 : capacityOf(cpu);
      most = std::max(most, capacities[count]);
      all[count++] = static_cast<int16_t>(cpu);
    }
  for (uint32_t i = 0; i < count; ++i)
    numFast += isFast[i] = capacities[i] * 10 >= most * 6;
}

bool Cpus::matches(Kind kind, uint32_t i) const {
  return kind == Any || !differ() || isFast[i] == (kind == Fast);
}

int Cpus::at(Kind kind, uint32_t n) const {
  uint32_t matching = 0;
  for (uint32_t i = 0; i < count; ++i)
    matching += matches(kind, i);
  if (matching == 0)
    return -1;
  n %= matching;
  for (uint32_t i = 0; i < count; ++i)
    if (matches(kind, i) && n-- == 0)
      return all[i];
  return -1;
}

CpuMask Cpus::part(Kind kind, uint32_t index, uint32_t parts) const {
  CpuMask result;
  auto isOther = [&](uint32_t i) {
    return matches(kind, i) && all[i] != caller;
  };
  uint32_t others = 0, n = 0;
  for (uint32_t i = 0; i < count; ++i)
    others += isOther(i);
  if (caller < 0 || others < parts)
    return result;
  uint32_t first = others * index / parts, end = others * (index + 1) / parts;
  for (uint32_t i = 0; i < count; ++i)
    if (isOther(i)) {
      if (n >= first && n < end)
        result.add(all[i]);
      ++n;
    }
  return result;
}

} // namespace nnv12::runtime
