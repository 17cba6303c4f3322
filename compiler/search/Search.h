//===- Search.h - Finds a cold plan -----------------------------*- C++ -*-===//
//
// Pure: knows nothing of MLIR, of files or of the machine that it runs on.
// Equal problems and options give equal plans everywhere. docs/search.md
// explains it.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SEARCH_SEARCH_H
#define NNV12_COMPILER_SEARCH_SEARCH_H

#include "compiler/search/Problem.h"

namespace nnv12::search {

/// Whether one layer may be computed by CPUs and a coprocessor at once.
enum class Splits : uint8_t {
  Never,
  WherePays, ///< see Options::worthSplit
  Forced     ///< wherever a layer can be cut: for tests, see forcedSplits()
};

/// The cost of a later run. Energy needs Coprocessor::power.
struct Objective {
  double time = 1;   ///< worth of a millisecond
  double energy = 0; ///< worth of a millijoule
  double of(double milliseconds, double millijoules) const {
    return time * milliseconds + energy * millijoules;
  }
};

/// The parts of NNV12 that are switched on, for ablation (Figure 13), and
/// limits of the search.
struct Options {
  /// K: choose candidates for the cold inference. Off: of each layer the
  /// candidate with the fastest execute (the warm choice), in stretches with
  /// the fastest kernels.
  bool selectKernels = true;
  /// C: weights may be stored in any form. Off: only candidates whose weights
  /// are stored "raw", for layers that have such a candidate.
  bool storedForms = true;
  /// Weights may be stored compressed. Off: only candidates with nothing to
  /// decode, for layers that have such a candidate. plan() tries both where
  /// starting the decoder takes time.
  bool decoding = true;
  /// A plan that decodes takes this part of the time of one that does not, at
  /// most: it takes cores and memory from others, and is the first to be late
  /// where they are busy. The slower storage is, the less it must gain.
  double worthDecoding = 0.9;
  /// P: preparation lanes, host lanes, and stretches in parts. Off: the execute
  /// lane first prepares everything, then executes.
  bool pipeline = true;
  /// Weights are used where the file is mapped: of each layer only candidates
  /// that prepare the fewest bytes, which are none but for odd layers.
  bool mappedWeights = false;
  /// Continuous mode (section 3.5): each layer's weights must be stored in a
  /// form from which its warm routine's can be derived, see derivable().
  bool continuous = false;
  /// Local search on the simulator after Algorithm 1 (not in the paper).
  bool localSearch = true;
  /// Milliseconds of cold inference that one of warm inference is worth. Breaks
  /// ties among plans that are equally good cold; does not count in continuous
  /// mode, where the warm routines run later anyway.
  double warmWeight = 1e-3;
  /// Milliseconds of cold inference that a byte of prepared weights is worth:
  /// with the value here a megabyte must gain 2 us, or 2 ms of warm inference.
  /// Breaks ties as well: where storage sets the time, many plans end when it
  /// does.
  double memoryWeight = 2e-9;
  /// Bytes that prepared weights may take beside the file's unless they gain
  /// much, 0.25 ms a megabyte, see preparedMemory(), and those that they may
  /// take unless they gain 6 ms a megabyte, or less where they are decoded and
  /// storage is slow: a process's own memory fits in 8 MB beside
  /// bundle and arena then. Not where kernels are not chosen (selectKernels).
  double memoryLimit = 1e6, memoryMost = 4e6;
  /// C, for stretches: plan for a driver's cache that has all pipelines of a
  /// run before.
  bool pipelineCache = true;
  /// A first run with an overlay takes this part of the time of one without it,
  /// at most: a driver's start is the least certain of all times, and takes
  /// CPUs from others.
  double worthOverlay = 0.97;
  Splits splits = Splits::Never;
  /// Later runs with splits cost this part of those without, at most.
  double worthSplit = 0.95;
  /// With Splits::Forced: the dimension that is cut, else any; and the part
  /// of it that the coprocessor computes, percent.
  std::optional<uint32_t> forcedDim = {};
  double forcedPercent = 50;
  /// Decides how later runs are divided between CPUs and a coprocessor.
  Objective objective = {};
  /// Simulated events that the local search may take, of which it takes 50,000
  /// a layer at most: 10 million take about a second.
  uint64_t steps = 3'000'000;
};

/// When every operation starts and ends under the static schedule, without
/// stealing. The objective of everything here. Simulator.h has the model.
Timeline simulate(const Problem &problem, const Choice &choice,
                  const Schedule &schedule);

/// A run with all weights ready: the executes one after another, without
/// Layer::firstTouch.
double warmTime(const Problem &problem, const Choice &choice);

/// The sum of Candidate::memory.
double preparedMemory(const Problem &problem, const Choice &choice);

/// By layer, the candidate with the fastest execute; among equals the one that
/// is soonest ready.
Choice warmChoice(const Problem &problem);

/// Whether `warm`'s weights can be made from those that a plan with `cold` has
/// in its file: both read one form, or the file keeps "raw" or "packed"
/// weights, in fewer bits where `warm` reads them so.
bool derivable(const Candidate &cold, const Candidate &warm);

/// "" if every operation of the choice is in the schedule once, on a lane that
/// exists, and nothing waits for something behind it; else one line saying what
/// is wrong.
std::string checkSchedule(const Problem &problem, const Choice &choice,
                          const Schedule &schedule);

/// All of Algorithm 1: drops dominated candidates, searches combinations and
/// schedules them; then, if asked for, local search over everything.
Plan plan(const Problem &problem, const Options &options = {});

/// A time before which no plan can finish. Bound.cpp derives it.
double lowerBound(const Problem &problem);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_SEARCH_H
