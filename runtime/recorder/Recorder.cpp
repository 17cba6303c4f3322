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
  if (!rings_.allocate(numRings) ||
      (options.counters.read && !counts_.allocate(threads)))
    return fault.set(Fault::OutOfMemory, "no memory for the recorder");
  uint64_t capacity = 2;
  while (capacity < maxRecords &&
         sizeFor(numRings, uint32_t(capacity * 2)) <= options.size)
    capacity *= 2;

  auto *bytes = static_cast<uint8_t *>(options.memory);
  header_ = new (bytes) RecordingHeader();
  auto *ringHeaders = new (header_ + 1) RingHeader[numRings]();
  uint64_t offset = headerSize(numRings);
  for (uint32_t i = 0; i < numRings; ++i) {
    ringHeaders[i].offset = offset;
    ringHeaders[i].capacity = capacity;
    rings_[i] =
        RingWriter(ringHeaders[i],
                   reinterpret_cast<SharedRecord *>(bytes + offset), capacity);
    offset += capacity * sizeof(Record);
  }
  ringHeaders[numRings - 1].isForGpu = subject.hasGpu;
  wanted_ = options.level;
  sampleEvery_ = options.sampleEvery ? options.sampleEvery : 1;
  counters_ = options.counters;
  countersPerMille_ = options.countersPerMille;
  gpuPerMille_ = options.gpuPerMille;
  clock_.change(Clock::best());
  header_->facts.version = recordingVersion;
  header_->facts.headerSize = static_cast<uint32_t>(headerSize(numRings));
  header_->facts.size = offset;
  header_->facts.level = wanted_;
  header_->facts.sampleEvery = sampleEvery_;
  header_->facts.numRings = numRings;
  header_->facts.recordSize = sizeof(Record);
  header_->facts.process = static_cast<uint32_t>(getpid());
  header_->facts.clockSource = clock_.source();
  header_->monotonicFrom.store(~0u, std::memory_order_relaxed);
  header_->facts.numPreparing = subject.preparing;
  header_->facts.program = subject.program;
  header_->facts.bundle = subject.bundle;
  takePair();
  // Preparations before the first run belong to it.
  levelNow_.store(wanted_, std::memory_order_relaxed);
  header_->magic.store(recordingMagic, std::memory_order_release);
  return true;
}

Recorder::~Recorder() {
  if (!header_)
    return;
  takePair();
  header_->closed.store(1, std::memory_order_release);
}

void Recorder::beginRun() {
  if (!header_)
    return;
  levelNow_.store(runs() % sampleEvery_ ? RecordLevel::Off : wanted_,
                  std::memory_order_relaxed);
  bool wasCounted = isCounted_;
  isCounted_ = counts_.size() && records(RecordLevel::Run) &&
               isLittle(counting_, countersPerMille_);
  if (isCounted_) {
    bool isOther = counters_.attach(counters_.context, 0) != 0;
    // Counts that were read a moment ago are still true, unless a run that is
    // not counted came in between.
    if (isOther || !wasCounted ||
        ticks() - countedUntil_ > countedUntil_ - countedFrom_)
      readCounters(/*isEnd=*/false);
  }
  start_ = clock_.ticks();
  if (!firstStart_)
    firstStart_ = start_;
}

void Recorder::endRun(uint32_t status) {
  if (!header_)
    return;
  if (records(RecordLevel::Run)) {
    Record record = {};
    record.start = start_;
    record.index = status;
    record.kind = RecordKind::Run;
    end(record);
    if (isCounted_)
      readCounters(/*isEnd=*/true);
  }
  uint64_t number = runs() + 1;
  // Often at first, so that ticks are soon known; then before they drift.
  constexpr uint64_t runsPerPair = 1024;
  if ((number & (number - 1)) == 0 || number % runsPerPair == 0)
    takePair();
  header_->runs.store(number, std::memory_order_relaxed);
}

/// Whether the time spent is at most its permitted part of the time so far.
bool Recorder::isLittle(uint64_t spent, uint32_t perMille) const {
  return !perMille || !firstStart_ ||
         spent / perMille <= (ticks() - firstStart_) / 1000;
}

/// Reads all threads and writes down how much grew, at the end of a run.
void Recorder::readCounters(bool isEnd) {
  countedFrom_ = ticks();
  for (uint32_t thread = 0; thread < counts_.size(); ++thread) {
    // Counts that are not known belong to a thread that is attached later, from
    // 0 on.
    Counts now = {};
    uint32_t known = counters_.read(counters_.context, thread, now.values);
    for (uint32_t i = 0; isEnd && i < NNV12_NUM_COUNTERS; ++i) {
      if (!(known >> i & 1))
        continue;
      Record record = {};
      record.start = start_;
      record.ticks = now.values[i] - counts_[thread].values[i];
      record.index = i;
      record.kind = RecordKind::Counter;
      record.lane = static_cast<uint8_t>(thread);
      write(record);
    }
    counts_[thread] = now;
  }
  countedUntil_ = ticks();
  counting_ += countedUntil_ - countedFrom_;
}

void Recorder::write(Record &record) {
  record.run = static_cast<uint32_t>(runs());
  rings_[record.thread].write(record);
}

void Recorder::writeHandOver(uint32_t first, uint32_t count, uint64_t begin,
                             uint64_t end) {
  Record record = {};
  record.start = begin;
  record.ticks = end - begin;
  record.index = first;
  record.count = static_cast<uint16_t>(count < 65535 ? count : 65535);
  record.kind = RecordKind::GpuSubmit;
  write(record);
}

void Recorder::end(Record &record) {
  if (!record.start)
    return;
  record.ticks = ticks() - record.start;
  write(record);
}

/// Also looks whether the clock still keeps time.
void Recorder::takePair() {
  if (clock_.source() != header_->facts.clockSource)
    return;
  ClockPair pair = clock_.pair();
  uint64_t number = header_->numPairs.load(std::memory_order_relaxed);
  SharedClockPair &place = header_->pairs[placeOfPair(number)];
  // As with records, a reader of the new pair knows which one is gone.
  place.ticks.store(pair.ticks, std::memory_order_release);
  place.ns.store(pair.ns, std::memory_order_release);
  header_->numPairs.store(number + 1, std::memory_order_release);

  // Shorter stretches say nothing.
  constexpr uint64_t leastNs = 10'000'000;
  if (number == 0) {
    lastPairs_[0] = lastPairs_[1] = pair;
    return;
  }
  if (pair.ns - lastPairs_[1].ns < leastNs)
    return;
  if (!keepsTime(lastPairs_[0], lastPairs_[1], pair)) {
    header_->monotonicFrom.store(static_cast<uint32_t>(runs() + 1),
                                 std::memory_order_release);
    clock_.change(Clock::Monotonic);
  }
  lastPairs_[0] = lastPairs_[1];
  lastPairs_[1] = pair;
}

} // namespace nnv12::runtime
