//===- Format.h - How a recording lies in memory ----------------*- C++ -*-===//
//
// A header, and for each thread a ring of records, which that thread alone
// writes: the oldest records make room for new ones. Any thread or process may
// read it at any time: head says how many records a thread has written, and so
// which records were overwritten while they were read.
//
// All integers are little-endian.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_RECORDER_FORMAT_H
#define NNV12_RUNTIME_RECORDER_FORMAT_H

#include "artifact/Digest.h"
#include "runtime/recorder/TickClock.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nnv12::runtime {

/// The bytes 8e 'N' 'N' 'R' '\r' '\n' 1a '\n'.
constexpr uint64_t recordingMagic = 0x0a1a0a0d524e4e8e;
constexpr uint32_t recordingVersion = 1;

/// How much is written down; each level all that those before it do. Numbers
/// never change.
enum class RecordLevel : uint32_t {
  Off = 0,
  Run = 1,       ///< each run
  Operation = 2, ///< and each operation, preparation and wait for weights
  Piece = 3      ///< and each thread's tiles of an operation
};

/// The kinds of record. Numbers never change; readers pass over those that they
/// do not know.
enum class RecordKind : uint8_t {
  Execute = 0,     ///< an operation; the first four are nnv12_stage
  Read = 1,        ///< of a preparation, or a part of it
  Decode = 2,      ///< the same
  Transform = 3,   ///< the same
  ThreadStart = 4, ///< from when it was asked for until it runs
  Run = 5,         ///< a whole one; index: nnv12_status
  Tiles = 6,       ///< of an operation, by one thread
  Wait = 7,        ///< for weights that `index` of the program needs
  Join = 8,        ///< for other threads' tiles of the operation `index`
  /// how much a counter grew in a run. index: nnv12_counter; ticks: the growth
  Counter = 9,
  GpuSubmit = 10,   ///< commands handed to the device
  GpuKernel = 11,   ///< a kernel on the device
  GpuDevice = 12,   ///< opened; this and the following are in the GPU's ring
  GpuPipeline = 13, ///< made
  GpuUpload = 14,   ///< of weights
  GpuCommands = 15, ///< of a stretch, recorded
  Match = 16,       ///< a stream's frame: input `index` compared
  Merge = 17        ///< the same: the result of operation `index` at its check
};

/// Two in a cache line.
struct Record {
  uint64_t start; ///< ticks
  uint64_t ticks; ///< from then on
  uint32_t index; ///< of the operation or preparation, a GPU's among its own
  uint32_t run;   ///< of the session, from 0
  /// In parts of all, of which 65535 are all; see partOfAll(). Kind Tiles:
  /// where its tiles begin, and how many they are. Kind Execute with
  /// NNV12_RECORD_PARTIAL: tiles. Kinds Match and Merge: pixels that differ.
  uint16_t first, count;
  RecordKind kind;
  uint8_t thread; ///< 0: the one that called run
  /// In whose queue it stood; kind Counter: whose it is; from GpuDevice on:
  /// which of the threads that prepare for a GPU.
  uint8_t lane;
  uint8_t flags; ///< NNV12_RECORD_STOLEN...
};
static_assert(sizeof(Record) == 32);

constexpr unsigned wordsPerRecord = sizeof(Record) / sizeof(uint64_t);

/// A part of all as records hold it, rounded up: 0 stands for none.
constexpr uint16_t partOfAll(uint64_t some, uint64_t all) {
  return all ? static_cast<uint16_t>((some * 65535 + all - 1) / all) : 0;
}

/// A record while it may be read and written at once.
struct SharedRecord {
  std::atomic<uint64_t> words[wordsPerRecord];
};
static_assert(sizeof(SharedRecord) == sizeof(Record));

/// The ring of one thread, or of all threads that prepare for a GPU, which take
/// turns.
struct alignas(64) RingHeader {
  std::atomic<uint64_t> head; ///< records written since the beginning
  uint64_t offset;            ///< of its first record, from the header
  uint64_t capacity;          ///< records, a power of two
  uint32_t isForGpu;          ///< 1: the last one, where there is such
};
static_assert(sizeof(RingHeader) == 64);

/// Numbers of rings that records can name.
constexpr uint32_t maxRings = 255;
/// In one ring.
constexpr uint64_t maxRecords = uint64_t(1) << 30;

constexpr unsigned maxClockPairs = 64;

/// Where the pair with that number is.
constexpr unsigned placeOfPair(uint64_t number) {
  return number == 0
             ? 0
             : 1 + static_cast<unsigned>((number - 1) % (maxClockPairs - 1));
}

struct SharedClockPair {
  std::atomic<uint64_t> ticks, ns;
};

/// The facts that do not change.
struct RecordingFacts {
  uint32_t version;
  uint32_t headerSize; ///< with the rings'
  uint64_t size;       ///< of all
  RecordLevel level;
  uint32_t sampleEvery;
  uint32_t numRings;
  /// The number of threads that only prepare; theirs are the numbers from 1 on.
  uint32_t numPreparing;
  uint32_t program; ///< which one of the bundle's
  uint32_t recordSize;
  uint32_t process; ///< its number in its namespace
  Clock::Source clockSource;
  /// The digest of the bundle's metadata, which gives names, kernels and the
  /// plan.
  artifact::Digest bundle;
};

struct alignas(64) RecordingHeader {
  /// Set last: before, this is no recording.
  std::atomic<uint64_t> magic;
  RecordingFacts facts;
  /// From this run on records are in nanoseconds of CLOCK_MONOTONIC, since the
  /// ticks have turned out not to keep time; no pairs are taken any more. ~0:
  /// they do.
  std::atomic<uint32_t> monotonicFrom;
  /// 1: the session has ended.
  std::atomic<uint32_t> closed;
  /// The number of runs that have ended, recorded or not: the run that goes on,
  /// or comes next, has this number.
  std::atomic<uint64_t> runs;
  /// The number of pairs that were taken. The first and the last ones are
  /// there: pair 0, then a ring of the others.
  std::atomic<uint64_t> numPairs;
  SharedClockPair pairs[maxClockPairs];
  /// RingHeader rings[numRings] follow.
};
static_assert(offsetof(RecordingHeader, facts) == 8);
static_assert(sizeof(RecordingHeader) == 1152);
static_assert(std::atomic<uint64_t>::is_always_lock_free,
              "recordings are shared by processes");

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_RECORDER_FORMAT_H
