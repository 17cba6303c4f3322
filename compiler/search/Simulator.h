//===- Simulator.h - When operations start and end --------------*- C++ -*-===//
//
// The model behind simulate():
//  * A lane carries out its jobs in order. A job starts when the lane is free
//    and its needs are done: an execute needs its layer's preparation, a
//    decode its read, a transform its decode.
//  * A read waits `readLatency`, then its bytes move at a rate that all reads
//    in this state share equally; for both the lane's core does nothing. Then
//    the core maps the bytes.
//  * With `arrival` a read waits until its layer's last byte has arrived.
//    But for the first piece that is so because a lane goes through the file:
//    a read of the execute lane itself, between executes, takes its time at
//    `readBandwidth` at least, of which other lanes that read have their share;
//    and a lane that decodes or transforms for long lets the storage pause, see
//    Device::askedAhead. Slow storage gives one thing after another: a lane
//    that reads beyond the requested bytes delays the layers before.
//  * An execute has as many CPUs as it has threads, preparations share the
//    rest: threads that compute prepare when there is nothing to compute
//    (runtime/Team.h). An execute is slowed down while any preparation works, a
//    preparation while an execute works.
//  * Stretches are prepared on lanes like the others. The
//    coprocessor itself is one more lane, which takes no CPU unless it is
//    software: then it takes Coprocessor::hostCores as an execute does its
//    threads. A hand-over is an execute of one thread.
// Between two events all rates are constant, so time jumps from event to event.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SEARCH_SIMULATOR_H
#define NNV12_COMPILER_SEARCH_SIMULATOR_H

#include "compiler/search/Problem.h"

#include <limits>

namespace nnv12::search {

/// When the first `bytes` of a file with `total` ones are there, by
/// Device::arrival, which must not be empty.
double arrivalOf(const Device &device, double bytes, double total);
/// No byte arrives before its number over readBandwidth less this; 0 without
/// arrival.
double earliestArrival(const Device &device);

/// The resource that a job keeps busy while it works.
enum class Busy : uint8_t {
  Lane,   ///< an execute: the threads of the execute lane; else one core
  Caller, ///< an execute of one thread
  Coprocessor
};

/// One operation, or a whole preparation of a layer.
struct Job {
  static constexpr uint32_t own = ~0u;

  uint32_t layer;
  /// Starts once so many jobs of its layer are done.
  uint32_t after;
  bool execute;
  double latency; ///< waiting for the storage, milliseconds
  double bytes;   ///< moved from the storage
  double work;    ///< of the core, milliseconds when alone
  Busy busy = Busy::Lane;
  /// Counters, numbered like layers and behind them, for jobs that are not of
  /// one layer: `after` counts jobs at `needs`, and the job itself counts at
  /// `counts`. `own`: those of its layer.
  uint32_t needs = own, counts = own;
};

/// One job an operation, as in the schedule.
std::vector<std::vector<Job>>
jobsOf(const Problem &problem, const Choice &choice, const Schedule &schedule);

/// A layer's preparation as one job on a core of this kind.
Job preparationJob(const Device &device, uint32_t layer,
                   const Candidate &candidate, Core core);
/// `after`: jobs that its preparation consists of.
Job executeJob(const Layer &layer, uint32_t index, const Candidate &candidate,
               uint32_t after);

/// How long a preparation takes on a core that has storage and memory for
/// itself.
double preparationTime(const Device &device, const Candidate &candidate,
                       Core core);

/// How far a plan waits for storage, from 0, that of a laptop or a new
/// phone (1200 MB/s and more), to 1, that of a card or an old one (300 and
/// less); between evenly with the logarithm, so that a step in storage speed is
/// none in the objective of plans.
double slowness(const Device &device);

/// Device::decoderStart where the choice needs it.
double decoderStart(const Problem &problem, const Choice &choice);

/// How many preparation lanes are not empty. `lanes` holds operations or jobs,
/// the execute lane's first.
template <typename Lanes> size_t usedLanes(const Lanes &lanes) {
  size_t count = 0;
  for (size_t i = 1; i < lanes.size(); ++i)
    count += !lanes[i].empty();
  return count;
}

/// Device::laneStart for each preparation lane that is used, or
/// Device::aloneStart.
template <typename Lanes>
double lanesStart(const Device &device, const Lanes &lanes) {
  size_t used = usedLanes(lanes);
  return used ? double(used) * device.laneStart : device.aloneStart;
}

/// Whether a candidate needs a preparation at all.
bool hasPreparation(const Candidate &candidate);

/// Kept between runs for its memory: a search runs it very often.
class Simulator {
public:
  /// Borrows `device`.
  explicit Simulator(const Device &device);

  static constexpr double never = std::numeric_limits<double>::infinity();
  struct Span {
    double start, end;
  };

  /// The end of the last execute, or `never` if it comes after `cutoff` or not
  /// at all. lanes[i] holds the jobs of lane i; layers, and counters of jobs,
  /// are numbered below `layers`. With `spans` it also tells when each job ran,
  /// and does not cut off.
  double run(const std::vector<std::vector<Job>> &lanes, size_t layers,
             double cutoff = never,
             std::vector<std::vector<Span>> *spansOut = nullptr);

  /// The sum of the ends of the last run's executes.
  double endsOfExecutes() const { return endSum; }

  /// Events so far, in all runs.
  uint64_t steps() const { return stepCount; }

private:
  enum class Phase : uint8_t { Idle, Latency, Transfer, Work };
  struct LaneState {
    size_t next = 0;
    Phase phase = Phase::Idle;
    bool execute = false;
    double remaining = 0, rate = 0;
    Busy busy = Busy::Lane;
  };

  /// CPUs that an execute, or a coprocessor, has while it works.
  unsigned threadsOf(const LaneState &lane) const;
  /// Gives the next job of each idle lane a start where it may.
  void startJobs(const std::vector<std::vector<Job>> &lanes, double now);
  /// Ends the job of lane `i`.
  void endJob(size_t i, const Job &job, double now);
  /// How long a lane that begins to read a layer waits for its last byte.
  double waitFor(const Job &job, bool isOnExecuteLane, double now);
  /// To the next phase of its job that takes time; false at its end.
  bool nextPhase(LaneState &lane, const Job &job, double now);
  void setRates();

  const Device &device;
  const double slow; ///< slowness(device)
  uint64_t stepCount = 0;
  double finish = 0; ///< of the executes so far
  double endSum = 0;
  std::vector<std::vector<Span>> *spans = nullptr; ///< of the present run
  std::vector<LaneState> states;
  std::vector<uint32_t> done; ///< jobs of each layer
  // With Device::arrival: when each layer's bytes are there, and whether in the
  // first piece.
  std::vector<double> arrived;
  std::vector<uint8_t> isEarly;
  std::vector<double> ends; ///< of each layer's bytes
  unsigned readers = 0;     ///< lanes that read anything
  double askedBytes = 0;    ///< the storage was asked for so many bytes
  double paused = 0;        ///< the storage had nothing to do so long
  std::vector<double> want; ///< bytes of each layer
};

/// When the jobs of lanes, which are these operations, run if the first begins
/// at `start`. `counters`: see Simulator::run.
Timeline timelineOf(const Device &device,
                    const std::vector<std::vector<Job>> &jobs,
                    const std::vector<std::vector<Operation>> &operations,
                    size_t counters, double start);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_SIMULATOR_H
