//===- Overlay.h - Another processor's part of a plan -----------*- C++ -*-===//
//
// A coprocessor's part of a plan is an overlay on a complete plan for CPUs: a
// stretch is a range of executes that it can take over. Later runs take the
// stretches of the warm plan; the first run hands over at a point where that is
// sooner than to go on, or not at all. Tensors are in the CPUs' memory at both
// ends of a stretch, so the cost of a stretch depends on the stretch alone.
// docs/search.md explains it.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SEARCH_OVERLAY_H
#define NNV12_COMPILER_SEARCH_OVERLAY_H

#include "compiler/search/Search.h"

namespace nnv12::search {

/// By layer, the index of a candidate of Layer::inStretch. A layer that has
/// none has any number.
using StretchChoice = std::vector<unsigned>;

/// Where the result of a stretch's last layer is cut: the coprocessor computes
/// positions [0, at) of a dimension, CPUs the others at the same time.
struct Split {
  uint32_t dim = 0, at = 0;
  bool operator==(const Split &o) const { return dim == o.dim && at == o.at; }
};

/// Layers `first` to `first + count - 1`.
struct Stretch {
  uint32_t first = 0, count = 0;
  /// Absent: the coprocessor computes all of them. Only later runs have splits.
  std::optional<Split> split = {};
  uint32_t end() const { return first + count; }
  bool operator==(const Stretch &o) const {
    return first == o.first && count == o.count && split == o.split;
  }
};

/// Milliseconds of a stretch for which everything is ready.
struct StretchTime {
  double handOver = 0; ///< copies the stretch's inputs, and submits it
  /// A split counts until both sides are done, with Coprocessor::sync.
  double kernels = 0;
  double takeBack = 0; ///< waits, and copies the results that others read
  /// How long each processor computes, within `kernels`.
  double cpu = 0, gpu = 0;
  double sum() const { return handOver + kernels + takeBack; }
};
/// Each of its layers must have a candidate in stretches. A split must be one
/// that its layers can be cut at.
StretchTime stretchTime(const Problem &problem, const StretchChoice &choice,
                        Stretch stretch);

/// By layer, the candidate with the fastest kernels; among equals the one that
/// has less to prepare.
StretchChoice fastestInStretches(const Problem &problem);

/// The part of the kernels' time in later runs that a pipeline has to gain: to
/// build one takes more than a thousand times that, and bytes of the bundle.
constexpr double worthPipeline = 0.01;

/// `choice` without the pipelines that are not worth it: they go one by one,
/// the one that gains least first, and other pipelines of `choice` serve their
/// layers.
StretchChoice withFewPipelines(const Problem &problem, StretchChoice choice);

/// Where a run with everything ready is computed.
struct WarmStretches {
  StretchChoice choice;
  std::vector<Stretch> stretches; ///< in order, disjoint; the rest is the CPUs'
  double time = 0;
  double cpuOnly = 0; ///< warmTime()
  double energy = 0;  ///< millijoules; 0 without Coprocessor::power
  /// Layers that the search added to splits: its cost, the same on all
  /// machines.
  uint64_t steps = 0;
};
/// The best of all ways to divide the layers between both processors, by
/// dynamic programming over ranges; pipelines and uploads cost nothing any
/// more. With Splits::WherePays layers are split where all splits together are
/// worth it, by Options::worthSplit.
WarmStretches planWarmStretches(const Problem &problem, const Choice &cpu,
                                const StretchChoice &choice,
                                const Options &options = {});
/// For each k, and for the number of layers, the best plan of the layers from k
/// on; with Splits::WherePays whatever the splits gain.
std::vector<WarmStretches> planWarmSuffixes(const Problem &problem,
                                            const Choice &cpu,
                                            const StretchChoice &choice,
                                            const Options &options = {});

/// Takes their candidates in stretches from layers that alone need a pipeline
/// which is not worth it, one pipeline after another: a copy at the end of a
/// model, say, is the CPUs' then. Asks plans without splits.
void leaveToCpus(Problem &problem, const Choice &cpu);

/// An operation of a host lane: a thread of the CPUs that prepares stretches.
struct StretchPreparation {
  Stage stage = Stage::Device;
  /// Pipeline: those of one call; Upload: one layer; Device: none.
  std::vector<uint32_t> items = {};
  bool operator==(const StretchPreparation &o) const {
    return stage == o.stage && items == o.items;
  }
};
using HostLanes = std::vector<std::vector<StretchPreparation>>;

/// The coprocessor's part of a run.
struct OverlaySchedule {
  StretchChoice choice;
  std::vector<Stretch> stretches; ///< in order, disjoint
  /// The first begins with Stage::Device; all else waits for it. May prepare
  /// more than the stretches need.
  HostLanes lanes;
  /// The execute lane carries out `lanes`, before all else.
  bool onExecuteLane = false;
};

/// "" if each stretch has its preparations on the lanes, once; else one line
/// saying what is wrong.
std::string checkOverlaySchedule(const Problem &problem,
                                 const OverlaySchedule &overlay);

/// simulate() with an overlay. Lanes in events: those of `schedule`, then host
/// lanes, then the coprocessor. A stretch waits until it is ready. The CPUs
/// prepare all of their own plan, even if layers are taken over. `cached`: the
/// driver's cache has all pipelines.
Timeline simulateOverlay(const Problem &problem, const Choice &choice,
                         const Schedule &schedule,
                         const OverlaySchedule &overlay, bool cached);

/// The preparations of `stretches` on host lanes. `backwards`: those of the
/// last layers come first, so that a hand-over behind the planned one may be
/// ready sooner. Preparations in `have` are left out.
HostLanes prepareStretches(const Problem &problem, const StretchChoice &choice,
                           const std::vector<Stretch> &stretches,
                           unsigned threads, bool backwards, bool cached,
                           const HostLanes &have = {});

enum class OverlayStart : uint8_t {
  Never,     ///< the overlay would serve no run
  AtOpen,    ///< the first run hands over
  AfterFirst ///< the first run is the CPUs', as if there were no overlay
};

struct Overlay {
  OverlayStart start = OverlayStart::Never;
  WarmStretches warm;
  /// With AtOpen: the first run's. Empty otherwise.
  OverlaySchedule cold;
  /// With AtOpen: layers before which the first run may hand over, ascending,
  /// the planned one first: each begins a stretch of planWarmSuffixes(). Where
  /// it finds nothing ready it goes on to the next.
  std::vector<uint32_t> handOvers;
  /// Preparations of later runs beyond cold.lanes, in their order.
  HostLanes later;
  /// The first run as planned for, and if the driver's cache has all pipelines.
  double finish = 0, finishCached = 0;
  double cpuOnly = 0; ///< simulate() without an overlay
  /// The same with every layer in stretches that can be, from the start;
  /// infinite if none can.
  double stretchesOnly = 0;
  OverlaySchedule allStretches; ///< `stretchesOnly` is its time
  uint64_t steps = 0;           ///< events that were simulated
};

/// With the CPUs' plan, which stays as it is: Device::coprocessor, and the
/// problem's candidates, pipelines and tensors, say what can be taken over.
/// `later`: the CPUs' choice in later runs; empty: as in the first one. With
/// Splits::Forced: forcedSplits() in later runs, and the first one is the
/// CPUs'.
Overlay planOverlay(const Problem &problem, const Plan &cpu,
                    const Options &options = {}, const Choice &later = {});

/// The same with all layers from `from` on in stretches that can be, from the
/// first run on, by the fastest kernels: for tests of bundles.
Overlay forcedOverlay(const Problem &problem, const Plan &cpu,
                      const Options &options = {}, const Choice &later = {},
                      uint32_t from = 0);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_OVERLAY_H
