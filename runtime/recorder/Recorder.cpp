//===- Recorder.cpp - Records a session's runs ----------------------------===//
#include "runtime/recorder/Recorder.h"

#include <cassert>
#include <new>
#include <unistd.h>

namespace nnv12::runtime {

using artifact::Fault;

static size_t headerSize(uint32_t rings) {
  return sizeof(RecordingHeader) + rings * sizeof(RingHeader);
}

size_t Recorder::sizeFor(uint32_t rings, uint32_t records) {
  if (rings == 0 || rings > maxRings || records > maxRecords)
    return 0;
  uint64_t capacity = 2;
  while (capacity < records)
    capacity *= 2;
  return headerSize(rings) + capacity * rings * sizeof(Record);
}

bool Recorder::create(const Options &options, const Subject &subject,
                      Fault &fault) {
  if (options.level == RecordLevel::Off)
    return true;
  uint32_t threads = subject.threads, numRings = subject.rings();
  assert(threads > subject.preparing);
  if (numRings > maxRings)
    return fault.set(Fault::Unsupported,
                     "recorder: threads: found %u, expected at most %u",
                     threads, maxRings - subject.hasGpu);
  if (options.level > RecordLevel::Piece)
    return fault.set(Fault::InvalidArgument,
                     "recorder: level: found %u, expected at most %u",
                     unsigned(options.level), unsigned(RecordLevel::Piece));
  if (!options.memory ||
      reinterpret_cast<uintptr_t>(options.memory) % alignof(RecordingHeader))
    return fault.set(Fault::InvalidArgument,
                     "recorder: memory: found address %p, expected a multiple "
                     "of %zu",
                     options.memory, alignof(RecordingHeader));
  if (options.size < sizeFor(numRings, 2))
    return fault.set(Fault::InvalidArgument,
                     "recorder: size: found %zu, expected %zu at least for %u "
                     "threads",
                     options.size, sizeFor(numRings, 2), numRings);
  if (!rings.allocate(numRings) ||
      (options.counters.read && !counts.allocate(threads)))
    return fault.set(Fault::OutOfMemory, "no memory for the recorder");
  uint64_t capacity = 2;
  while (capacity < maxRecords &&
         sizeFor(numRings, uint32_t(capacity * 2)) <= options.size)
    capacity *= 2;

  auto *bytes = static_cast<uint8_t *>(options.memory);
  header = new (bytes) RecordingHeader();
  auto *ringHeaders = new (header + 1) RingHeader[numRings]();
  uint64_t offset = headerSize(numRings);
  for (uint32_t i = 0; i < numRings; ++i) {
    ringHeaders[i].offset = offset;
    ringHeaders[i].capacity = capacity;
    rings[i] =
        RingWriter(ringHeaders[i],
                   reinterpret_cast<SharedRecord *>(bytes + offset), capacity);
    offset += capacity * sizeof(Record);
  }
  ringHeaders[numRings - 1].isForGpu = subject.hasGpu;
  wanted = options.level;
  sampleEvery = options.sampleEvery ? options.sampleEvery : 1;
  counters = options.counters;
  countersPerMille = options.countersPerMille;
  gpuPerMille = options.gpuPerMille;
  clock.change(Clock::best());
  header->facts.version = recordingVersion;
  header->facts.headerSize = static_cast<uint32_t>(headerSize(numRings));
  header->facts.size = offset;
  header->facts.level = wanted;
  header->facts.sampleEvery = sampleEvery;
  header->facts.numRings = numRings;
  header->facts.recordSize = sizeof(Record);
  header->facts.process = static_cast<uint32_t>(getpid());
  header->facts.clockSource = clock.source();
  header->monotonicFrom.store(~0u, std::memory_order_relaxed);
  header->facts.numPreparing = subject.preparing;
  header->facts.program = subject.program;
  header->facts.bundle = subject.bundle;
  takePair();
  // Preparations before the first run belong to it.
  levelNow.store(wanted, std::memory_order_relaxed);
  header->magic.store(recordingMagic, std::memory_order_release);
  return true;
}

Recorder::~Recorder() {
  if (!header)
    return;
  takePair();
  header->closed.store(1, std::memory_order_release);
}

void Recorder::beginRun() {
  if (!header)
    return;
  levelNow.store(runs() % sampleEvery ? RecordLevel::Off : wanted,
                 std::memory_order_relaxed);
  isCounted = counts.size() && records(RecordLevel::Run) &&
              isLittle(counting, countersPerMille);
  if (isCounted) {
    bool isOther = counters.attach(counters.context, 0) != 0;
    // Counts that were read a moment ago are still true.
    if (isOther || ticks() - countedUntil > countedUntil - countedFrom)
      readCounters(/*isEnd=*/false);
  }
  start = clock.ticks();
  if (!firstStart)
    firstStart = start;
}

void Recorder::endRun(uint32_t status) {
  if (!header)
    return;
  if (records(RecordLevel::Run)) {
    Record record = {};
    record.start = start;
    record.index = status;
    record.kind = RecordKind::Run;
    end(record);
    if (isCounted)
      readCounters(/*isEnd=*/true);
  }
  uint64_t number = runs() + 1;
  // Often at first, so that ticks are soon known; then before they drift.
  constexpr uint64_t runsPerPair = 1024;
  if ((number & (number - 1)) == 0 || number % runsPerPair == 0)
    takePair();
  header->runs.store(number, std::memory_order_relaxed);
}

/// Whether the time spent is at most its permitted part of the time so far.
bool Recorder::isLittle(uint64_t spent, uint32_t perMille) const {
  return !perMille || !firstStart ||
         spent / perMille <= (ticks() - firstStart) / 1000;
}

/// Reads all threads and writes down how much grew, at the end of a run.
void Recorder::readCounters(bool isEnd) {
  countedFrom = ticks();
  for (uint32_t thread = 0; thread < counts.size(); ++thread) {
    // Counts that are not known belong to a thread that is attached later, from
    // 0 on.
    Counts now = {};
    uint32_t known = counters.read(counters.context, thread, now.values);
    for (uint32_t i = 0; isEnd && i < NNV12_NUM_COUNTERS; ++i) {
      if (!(known >> i & 1))
        continue;
      Record record = {};
      record.start = start;
      record.ticks = now.values[i] - counts[thread].values[i];
      record.index = i;
      record.kind = RecordKind::Counter;
      record.lane = static_cast<uint8_t>(thread);
      write(record);
    }
    counts[thread] = now;
  }
  countedUntil = ticks();
  counting += countedUntil - countedFrom;
}

void Recorder::write(Record &record) {
  record.run = run();
  rings[record.thread].write(record);
}

void Recorder::end(Record &record) {
  if (!record.start)
    return;
  record.ticks = ticks() - record.start;
  write(record);
}

/// Also looks whether the clock still keeps time.
void Recorder::takePair() {
  if (clock.source() != header->facts.clockSource)
    return;
  ClockPair pair = clock.pair();
  uint64_t number = header->numPairs.load(std::memory_order_relaxed);
  SharedClockPair &place = header->pairs[placeOfPair(number)];
  // As with records: who sees the new one knows which is no longer there.
  place.ticks.store(pair.ticks, std::memory_order_release);
  place.ns.store(pair.ns, std::memory_order_release);
  header->numPairs.store(number + 1, std::memory_order_release);

  // Shorter stretches say nothing.
  constexpr uint64_t leastNs = 10'000'000;
  if (number == 0) {
    lastPairs[0] = lastPairs[1] = pair;
    return;
  }
  if (pair.ns - lastPairs[1].ns < leastNs)
    return;
  if (!keepsTime(lastPairs[0], lastPairs[1], pair)) {
    header->monotonicFrom.store(static_cast<uint32_t>(runs() + 1),
                                std::memory_order_release);
    clock.change(Clock::Monotonic);
  }
  lastPairs[0] = lastPairs[1];
  lastPairs[1] = pair;
}

} // namespace nnv12::runtime
