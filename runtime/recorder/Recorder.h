//===- Recorder.h - Records a session's runs --------------------*- C++ -*-===//
//
// It writes to memory of the caller, without locks, system calls or allocation.
// Facts that need no run stay in the bundle: names, shapes, the plan.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_RECORDER_RECORDER_H
#define NNV12_RUNTIME_RECORDER_RECORDER_H

#include "artifact/Fault.h"
#include "runtime/include/nnv12.h"
#include "runtime/recorder/Ring.h"
#include "runtime/system/Memory.h"

namespace nnv12::runtime {

class Recorder {
public:
  /// The session that is recorded.
  struct Subject {
    artifact::Digest bundle; ///< of the metadata
    uint32_t program;        ///< which one of the bundle's
    uint32_t threads;        ///< all, a ring each
    uint32_t preparing;      ///< those that only prepare, from number 1 on
    bool hasGpu = false;     ///< one ring more, for those of a GPU

    uint32_t rings() const { return threads + hasGpu; }
  };

  struct Options {
    void *memory = nullptr; ///< of the caller, a multiple of 64
    size_t size = 0;
    RecordLevel level = RecordLevel::Off;
    uint32_t sampleEvery = 1; ///< one run of so many is recorded
    /// The source of counters; its functions may be null.
    nnv12_counter_source counters = {};
    uint32_t countersPerMille = 0; ///< of the time, for them; 0: all it takes
    uint32_t gpuPerMille = 0;      ///< the same for a GPU's time stamps
  };

  /// Bytes for so many rings with `records` each, which is rounded up to a
  /// power of two. 0: there is no such size.
  static size_t sizeFor(uint32_t rings, uint32_t records);

  /// Marks the recording as closed: no record follows.
  ~Recorder();

  /// Divides the memory among rings as large as fit. At level Off it does
  /// nothing, and needs no memory.
  [[nodiscard]] bool create(const Options &options, const Subject &subject,
                            artifact::Fault &fault);

  /// The level of the run that goes on: Off where that run is not recorded.
  /// Threads that prepare may see a change a moment late.
  RecordLevel level() const {
    return levelNow_.load(std::memory_order_relaxed);
  }
  bool records(RecordLevel least) const { return level() >= least; }
  /// Whether there are runs that are recorded so far.
  bool mayRecord(RecordLevel least) const { return wanted_ >= least; }

  uint64_t ticks() const { return clock_.ticks(); }
  /// The time, where operations are recorded; else 0.
  uint64_t startTime() const {
    return records(RecordLevel::Operation) ? ticks() : 0;
  }

  /// The calling thread is number `thread` of the session.
  void attach(uint32_t thread) {
    if (counters_.attach)
      counters_.attach(counters_.context, thread);
  }

  /// Both by the thread that runs the session, which is number 0.
  void beginRun();
  void endRun(uint32_t status);

  /// Whether all runs that are recorded have a GPU's time stamps, and if not,
  /// whether so many ticks for them are little enough.
  bool stampsAll() const { return gpuPerMille_ == 0; }
  bool mayStamp(uint64_t spent) const { return isLittle(spent, gpuPerMille_); }

  /// Writes a record, whose run it fills in. Only the thread `record.thread`
  /// may call it.
  void write(Record &record);
  /// Writes a record of a thread that prepares for a GPU, one at a time.
  void writeGpu(Record &record) {
    record.thread = static_cast<uint8_t>(rings_.size() - 1);
    write(record);
  }

  /// Writes down that an overlay's executor computed `count` executes from
  /// `first` on, between these ticks. The thread that runs the session.
  void writeHandOver(uint32_t first, uint32_t count, uint64_t begin,
                     uint64_t end);

  /// A record of the thread that runs the session, which begins now; see end().
  Record begin(RecordKind kind, uint32_t index) const {
    Record record = {};
    record.start = startTime();
    record.index = index;
    record.kind = kind;
    return record;
  }
  /// Writes a record that began at startTime() and ends now; nothing where that
  /// was 0.
  void end(Record &record);

private:
  /// The number of runs that have ended.
  uint64_t runs() const {
    return header_->runs.load(std::memory_order_relaxed);
  }
  void takePair();
  bool isLittle(uint64_t spent, uint32_t perMille) const;
  void readCounters(bool isEnd);

  /// A thread's counters when the run began.
  struct Counts {
    uint64_t values[NNV12_NUM_COUNTERS];
  };

  RecordingHeader *header_ = nullptr;
  Clock clock_;
  Array<RingWriter> rings_;
  RecordLevel wanted_ = RecordLevel::Off;
  uint32_t sampleEvery_ = 1;
  std::atomic<RecordLevel> levelNow_{RecordLevel::Off};
  uint64_t start_ = 0; ///< of the run
  nnv12_counter_source counters_ = {};
  Array<Counts> counts_; ///< by thread, where there are counters
  uint32_t countersPerMille_ = 0, gpuPerMille_ = 0;
  bool isCounted_ = false;      ///< the run that goes on, or the last one
  uint64_t firstStart_ = 0;     ///< of the first run
  uint64_t counting_ = 0;       ///< ticks spent on reading counters
  uint64_t countedFrom_ = 0;    ///< the last reading began then,
  uint64_t countedUntil_ = 0;   ///< and ended then
  ClockPair lastPairs_[2] = {}; ///< far enough from one another to be compared
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_RECORDER_RECORDER_H
