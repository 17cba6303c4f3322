//===- Recording.cpp - Reads a session's records --------------------------===//
#include "runtime/recorder/Recording.h"

#include <cassert>
#include <cinttypes>

namespace nnv12::runtime {

using artifact::Fault;

/// From memory that may change meanwhile, each word once.
template <typename Facts> static void copyShared(Facts &to, const Facts *from) {
  static_assert(sizeof(Facts) % sizeof(uint64_t) == 0 &&
                alignof(Facts) == sizeof(uint64_t));
  uint64_t words[sizeof(Facts) / sizeof(uint64_t)];
  auto *source = reinterpret_cast<const uint64_t *>(from);
  for (size_t i = 0; i < sizeof(Facts) / sizeof(uint64_t); ++i)
    words[i] = __atomic_load_n(source + i, __ATOMIC_RELAXED);
  memcpy(&to, words, sizeof to);
}

uint64_t Timeline::ns(uint64_t ticks) const {
  assert(isKnown());
  size_t i = count - 2;
  while (i > 0 && pairs[i].ticks > ticks)
    --i;
  const ClockPair &from = pairs[i], &to = pairs[i + 1];
  double rate = double(to.ns - from.ns) / double(to.ticks - from.ticks);
  // Wraps, as ticks before the first pair are less.
  double after = double(static_cast<int64_t>(ticks - from.ticks)) * rate;
  constexpr double limit = 9e18;
  after = std::min(limit, std::max(-limit, after));
  return from.ns + static_cast<uint64_t>(static_cast<int64_t>(after));
}

bool Recording::open(const void *memory, size_t size, Fault &fault) {
  assert(!header_ && "opened once");
  if (!memory || reinterpret_cast<uintptr_t>(memory) % alignof(RecordingHeader))
    return fault.set(Fault::InvalidArgument,
                     "recording: found address %p, expected a multiple of %zu",
                     memory, alignof(RecordingHeader));
  auto *found = static_cast<const RecordingHeader *>(memory);
  if (size < sizeof(RecordingHeader) ||
      found->magic.load(std::memory_order_acquire) != recordingMagic)
    return fault.set(Fault::BadBundle, "found no recording");
  RecordingFacts &facts = checked_;
  copyShared(facts, &found->facts);
  if (facts.version != recordingVersion)
    return fault.set(Fault::Unsupported, "version: found %u, expected %u",
                     facts.version, recordingVersion);
  auto bad = [&](const char *field, uint64_t value, const char *expected) {
    return fault.set(Fault::BadBundle, "%s: found %" PRIu64 ", expected %s",
                     field, value, expected);
  };
  if (facts.recordSize != sizeof(Record))
    return bad("record size", facts.recordSize, "32");
  if (facts.numRings == 0 || facts.numRings > maxRings)
    return bad("rings", facts.numRings, "1 to 255");
  uint64_t headerSize =
      sizeof(RecordingHeader) + facts.numRings * sizeof(RingHeader);
  if (facts.headerSize != headerSize || headerSize > size)
    return bad("header size", facts.headerSize, "that of its rings");
  if (facts.size > size)
    return bad("size", facts.size, "no more than there is");
  if (facts.level == RecordLevel::Off || facts.level > RecordLevel::Piece)
    return bad("level", uint32_t(facts.level), "1 to 3");
  if (facts.clockSource > Clock::Cntvct)
    return bad("clock", facts.clockSource, "0 to 2");
  if (!rings_.allocate(facts.numRings))
    return fault.set(Fault::OutOfMemory, "no memory to read the recording");
  auto *bytes = static_cast<const uint8_t *>(memory);
  auto *ringHeaders =
      reinterpret_cast<const RingHeader *>(bytes + sizeof(RecordingHeader));
  isLastForGpu_ = __atomic_load_n(&ringHeaders[facts.numRings - 1].isForGpu,
                                  __ATOMIC_RELAXED) == 1;
  if (facts.numPreparing >= numThreads())
    return bad("threads that only prepare", facts.numPreparing,
               "less than all");
  for (uint32_t i = 0; i < facts.numRings; ++i) {
    uint64_t offset = __atomic_load_n(&ringHeaders[i].offset, __ATOMIC_RELAXED),
             capacity =
                 __atomic_load_n(&ringHeaders[i].capacity, __ATOMIC_RELAXED);
    if (capacity < 2 || capacity > maxRecords || (capacity & (capacity - 1)))
      return bad("ring's capacity", capacity, "a power of two, 2 to 2^30");
    if (offset % sizeof(Record) || offset < headerSize || offset > facts.size ||
        capacity * sizeof(Record) > facts.size - offset)
      return bad("ring's offset", offset, "room for its records");
    rings_[i] = {{&ringHeaders[i],
                  reinterpret_cast<const SharedRecord *>(bytes + offset),
                  capacity},
                 0};
  }
  header_ = found;
  return true;
}

/// Takes the pairs that are whole and ascend. Returns their number.
size_t Recording::takePairs(ClockPair *pairs) const {
  constexpr uint64_t ring = maxClockPairs - 1;
  uint64_t count = header_->numPairs.load(std::memory_order_acquire);
  ClockPair copied[maxClockPairs];
  uint64_t first = count > ring ? count - ring : 1;
  for (uint64_t number = first; number < count; ++number) {
    const SharedClockPair &pair = header_->pairs[placeOfPair(number)];
    copied[number - first] = {pair.ticks.load(std::memory_order_acquire),
                              pair.ns.load(std::memory_order_acquire)};
  }
  // Leaves out pairs that were overwritten meanwhile, or are just now.
  uint64_t now = header_->numPairs.load(std::memory_order_relaxed),
           whole = now > ring ? now - ring + 1 : 1;
  size_t taken = 0;
  auto take = [&](ClockPair pair) {
    if (taken && (pair.ticks <= pairs[taken - 1].ticks ||
                  pair.ns <= pairs[taken - 1].ns))
      return;
    pairs[taken++] = pair;
  };
  if (count > 0)
    take({header_->pairs[0].ticks.load(std::memory_order_relaxed),
          header_->pairs[0].ns.load(std::memory_order_relaxed)});
  for (uint64_t number = std::max(first, whole); number < count; ++number)
    take(copied[number - first]);
  return taken;
}

size_t Recording::read(uint32_t ring, Record *out, size_t most,
                       uint64_t &lost) {
  assert(ring < rings_.size());
  bool hasTicks = checked_.clockSource != Clock::Monotonic;
  ClockPair pairs[maxClockPairs];
  Timeline timeline = {pairs, hasTicks ? takePairs(pairs) : 0};
  if (hasTicks && !timeline.isKnown())
    return 0;
  size_t count = rings_[ring].reader.read(rings_[ring].cursor, out, most, lost);
  uint32_t monotonicFrom =
      hasTicks ? header_->monotonicFrom.load(std::memory_order_acquire) : 0;
  for (size_t i = 0; i < count; ++i) {
    Record &record = out[i];
    if (record.run >= monotonicFrom)
      continue;
    uint64_t start = timeline.ns(record.start);
    if (record.kind != RecordKind::Counter)
      record.ticks = timeline.ns(record.start + record.ticks) - start;
    record.start = start;
  }
  return count;
}

} // namespace nnv12::runtime
