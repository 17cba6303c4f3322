//===- Recorder.h - What a session writes down of its runs ------*- C++ -*-===//
//
// Into memory of the caller, without locks, system calls or allocation. What
// can be known without a run stays in the bundle: names, shapes, the plan.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_RUNTIME_RECORDER_RECORDER_H
#define NNV12_RUNTIME_RECORDER_RECORDER_H

#include "artifact/Fault.h"
#include "runtime/Memory.h"
#include "runtime/recorder/Ring.h"

namespace nnv12::runtime {

class Recorder {
public:
  struct Options {
    void *memory = nullptr; ///< of the caller, a multiple of 64
    size_t size = 0;
    RecordLevel level = RecordLevel::Off;
    uint32_t sampleEvery = 1; ///< one run of so many is recorded
  };

  /// Bytes for so many threads with `records` each, which is rounded up to a
  /// power of two. 0: there is no such size.
  static size_t sizeFor(uint32_t threads, uint32_t records);

  Recorder() = default;
  Recorder(const Recorder &) = delete;
  Recorder &operator=(const Recorder &) = delete;
  /// Says that nothing more comes.
  ~Recorder();

  /// Divides the memory among `threads` rings, as large as fit. `bundle`: the
  /// digest of the metadata.
  bool create(const Options &options, uint32_t threads,
              const artifact::Digest &bundle, artifact::Fault &fault);

  /// Of the run that goes on: Off where it is not one of those that are
  /// recorded. Threads that prepare may see it a moment late.
  RecordLevel level() const { return levelNow.load(std::memory_order_relaxed); }
  bool records(RecordLevel least) const { return level() >= least; }

  uint64_t ticks() const { return clock.ticks(); }

  /// Both by the thread that runs the session, which is number 0.
  void beginRun();
  void endRun(uint32_t status);

  /// By the thread `record.thread` alone. The run is filled in.
  void write(Record record) {
    record.run = static_cast<uint32_t>(runs());
    rings[record.thread].write(record);
  }

private:
  /// That have ended.
  uint64_t runs() const { return header->runs.load(std::memory_order_relaxed); }
  void takePair();

  RecordingHeader *header = nullptr;
  Clock clock;
  Array<RingWriter> rings;
  RecordLevel wanted = RecordLevel::Off;
  uint32_t sampleEvery = 1;
  std::atomic<RecordLevel> levelNow{RecordLevel::Off};
  uint64_t start = 0;          ///< of the run
  ClockPair lastPairs[2] = {}; ///< far enough from one another to be compared
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_RECORDER_RECORDER_H
