//===- GpuTune.h - The GPU's part of a device profile -----------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_GPUTUNE_H
#define NNV12_TOOLS_NNV12_TUNE_GPUTUNE_H

#include "compiler/device/Fit.h"
#include "tools/nnv12-tune/GpuMeasure.h"

namespace nnv12::tune {

struct GpuTuneOptions {
  GpuMeasureOptions measure;
  std::string base, output, name;
  std::string samples; ///< where to write what was measured; "": nowhere
  std::string refit;   ///< such a file, instead of measuring; "": measure
  unsigned units = 0;  ///< compute units; 0: not known
};

/// `nnv12-tune --gpu`: measures the GPU by a bundle in a process of its own,
/// fits coefficients, and writes the profile: that of `base`, or the built-in
/// one, with this GPU. Ends the process with one line where that fails.
void tuneGpu(const std::string &bundle, const GpuTuneOptions &options);

/// What follows from measurements: peaks, coefficients, and how good these are.
device::HeldOut deriveGpu(const std::vector<Sample> &kernels,
                          device::GpuProfile &gpu);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_GPUTUNE_H
