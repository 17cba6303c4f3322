//===- Samples.h - Measurements of a GPU ------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_SAMPLES_H
#define NNV12_TOOLS_NNV12_TUNE_SAMPLES_H

#include "compiler/device/Fit.h"

#include <string>
#include <vector>

namespace nnv12::tune {

using artifact::KernelFacts;
using device::Sample;

/// The sample of at least one time, in microseconds.
Sample sampleOf(const KernelFacts &kernel, std::vector<double> times);

/// A kernel of the GPU and one of the CPUs, each alone and both at once;
/// microseconds.
struct PairTime {
  std::string gpu, cpu; ///< routines
  double gpuAlone, gpuBeside, cpuAlone, cpuBeside;
};

struct Samples {
  /// All but peaks, kernels and their coefficients.
  device::GpuProfile gpu;
  /// Times of many runs; on software a quarter of them is below `median`.
  std::vector<Sample> kernels;
  /// Kernels that there was no time for.
  unsigned leftOut = 0;
  std::vector<PairTime> pairs; ///< empty: not asked for
  /// Threads that the CPUs' kernels ran on, and CPUs that there are.
  unsigned pairThreads = 0, numCpus = 0;
};

/// As lines of text that processes hand over to each other.
std::string print(Samples samples);
/// False where the text is not whole.
bool parse(const std::string &text, Samples &samples);

/// How good the coefficients are.
struct Derived {
  device::HeldOut kernels;
  device::HeldOut fronts; ///< that layers have which a GPU shares with CPUs
};

/// Derives peaks and coefficients from the kernels of whole layers.
Derived derive(const std::vector<Sample> &samples, device::GpuProfile &gpu);
/// Derives how much longer each side takes beside the other, if pairs were
/// measured: the median, 1 at least. Plans count by themselves that a GPU in
/// software takes CPUs from the others.
void deriveBeside(const Samples &samples, device::GpuProfile &gpu);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_SAMPLES_H
