//===- MeasureOneByOne.h - Measures kernels of a slow GPU -------*- C++ -*-===//
//
// A session computes all of a tuning bundle at once, which takes fast GPUs
// milliseconds and software hours. Here each kernel is handed over by itself,
// so that slow ones can be left out, and all of it ends in time.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12_TUNE_MEASUREONEBYONE_H
#define NNV12_TOOLS_NNV12_TUNE_MEASUREONEBYONE_H

#include "artifact/TuningStretches.h"
#include "tools/nnv12-tune/Preparer.h"
#include "tools/nnv12-tune/Samples.h"

#include <functional>

namespace nnv12::tune {

class OneByOne : artifact::NonCopyable {
public:
  /// For a bundle whose pipelines `with` has made, and whose weights are there.
  OneByOne(const DispatchBundle &bundle, Preparer &with);
  ~OneByOne();

  /// Milliseconds of a run of all of the bundle, roughly, as some kernels say;
  /// infinity for much too long.
  double estimate();

  /// Measures submitting, waiting, a dispatch and a time stamp, and how fast
  /// results come back.
  void measureCalls(device::GpuProfile &gpu);

  /// Kernels of all routines: those that take the least time, as many as can be
  /// measured several times until `end`, in milliseconds of the clock.
  void measureKernels(double end, Samples &measured);

  bool isSoftware() const { return device.isSoftware(); }
  /// How many the device can run, in the order of their work.
  size_t numKernels() const { return kernels.size(); }
  const KernelFacts &facts(size_t kernel) const {
    return kernels[kernel].facts;
  }
  /// The most runs of a kernel that are handed over at once.
  static constexpr uint32_t mostRuns = artifact::idleDispatches;
  /// Microseconds of each of so many runs of a kernel, one behind another.
  /// Meanwhile this thread calls `beside`, if there is one.
  std::vector<double> timesOf(size_t kernel, uint32_t runs,
                              const std::function<void()> &beside = {});

private:
  using Dispatches = std::vector<const bundle::Dispatch *>;
  /// Microseconds.
  struct Run {
    double submit, wait;
    double computed;                ///< by all threads of this process
    bool isInterrupted;             ///< one of them, by another program
    std::vector<double> dispatches; ///< by time stamps; without these none
  };
  Run run(const Dispatches &dispatches, bool isStamped,
          const std::function<void()> &beside = {});
  /// Microseconds of a kernel in one of its places.
  double time(const PlacedKernel &kernel, size_t place, bool warms);
  const bundle::Dispatch *at(uint32_t stretch, uint32_t dispatch) const {
    return of.overlay().stretches()->Get(stretch)->dispatches()->Get(dispatch);
  }

  bool canRun(const PlacedKernel &kernel) const;

  const DispatchBundle &of;
  Preparer &with;
  runtime::GpuDevice &device;
  bool hasOneCpu; ///< which the device's work is done on
  runtime::GpuCommands commands;
  VkQueryPool queries = nullptr;
  /// Those that the device can run, by their work.
  std::vector<PlacedKernel> kernels;
};

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_MEASUREONEBYONE_H
