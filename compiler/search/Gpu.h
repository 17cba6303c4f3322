//===- Gpu.h - What a GPU takes over, and when ------------------*- C++ -*-===//
//
// The GPU is an overlay on a complete plan for CPUs: a stretch is a range of
// executes that it can take over. Later runs take the stretches of the warm
// plan; the first run hands over at a point where that is sooner than to go on,
// or not at all. Tensors are in the CPUs' memory at both ends of a stretch, so
// what a stretch costs depends on it alone. docs/search.md explains it.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SEARCH_GPU_H
#define NNV12_COMPILER_SEARCH_GPU_H

#include "compiler/search/Problem.h"

namespace nnv12::search {

/// The parts of NNV12's section 3.4 that are switched on, for ablation.
struct GpuOptions {
  /// K: choose GPU candidates for the first run. Off: the fastest kernels.
  bool selectKernels = true;
  /// C: weights may be stored in any form. Off: only candidates whose weights
  /// are stored "raw", for layers that have such a candidate.
  bool storedForms = true;
  /// C: plan for a driver's cache that has all pipelines of a run before.
  bool pipelineCache = true;
  /// P: GPU-host lanes, and stretches in parts. Off: the execute lane first
  /// prepares everything, then runs.
  bool pipeline = true;
  /// The CPUs prepare what their own plan prepares, whatever the GPU takes
  /// over, as the runtime does. Off: only what they execute.
  bool completeCpu = true;
  /// What a first run with the GPU has left of the time of one without it, at
  /// most: a driver's start is the least certain of all times, and takes CPUs
  /// from others.
  double worthGpu = 0.97;
  /// What the CPUs do in later runs; empty: as in the first one.
  Choice warmCpu = {};
};

/// Of each layer the index of its GPU candidate. Layers that have none count
/// for nothing.
using GpuChoice = std::vector<unsigned>;

/// Layers `first` to `first + count - 1`.
struct Stretch {
  uint32_t first = 0, count = 0;
  uint32_t end() const { return first + count; }
  bool operator==(const Stretch &o) const {
    return first == o.first && count == o.count;
  }
};

/// Milliseconds of a stretch for which everything is ready.
struct StretchTime {
  double handOver = 0; ///< copies what it reads, and submits
  double kernels = 0;
  double takeBack = 0; ///< waits, and copies what others read of it
  double sum() const { return handOver + kernels + takeBack; }
};
/// Each of its layers must have a GPU candidate.
StretchTime stretchTime(const Problem &problem, const GpuChoice &choice,
                        Stretch stretch);

/// Of each layer the candidate with the fastest kernels; among equals the one
/// that has less to prepare.
GpuChoice fastestGpuChoice(const Problem &problem);

/// What a pipeline has to gain of the kernels' time in later runs: it takes
/// more than a thousand times that to build, and bytes of the bundle.
constexpr double worthPipeline = 0.01;

/// A choice with other candidates for the layers of pipelines that are not
/// worth it, one pipeline after another, that which gains least first. Others
/// of `choice` serve them.
GpuChoice withFewPipelines(const Problem &problem, GpuChoice choice);

/// Where a run with everything ready is computed.
struct WarmGpuPlan {
  GpuChoice choice;
  std::vector<Stretch> stretches; ///< in order, disjoint; the rest is the CPUs'
  double time = 0;
  double cpuOnly = 0; ///< warmTime()
};
/// The best of all ways to divide the layers between both, by dynamic
/// programming over ranges; pipelines and uploads cost nothing any more.
WarmGpuPlan planWarmGpu(const Problem &problem, const Choice &cpu,
                        const GpuChoice &gpu);
/// For each k, and for the number of layers, the best plan of the layers from k
/// on.
std::vector<WarmGpuPlan> planWarmSuffixes(const Problem &problem,
                                          const Choice &cpu,
                                          const GpuChoice &gpu);

/// Takes their GPU candidates from layers for whose sake alone there would be a
/// pipeline that is not worth it, one after another: a copy at the end of a
/// model, say, is the CPUs' then.
void leaveToCpus(Problem &problem, const Choice &cpu);

/// An operation of a GPU-host lane.
struct GpuPreparation {
  Stage stage = Stage::Device;
  /// Of Pipeline: those of one call; of Upload: one layer; of Device: none.
  std::vector<uint32_t> items = {};
  bool operator==(const GpuPreparation &o) const {
    return stage == o.stage && items == o.items;
  }
};
using GpuLanes = std::vector<std::vector<GpuPreparation>>;

/// The GPU's part of a run.
struct GpuSchedule {
  GpuChoice choice;
  std::vector<Stretch> stretches; ///< in order, disjoint
  /// GPU-host lanes. The first begins with Stage::Device; all else waits for
  /// it. May prepare more than the stretches need.
  GpuLanes lanes;
  /// The execute lane carries out `lanes`, before all else.
  bool onExecuteLane = false;
  bool completeCpu = true; ///< see GpuOptions
};

/// "" if each stretch has what it needs on the lanes, once; else one line
/// saying what is wrong.
std::string checkGpuSchedule(const Problem &problem, const GpuSchedule &gpu);

/// simulate() with a GPU. Lanes in events: those of `schedule`, then GPU-host
/// lanes, then the GPU. A stretch waits until it is ready. `cached`: the
/// driver's cache has all pipelines.
Timeline simulateGpu(const Problem &problem, const Choice &choice,
                     const Schedule &schedule, const GpuSchedule &gpu,
                     bool cached);

/// The preparations of `stretches` on GPU-host lanes. `backwards`: what the
/// last layers need comes first, so that a hand-over behind the planned one may
/// be ready sooner. What `have` prepares is left out.
GpuLanes prepareGpu(const Problem &problem, const GpuChoice &choice,
                    const std::vector<Stretch> &stretches, unsigned threads,
                    bool backwards, bool cached, const GpuLanes &have = {});

enum class GpuStart : uint8_t {
  Never,     ///< it would serve no run
  AtOpen,    ///< the first run hands over
  AfterFirst ///< the first run is the CPUs', as if there were no GPU
};

struct GpuPlan {
  GpuStart start = GpuStart::Never;
  WarmGpuPlan warm;
  /// With AtOpen: the first run's. Empty otherwise.
  GpuSchedule cold;
  /// With AtOpen: layers before which the first run may hand over, ascending,
  /// the planned one first: each begins a stretch of planWarmSuffixes(). Where
  /// it finds nothing ready it goes on to the next.
  std::vector<uint32_t> handOvers;
  /// What later runs need beyond cold.lanes, in their order.
  GpuLanes later;
  /// The first run as planned for, and if the driver's cache is empty: then it
  /// waits for nothing and hands over where it finds everything ready.
  double finishCached = 0, finishUncached = 0;
  /// How long planned hand-overs wait for the GPU, with cached pipelines where
  /// these are planned for.
  double wait = 0;
  double cpuOnly = 0; ///< simulate() without GPU
  /// All that the GPU can compute is left to it from the start; infinite if
  /// that is nothing.
  double gpuOnly = 0;
  /// What `gpuOnly` is the time of.
  GpuSchedule gpuAlone;
  uint64_t steps = 0; ///< events that were simulated
};

/// With the CPUs' plan, which stays as it is: Device::gpu, candidates,
/// pipelines and tensors of the problem say what the GPU can do.
GpuPlan planGpu(const Problem &problem, const Plan &cpu,
                const GpuOptions &options = {});

/// The same with all on the GPU that it can compute of the layers from `from`
/// on, from the first run on, by the fastest kernels: for tests.
GpuPlan forcedGpuPlan(const Problem &problem, const Plan &cpu,
                      const GpuOptions &options = {}, uint32_t from = 0);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_GPU_H
