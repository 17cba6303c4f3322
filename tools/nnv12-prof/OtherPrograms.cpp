//===- OtherPrograms.cpp - What other programs take of the CPUs -----------===//
#include "tools/nnv12-prof/OtherPrograms.h"

#include "tools/common/Clock.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace nnv12::prof {

/// Of fewer ticks nothing can be said.
static constexpr double leastTicks = 20;

double busyTime(const std::string &stat, double ticks) {
  std::istringstream line(stat);
  std::string name;
  // Guests are in user and nice already.
  double user, nice, system, idle, wait, interrupts, soft, stolen;
  if (!(line >> name >> user >> nice >> system >> idle >> wait >> interrupts >>
        soft >> stolen) ||
      name != "cpu")
    return -1;
  return (user + nice + system + interrupts + soft + stolen) / ticks * 1e9;
}

static double ticksPerSecond() { return double(sysconf(_SC_CLK_TCK)); }

static double readBusyTime() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  return busyTime(line, ticksPerSecond());
}

static double ownTime() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e9 + double(time.tv_nsec);
}

OtherPrograms::OtherPrograms()
    : busy(readBusyTime()), own(ownTime()),
      start(double(tools::nanoseconds())) {}

double OtherPrograms::cpuTime() const {
  double passed = double(tools::nanoseconds()) - start;
  double now = readBusyTime();
  if (busy < 0 || now < 0 || passed * 1e-9 * ticksPerSecond() < leastTicks)
    return -1;
  return std::max(0.0, now - busy - (ownTime() - own));
}

} // namespace nnv12::prof
