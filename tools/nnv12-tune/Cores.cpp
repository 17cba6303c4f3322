//===- Cores.cpp - Big and little cores of this machine -------------------===//
#include "tools/nnv12-tune/Cores.h"

#include <algorithm>
#include <cassert>
#include <fstream>
#include <sched.h>

namespace nnv12::tune {

/// One number a CPU; empty where a file is missing or holds no positive number.
static std::vector<double> readNumbers(const std::vector<unsigned> &cpus,
                                       const std::string &folder,
                                       const char *name) {
  std::vector<double> numbers;
  for (unsigned cpu : cpus) {
    std::ifstream file(folder + "/cpu" + std::to_string(cpu) + "/" + name);
    double number = 0;
    if (!(file >> number) || !(number > 0))
      return {};
    numbers.push_back(number);
  }
  return numbers;
}

Cores sortCores(const std::vector<unsigned> &cpus, const std::string &folder) {
  assert(!cpus.empty() && "this process runs somewhere");
  double part = 0.6;
  std::vector<double> speeds = readNumbers(cpus, folder, "cpu_capacity");
  if (speeds.empty()) {
    part = 0.75;
    speeds = readNumbers(cpus, folder, "cpufreq/cpuinfo_max_freq");
  }
  if (speeds.empty())
    return {cpus, {}};
  double limit = part * *std::max_element(speeds.begin(), speeds.end());
  Cores cores;
  for (size_t i = 0; i < cpus.size(); ++i)
    (speeds[i] < limit ? cores.little : cores.big).push_back(cpus[i]);
  return cores;
}

std::vector<unsigned> usableCpus() {
  runtime::CpuMask mask;
  mask.get();
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE && mask.isKnown(); ++cpu)
    if (CPU_ISSET(cpu, &mask.cpus()))
      cpus.push_back(cpu);
  if (cpus.empty())
    cpus.push_back(0);
  return cpus;
}

std::string coreName(unsigned cpu) {
  std::ifstream file("/proc/cpuinfo");
  std::string line, implementer;
  bool here = false;
  while (std::getline(file, line)) {
    size_t colon = line.find(':');
    if (colon == std::string::npos || colon + 2 > line.size())
      continue;
    std::string value = line.substr(colon + 2);
    if (line.compare(0, 9, "processor") == 0)
      here = value == std::to_string(cpu);
    else if (here && line.compare(0, 10, "model name") == 0)
      return value;
    else if (here && line.compare(0, 15, "CPU implementer") == 0)
      implementer = value;
    else if (here && line.compare(0, 8, "CPU part") == 0)
      return implementer + "/" + value;
  }
  return "unknown CPU";
}

OnCores::OnCores(const std::vector<unsigned> &cpus) {
  before.get();
  runtime::CpuMask now;
  for (unsigned cpu : cpus)
    now.add(static_cast<int>(cpu));
  now.apply();
}

OnCores::~OnCores() { before.apply(); }

} // namespace nnv12::tune
