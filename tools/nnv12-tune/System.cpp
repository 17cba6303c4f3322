//===- System.cpp - Storage, memory and codec of this machine -------------===//
#include "tools/nnv12-tune/System.h"

#include "artifact/MappedFile.h"
#include "artifact/RuntimePolicy.h"
#include "runtime/Decoder.h"
#include "runtime/Reader.h"
#include "runtime/system/Threads.h"
#include "tools/common/Clock.h"
#include "tools/common/ColdRun.h"
#include "tools/common/Report.h"
#include "tools/common/Statistics.h"
#include "tools/nnv12-tune/Kernels.h"

#include <cassert>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <optional>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

namespace nnv12::tune {

using tools::fail;
using tools::milliseconds;

static constexpr size_t page = 4096;

/// Where in a bundle weights begin, about: behind metadata and code.
static constexpr size_t weightsBegin = device::usualWeightsOffset;

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

StorageFile::StorageFile(const std::string &folder, size_t size) : size_(size) {
  std::string path = folder + "/nnv12-tune-XXXXXX";
  fd = mkstemp(path.data());
  if (fd < 0)
    fail(folder + ": cannot write there: " + strerror(errno));
  unlink(path.c_str());
  uint64_t state = 88172645463325252u;
  std::vector<uint64_t> words((1u << 20) / 8);
  for (size_t written = 0; written < size;) {
    for (uint64_t &word : words) {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      word = state;
    }
    size_t part = std::min(size - written, words.size() * 8);
    ssize_t done = write(fd, words.data(), part);
    if (done <= 0)
      fail(folder + ": cannot write " + std::to_string(size) +
           " bytes: " + strerror(errno));
    written += static_cast<size_t>(done);
  }
  // Pages that were not written back cannot be evicted.
  if (fsync(fd) != 0)
    fail(folder + ": cannot write " + std::to_string(size) +
         " bytes: " + strerror(errno));
}

StorageFile::~StorageFile() { close(fd); }

double StorageFile::evict() {
  posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  return tools::residency(fd, size_);
}

StorageFile::Arrivals
StorageFile::readAsBundle(const std::vector<size_t> &offsets,
                          double session) const {
  Arrivals result = {};
  artifact::Fault fault;
  artifact::MappedFile file;
  double start = milliseconds();
  if (!file.open(("/proc/self/fd/" + std::to_string(fd)).c_str(), fault,
                 headSize))
    fail(std::string("cannot read a file again: ") + fault.text);
  // See LoadedBundle::makeEarlyMemory.
  std::optional<Memory> early;
  if (file.size() >= headSize)
    early.emplace(hugePageSize).data()[0] = 1;
  runtime::readPages(file.data(), 1);
  runtime::readAhead(file, weightsBegin);
  result.head = milliseconds() - start;
  while (milliseconds() - start < result.head + session)
    continue;
  auto *bytes = const_cast<uint8_t *>(file.data());
  if (file.size() > weightsBegin)
    madvise(bytes + weightsBegin, file.size() - weightsBegin, MADV_HUGEPAGE);
  size_t at = weightsBegin;
  for (size_t offset : offsets) {
    assert(offset >= at && offset <= file.size() && "offsets ascend");
    runtime::readPages(bytes + at, offset - at);
    at = offset;
    result.times.push_back(milliseconds() - start);
  }
  return result;
}

StorageFile::Times StorageFile::populate(size_t offset, size_t size,
                                         bool alone) const {
  assert(offset % page == 0 && offset + size <= size_ && "pages of the file");
  void *mapping = mmap(nullptr, size, PROT_READ, MAP_SHARED, fd,
                       static_cast<off_t>(offset));
  if (mapping == MAP_FAILED)
    fail(std::string("cannot map a file: ") + strerror(errno));
  madvise(mapping, size, alone ? MADV_RANDOM : MADV_HUGEPAGE);
  auto now = [] {
    return Times{milliseconds(), milliseconds(CLOCK_THREAD_CPUTIME_ID)};
  };
  Times start = now();
  runtime::readPages(static_cast<uint8_t *>(mapping), size);
  Times end = now();
  munmap(mapping, size);
  return {end.wall - start.wall, end.core - start.core};
}

/// Checking a bundle and making a session take a core about so long, of which
/// the profile says that it is assumed: here there is no bundle like those that
/// will be opened.
static constexpr double sessionUs = 150, sessionUsPerLayer = 3;

/// Offsets at which arrival is measured: the further, the fewer.
static std::vector<size_t> arrivalOffsets(size_t size) {
  std::vector<size_t> offsets;
  for (size_t at = weightsBegin; at < size;) {
    at += std::max<size_t>(128 << 10, at / 16 & ~(page - 1));
    offsets.push_back(std::min(at, size));
  }
  return offsets;
}

Storage::Storage(const std::string &folder, size_t size)
    : large(folder, size), head(folder, headSize), tiny(folder, headSize / 4),
      offsets(arrivalOffsets(size)), arrivals(offsets.size()) {
  stays = large.evict();
}

void Storage::sample() {
  // Kernels have used and freed memory since the last sample.
  tools::backMemory(large.size());
  stays = std::max(stays, large.evict());
  reads.push_back(large.populate(0, large.size()));

  large.evict();
  double session = (sessionUs + sessionUsPerLayer * device::usualLayers) * 1e-3;
  StorageFile::Arrivals whole = large.readAsBundle(offsets, session);
  heads.push_back(whole.head);
  for (size_t k = 0; k < offsets.size(); ++k)
    arrivals[k].push_back(whole.times[k]);
  head.evict();
  leastHeads.push_back(head.readAsBundle({}, 0).head);
  tiny.evict();
  tinyHeads.push_back(tiny.readAsBundle({}, 0).head);

  large.evict();
  // Single pages, far from each other.
  size_t slots = large.size() / (1u << 20);
  for (size_t i = 0; i < std::min<size_t>(slots, 4); ++i) {
    size_t slot = (latencies.size() * 29 + 7) % slots;
    latencies.push_back(large.populate(slot << 20, page, true).wall * 1e3);
  }
}

void Storage::describe(device::DeviceProfile &profile) const {
  assert(!reads.empty() && "a sample was taken");
  double megabytes = double(large.size()) * 1e-6;
  std::vector<double> waits, cores;
  for (const StorageFile::Times &read : reads) {
    // Where reading costs the core all the time, storage is no limit.
    waits.push_back(std::max(read.wall - read.core, 0.01 * read.wall) /
                    megabytes);
    cores.push_back(read.core / megabytes);
  }
  profile.readMBps = 1e3 / tools::median(waits);
  profile.mapUsPerMB = tools::median(cores) * 1e3;
  if (!profile.little.count)
    profile.mapLittleUsPerMB = profile.mapUsPerMB;
  profile.readLatencyUs = tools::median(latencies);

  double least = tools::median(leastHeads);
  size_t asked = std::min<size_t>(hugePageSize, large.size());
  double early = double(asked - weightsBegin) * 1e-6;
  profile.startUs = least * 1e3;
  profile.tinyStartUs = tools::median(tinyHeads) * 1e3;
  profile.sessionUs = sessionUs;
  profile.startUsPerLayer = sessionUsPerLayer;
  profile.assumed = {"storage.sessionUs", "storage.startUsPerLayer",
                     "memory.preparedMB", "memory.mostPreparedMB",
                     "memory.laterMsPerMB"};
  profile.startUsPerMB =
      std::max(0.0, tools::median(heads) - least) * 1e3 / early;
  // Bytes that come within so long are one piece.
  constexpr double sameUs = 100;
  profile.arrival.clear();
  for (size_t k = 0; k < offsets.size(); ++k) {
    double time = tools::median(arrivals[k]) * 1e3;
    // Which samples were disturbed differs from point to point.
    if (k)
      time = std::max(time, profile.arrival.back().us);
    if (k && time - profile.arrival.back().us < sameUs)
      profile.arrival.pop_back();
    profile.arrival.push_back({double(offsets[k] - weightsBegin) * 1e-6, time});
  }
}

double measureThreadStartUs(unsigned repeat) {
  std::vector<double> samples;
  // Joined in the end: the stack of one that was joined would be used again.
  std::vector<pthread_t> threads;
  for (size_t i = 0; i < 4 * repeat; ++i) {
    // As while a bundle's head is read: other CPUs go to sleep.
    timespec pause = {0, 1000000};
    nanosleep(&pause, nullptr);
    pthread_t thread;
    double start = milliseconds();
    int error;
    {
      runtime::Cpus cpus;
      cpus.find();
      runtime::ThreadStarter starter(runtime::ThreadStarter::Slices::Short);
      error = starter.start(
          thread, [](void *) -> void * { return nullptr; }, nullptr,
          cpus.part(runtime::Cpus::Any, 0, 1));
    }
    if (error)
      break;
    samples.push_back((milliseconds() - start) * 1e3);
    threads.push_back(thread);
  }
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
  return samples.empty() ? 0 : tools::median(samples);
}

double measureMap(StorageFile &file, unsigned repeat) {
  std::vector<double> samples;
  for (unsigned i = 0; i < repeat; ++i) {
    file.evict();
    samples.push_back(file.populate(0, file.size()).core * 1e3 /
                      (double(file.size()) * 1e-6));
  }
  return tools::median(samples);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Memory is measured in pieces that take less time than the system gives a
/// program before it looks whether another one wants to run.
static constexpr size_t piece = hugePageSize;

/// Microseconds for each megabyte of `memory`, which nobody has used: the first
/// write to each of its pages.
static double touch(Memory &memory) {
  assert(memory.size() % piece == 0 && "pieces are whole");
  std::vector<double> times;
  for (size_t offset = 0; offset < memory.size(); offset += piece) {
    double start = milliseconds();
    for (size_t i = 0; i < piece; i += 4096)
      memory.data()[offset + i] = 1;
    times.push_back(milliseconds() - start);
  }
  return tools::median(std::move(times)) * 1e3 / (piece * 1e-6);
}

FirstTouch measureFirstTouch() {
  constexpr size_t size = 64u << 20;
  tools::backMemory(size);
  FirstTouch result;
  {
    Memory memory(size);
    result.usPerMB = touch(memory);
  }
  Memory memory(size / 4, /*huge=*/false);
  // Once before: where few small pages are free the system takes large ones
  // apart first.
  touch(memory);
  madvise(memory.data(), memory.size(), MADV_DONTNEED);
  result.smallUsPerMB = touch(memory);
  return result;
}

double measureMemoryGBps(unsigned repeat) {
  constexpr size_t size = 128u << 20;
  Memory memory(size);
  memset(memory.data(), 1, size);
  std::vector<double> times;
  for (unsigned i = 0; i < repeat; ++i)
    for (size_t offset = 0; offset < size; offset += piece) {
      // Sixteen independent sums, which compilers turn into vectors.
      uint64_t sums[16] = {};
      auto *words = reinterpret_cast<const uint64_t *>(memory.data() + offset);
      double start = milliseconds();
      for (size_t w = 0; w < piece / 8; w += 16)
        for (size_t k = 0; k < 16; ++k)
          sums[k] += words[w + k];
      volatile uint64_t sink = 0;
      for (uint64_t sum : sums)
        sink = sink + sum;
      times.push_back(milliseconds() - start);
    }
  return double(piece) * 1e-6 / tools::median(times);
}

//===----------------------------------------------------------------------===//
// Codec
//===----------------------------------------------------------------------===//

/// Compresses as nnv12c does; empty without libzstd, which a device need not
/// have. The runtime loads its functions in the same way.
static std::vector<uint8_t> compress(const std::vector<uint8_t> &bytes) {
  size_t (*bound)(size_t);
  size_t (*compressInto)(void *, size_t, const void *, size_t, int);
  void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
  auto find = [&](const char *name, auto &function) {
    void *address = library ? dlsym(library, name) : nullptr;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(address);
    return address != nullptr;
  };
  std::vector<uint8_t> frame;
  if (find("ZSTD_compressBound", bound) &&
      find("ZSTD_compress", compressInto)) {
    frame.resize(bound(bytes.size()));
    frame.resize(compressInto(frame.data(), frame.size(), bytes.data(),
                              bytes.size(), 6));
  }
  return frame;
}

/// Numbers spread like a layer's weights: with `planes`, their bytes in planes;
/// else rounded to 8 bits, in channels that each have a scale.
static std::vector<uint8_t> weights(size_t count, bool planes) {
  std::vector<uint8_t> bytes(count * 4);
  uint64_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    float value = 0;
    // The sum of twelve uniform numbers is nearly normal.
    for (int k = 0; k < 12; ++k) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      value += float(state >> 40) * (1.0f / (1 << 24)) - 0.5f;
    }
    value *= 0.02f;
    if (!planes)
      value = std::round(value * 2000) / float(2000 + i / 512);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (size_t b = 0; b < 4; ++b)
      bytes[planes ? b * count + i : i * 4 + b] = uint8_t(bits >> (8 * b));
  }
  return bytes;
}

