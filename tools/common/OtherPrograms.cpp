//===- OtherPrograms.cpp - The CPU time of other programs -----------------===//
#include "tools/common/OtherPrograms.h"

#include "tools/common/Clock.h"
#include "tools/common/TextFormat.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <unistd.h>

namespace nnv12::tools {

/// Fewer ticks tell nothing.
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

static double nanosecondsOf(const timeval &time) {
  return double(time.tv_sec) * 1e9 + double(time.tv_usec) * 1e3;
}

static double ownTime() {
  rusage children = {};
  getrusage(RUSAGE_CHILDREN, &children);
  return double(nanoseconds(CLOCK_PROCESS_CPUTIME_ID)) +
         nanosecondsOf(children.ru_utime) + nanosecondsOf(children.ru_stime);
}

OtherPrograms::OtherPrograms()
    : busy_(readBusyTime()), own_(ownTime()), start_(double(nanoseconds())) {}

double OtherPrograms::passed() const { return double(nanoseconds()) - start_; }

double OtherPrograms::cpuTime() const {
  double now = readBusyTime();
  if (busy_ < 0 || now < 0 || passed() * 1e-9 * ticksPerSecond() < leastTicks)
    return -1;
  return std::max(0.0, now - busy_ - (ownTime() - own_));
}

double OtherPrograms::cpus() const {
  double time = cpuTime();
  return time < 0 ? time : time / passed();
}

std::string busyText(double cpus, unsigned total) {
  /// A system that is idle does as much for itself.
  static constexpr double little = 0.1;
  return cpus < little
             ? ""
             : format("the machine was busy: other programs took %.1f of %u "
                      "CPUs, so that times are longer",
                      cpus, total);
}

} // namespace nnv12::tools
