//===- Cpus.cpp - Which CPUs there are ------------------------------------===//
#include "runtime/Cpus.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

namespace nnv12::runtime {

uint32_t availableCpus() {
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return n < 1 ? 1 : static_cast<uint32_t>(n);
}

/// How fast a CPU is, of 1024, where the system knows; else 0. Linux knows on
/// machines whose cores differ.
static long capacityOf(int cpu) {
  char path[64];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpu_capacity",
           cpu);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return 0;
  char text[16];
  ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  text[size > 0 ? size : 0] = 0;
  return strtol(text, nullptr, 10);
}

void Cpus::find() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0)
    return;
  long capacities[mostCpus], most = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && count < mostCpus; ++cpu)
    if (CPU_ISSET(cpu, &set)) {
      // Where the first has no capacity, none has.
      capacities[count] = count && !most ? 0 : capacityOf(cpu);
      most = capacities[count] > most ? capacities[count] : most;
      all[count++] = static_cast<int16_t>(cpu);
    }
  for (uint32_t i = 0; i < count; ++i)
    numFast += isFast[i] = capacities[i] * 10 >= most * 6;
}

int Cpus::at(Kind kind, uint32_t n) const {
  if (numFast == count)
    kind = Any;
  uint32_t matching = kind == Any    ? count
                      : kind == Fast ? numFast
                                     : count - numFast;
  if (matching == 0)
    return -1;
  n %= matching;
  for (uint32_t i = 0; i < count; ++i)
    if ((kind == Any || isFast[i] == (kind == Fast)) && n-- == 0)
      return all[i];
  return -1;
}

void pinTo(int cpu) {
  if (cpu < 0)
    return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

} // namespace nnv12::runtime
