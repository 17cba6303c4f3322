//===- Machine.cpp - The best rates of this machine -----------------------===//
#include "tools/nnv12-prof/Machine.h"

#include "tools/common/Clock.h"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <numeric>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace nnv12::prof {

namespace {

// So many chains hide the latency of an operation.
constexpr unsigned chains = 12;

typedef float Vector4 __attribute__((vector_size(16)));
typedef float Vector8 __attribute__((vector_size(32)));
typedef float Vector16 __attribute__((vector_size(64)));

/// Multiplies and adds in `chains` vectors, again and again.
template <typename Vector> inline float multiplyAdd(uint64_t rounds) {
  Vector sums[chains], factor = {}, addend = {};
  // Small enough that nothing ever becomes infinite, and unknown to the
  // compiler, as is that all chains are alike.
  factor += float(rounds & 1) * 0.5f;
  addend += 1.0f;
  float first = 0;
  for (Vector &sum : sums) {
    sum = Vector{} + first;
    first += float(rounds & 1);
  }
  for (uint64_t i = 0; i < rounds; ++i)
#pragma GCC unroll 12
    for (Vector &sum : sums)
      sum = sum * factor + addend;
  Vector all = {};
  for (Vector &sum : sums)
    all += sum;
  return all[0];
}

/// How many floats a vector of the target has, and a loop over them.
struct Loop {
  const char *target;
  unsigned floats;
  float (*run)(uint64_t rounds);
};

#if defined(__x86_64__)
__attribute__((target("avx512f,fma"), flatten)) float runV4(uint64_t rounds) {
  return multiplyAdd<Vector16>(rounds);
}
__attribute__((target("avx2,fma"), flatten)) float runV3(uint64_t rounds) {
  return multiplyAdd<Vector8>(rounds);
}
#endif
__attribute__((flatten)) float runBase(uint64_t rounds) {
  return multiplyAdd<Vector4>(rounds);
}

constexpr Loop loops[] = {
#if defined(__x86_64__)
    {"x86-64-v4", 16, runV4},
    {"x86-64-v3", 8, runV3},
#endif
    {"", 4, runBase}};

} // namespace

static double seconds(double from) {
  return double(tools::nanoseconds()) * 1e-9 - from;
}

/// Runs `work`, which returns how much it did, on so many threads at once,
/// again and again for that long; returns the sum of all threads a nanosecond.
static double rateOf(unsigned threads, double duration,
                     const std::function<double(unsigned thread)> &work) {
  std::atomic<unsigned> ready{0};
  std::vector<double> rates(threads);
  auto body = [&](unsigned thread) {
    work(thread); // pages and caches
    ++ready;
    while (ready < threads)
      sched_yield();
    double done = 0, start = seconds(0), time = 0;
    do
      done += work(thread);
    while ((time = seconds(start)) < duration);
    rates[thread] = done / time * 1e-9;
  };
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back(body, i);
  body(0);
  for (std::thread &other : others)
    other.join();
  return std::accumulate(rates.begin(), rates.end(), 0.0);
}

/// Keeps results that nobody reads, so that the compiler keeps their computing;
/// each thread has its own.
static thread_local volatile float sink;

static double measureMultiplyAdds(const std::string &target, unsigned threads) {
  const Loop *loop = loops;
  while (*loop->target && target.find(loop->target) != 0)
    ++loop;
  double best = 0;
  for (int i = 0; i < 3; ++i)
    best = std::max(best, rateOf(threads, 0.02, [&](unsigned) {
                      constexpr uint64_t rounds = 20'001;
                      sink = loop->run(rounds);
                      return double(rounds) * chains * loop->floats;
                    }));
  return best;
}

/// A cache line at a time: two loads of 32 bytes or four of 16 are as fast as
/// caches are.
static double readAll(const uint8_t *bytes, size_t size) {
  typedef uint64_t Vector __attribute__((vector_size(16)));
  Vector a = {}, b = {}, c = {}, d = {};
  auto *from = reinterpret_cast<const Vector *>(bytes);
  for (size_t i = 0; i + 4 <= size / sizeof(Vector); i += 4) {
    a ^= from[i];
    b ^= from[i + 1];
    c ^= from[i + 2];
    d ^= from[i + 3];
  }
  sink = float(((a ^ b) ^ (c ^ d))[0] & 1);
  return double(size);
}

static std::vector<Machine::Memory> measureMemory(unsigned threads) {
  std::vector<Machine::Memory> found;
  constexpr size_t most = size_t(64) << 20;
  using Bytes = std::unique_ptr<uint8_t, decltype(&free)>;
  size_t share = (most / threads + 255) & ~size_t(255);
  std::vector<Bytes> parts;
  for (unsigned i = 0; i < threads; ++i) {
    parts.emplace_back(static_cast<uint8_t *>(aligned_alloc(256, share)), free);
    if (!parts.back())
      return {};
    std::fill_n(parts.back().get(), share, uint8_t(i));
  }
  for (size_t bytes : {most >> 9, most >> 6, most >> 3, most}) {
    size_t size = (bytes / threads + 255) & ~size_t(255);
    found.push_back({double(bytes), rateOf(threads, 0.015, [&](unsigned i) {
                       return readAll(parts[i].get(), size);
                     })});
  }
  return found;
}

static double measureFault() {
  size_t page = size_t(sysconf(_SC_PAGESIZE)), count = 512;
  void *memory = mmap(nullptr, page * count, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return 0;
  madvise(memory, page * count, MADV_NOHUGEPAGE);
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    double start = seconds(0);
    for (size_t j = 0; j < count; ++j)
      static_cast<volatile uint8_t *>(memory)[j * page] = 1;
    double each = seconds(start) * 1e9 / double(count);
    best = i == 0 ? each : std::min(best, each);
    madvise(memory, page * count, MADV_DONTNEED);
  }
  munmap(memory, page * count);
  return best;
}

/// A number of the system about a CPU, or 0.
static double cpuFact(int cpu, const char *name) {
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/" +
                     name);
  double value = 0;
  return file >> value ? value : 0;
}

/// The system's numbers include CPUs that this process may not use.
static double speedOfCpus() {
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) != 0)
    return 1;
  for (const char *fact : {"cpu_capacity", "cpufreq/cpuinfo_max_freq"}) {
    double best = 0, sum = 0;
    int count = 0;
    for (int cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); ++cpu) {
      double value = cpuFact(cpu, fact);
      best = std::max(best, value);
      if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &mine) && value > 0) {
        sum += value;
        ++count;
      }
    }
    if (count)
      return sum / count / best;
  }
  return 1;
}

double Machine::memoryRate(double bytes) const {
  if (memory.empty())
    return 0;
  for (const Memory &level : memory)
    if (bytes <= level.bytes)
      return level.rate;
  return memory.back().rate;
}

Machine measureMachine(const std::string &target, unsigned threads) {
  Machine machine;
  machine.multiplyAdds = measureMultiplyAdds(target, threads);
  machine.memory = measureMemory(threads);
  machine.faultNs = measureFault();
  machine.speed = speedOfCpus();
  return machine;
}

} // namespace nnv12::prof
