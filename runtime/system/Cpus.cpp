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

/// The CPUs that one control group grants. cpu.max of version 2 holds quota and
/// period in microseconds; version 1 has a file for each. "max" and -1: all.
static uint32_t grantOf(const char *folder, bool isVersion1) {
  char path[800], text[64], *next = text;
  auto read = [&](const char *file) {
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return readText(path, text, sizeof text);
  };
  if (!read(isVersion1 ? "cpu.cfs_quota_us" : "cpu.max"))
    return ~0u;
  long quota = strtol(text, &next, 10);
  if (quota <= 0)
    return ~0u;
  if (isVersion1 && !read("cpu.cfs_period_us"))
    return ~0u;
  long period = strtol(isVersion1 ? text : next, nullptr, 10);
  if (period <= 0)
    return ~0u;
  return static_cast<uint32_t>(
      std::min((quota - 1) / period + 1, long(CPU_SETSIZE)));
}

/// Whether `word` is one of a list with commas.
static bool hasWord(const char *list, const char *word) {
  for (size_t size; *list; list += size + (list[size] == ',')) {
    size = strcspn(list, ",\n");
    if (size == strlen(word) && strncmp(list, word, size) == 0)
      return true;
    if (list[size] == '\n')
      return false;
  }
  return false;
}

/// Where version 1's groups of the controller `cpu` are mounted, and which one
/// is the topmost that is seen there. False: nowhere.
static bool findMount(const char *root, char (&mount)[256], char (&top)[256]) {
  char path[300];
  snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
  FILE *file = fopen(path, "re");
  if (!file)
    return false;
  // "31 24 0:27 TOP MOUNT rw shared:9 - cgroup cgroup rw,cpu,cpuacct"
  char *line = nullptr;
  size_t capacity = 0;
  bool found = false;
  while (!found && getline(&line, &capacity, file) > 0)
    found = strstr(line, " - cgroup ") &&
            hasWord(strrchr(line, ' ') + 1, "cpu") &&
            sscanf(line, "%*s %*s %*s %255s %255s", top, mount) == 2;
  free(line);
  fclose(file);
  return found;
}

uint32_t grantedCpus(const char *root) {
  char groups[4096], path[300], folder[700];
  uint32_t least = ~0u;
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  if (!readText(path, groups, sizeof groups))
    return least;
  // "4:cpu,cpuacct:/a/b" of version 1, "0::/a/b" of version 2, which comes
  // last. The controller is with one of them.
  for (char *line = groups, *next; line; line = next) {
    if ((next = strchr(line, '\n')))
      *next++ = 0;
    char *list = strchr(line, ':'), *group = list ? strchr(++list, ':') : list;
    if (!group)
      continue;
    *group++ = 0;
    bool isVersion1 = *list;
    if (isVersion1 && !hasWord(list, "cpu"))
      continue;
    if (strcmp(group, "/") == 0)
      *group = 0;
    char mount[256] = "/sys/fs/cgroup", top[256] = "";
    // The list of mounts takes 0.1 ms. Mostly it need not be read.
    if (isVersion1) {
      snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", list);
      snprintf(folder, sizeof folder, "%s%s%s", root, mount, group);
      if (access(folder, F_OK) != 0 && !findMount(root, mount, top))
        continue;
    }
    // A container may see its own group alone, as the topmost.
    size_t hidden = strcmp(top, "/") == 0 ? 0 : strlen(top);
    bool isBelow = strncmp(group, top, hidden) == 0 &&
                   (group[hidden] == '/' || group[hidden] == 0);
    int end = snprintf(folder, sizeof folder, "%s%s", root, mount);
    snprintf(folder + end, sizeof folder - size_t(end), "%s",
             isBelow ? group + hidden : "");
    for (char *parent = folder; parent;) {
      least = std::min(least, grantOf(folder, isVersion1));
      if ((parent = strrchr(folder + end, '/')))
        *parent = 0;
    }
    return least;
  }
  return least;
}

/// The number of CPUs that was read, and 1 more; 0: nothing yet. Capacities are
/// those of CPUs with small numbers.
static std::atomic<uint32_t> knownGrant{0};
static std::atomic<uint16_t> knownCapacities[64];

uint32_t availableCpus() {
  cpu_set_t set;
  int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  if (n <= 1)
    return 1;
  uint32_t known = knownGrant.load(std::memory_order_relaxed),
           granted = known ? known - 1 : grantedCpus();
  return std::min(static_cast<uint32_t>(n), granted);
}

void askForCpus() {
  uint32_t most = ~0u - 1; // so that there is one more
  knownGrant.store(std::min(grantedCpus(), most) + 1,
                   std::memory_order_relaxed);
  Cpus().find();
}

void CpuMask::add(int cpu) {
  CPU_SET(static_cast<unsigned>(cpu), &set_);
  known_ = true;
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
  mask_.get();
  if (!mask_.isKnown())
    return;
  caller_ = sched_getcpu();
  long capacities[mostCpus], most = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE && count_ < mostCpus; ++cpu)
    if (CPU_ISSET(cpu, &mask_.cpus())) {
      // Where the first has no capacity, none has.
      capacities[count_] = count_ && !most ? 0 : capacityOf(cpu);
      most = std::max(most, capacities[count_]);
      all_[count_++] = static_cast<int16_t>(cpu);
    }
  for (uint32_t i = 0; i < count_; ++i)
    numFast_ += isFast_[i] = capacities[i] * 10 >= most * 6;
}

bool Cpus::matches(Kind kind, uint32_t i) const {
  return kind == Any || !differ() || isFast_[i] == (kind == Fast);
}

int Cpus::at(Kind kind, uint32_t n) const {
  uint32_t matching = 0;
  for (uint32_t i = 0; i < count_; ++i)
    matching += matches(kind, i);
  if (matching == 0)
    return -1;
  n %= matching;
  for (uint32_t i = 0; i < count_; ++i)
    if (matches(kind, i) && n-- == 0)
      return all_[i];
  return -1;
}

CpuMask Cpus::part(Kind kind, uint32_t index, uint32_t parts) const {
  CpuMask result;
  auto isOther = [&](uint32_t i) {
    return matches(kind, i) && all_[i] != caller_;
  };
  uint32_t others = 0, n = 0;
  for (uint32_t i = 0; i < count_; ++i)
    others += isOther(i);
  if (caller_ < 0 || others < parts)
    return result;
  uint32_t first = others * index / parts, end = others * (index + 1) / parts;
  for (uint32_t i = 0; i < count_; ++i)
    if (isOther(i)) {
      if (n >= first && n < end)
        result.add(all_[i]);
      ++n;
    }
  return result;
}

} // namespace nnv12::runtime