/// 0 without libzstd.
static double measureDecode(bool planes, unsigned repeat) {
  constexpr size_t count = 1u << 16;
  std::vector<uint8_t> frame = compress(weights(count, planes));
  artifact::Fault fault;
  runtime::Decoder decoder;
  if (frame.empty() || !runtime::loadZstd(fault) ||
      !decoder.create(count * 4, fault))
    return 0;
  // As on a cold start: every frame another one, from memory and not from the
  // cache.
  std::vector<std::vector<uint8_t>> frames(64, frame);
  Memory target(count * 4);
  std::vector<double> samples;
  for (unsigned i = 0; i <= 4 * repeat; ++i) {
    const std::vector<uint8_t> &source = frames[i % frames.size()];
    double start = milliseconds();
    if (!decoder.decode(bundle::Codec_Zstd, planes ? 4 : 1, target.data(),
                        count * 4, source.data(), source.size()))
      return 0;
    if (i)
      samples.push_back(milliseconds() - start);
  }
  return double(count) * 4e-3 / tools::median(samples);
}

/// The time to load the library, which is unloaded between; 0 where there is
/// none.
static double measureZstdStart(unsigned repeat) {
  std::vector<double> samples;
  for (unsigned i = 0; i < repeat; ++i) {
    double start = milliseconds();
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return 0;
    samples.push_back((milliseconds() - start) * 1e3);
    dlclose(library);
  }
  return tools::median(samples);
}

ZstdSpeed measureZstd(unsigned repeat) {
  // The decoder keeps the library loaded.
  static const double startUs = measureZstdStart(repeat);
  return {startUs, measureDecode(true, repeat), measureDecode(false, repeat)};
}

} // namespace nnv12::tune
