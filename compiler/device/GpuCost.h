//===- GpuCost.h - How long a GPU kernel takes ------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_DEVICE_GPUCOST_H
#define NNV12_COMPILER_DEVICE_GPUCOST_H

#include "compiler/device/CostModel.h"

namespace nnv12::device {

/// What the cost of a dispatch depends on.
struct GpuKernelFeatures {
  std::string routine;
  std::string key;         ///< key of GpuProfile::kernels; empty: none
  double groups = 1;       ///< work groups
  double steps = 1;        ///< inner reduction steps of a group
  double bytes = 0;        ///< read and written
  unsigned barriers = 0;   ///< before it, and inside of a group
  double multiplyAdds = 0; ///< where nothing is known of the routine
  bool fromMemory = false; ///< its weights are, not from a cache of the GPU
  /// Steps of all groups that a CPU computes one after another, without what
  /// has nothing to compute; 0: groups * steps.
  double stepsInTurn = 0;
};

/// A dispatch in a stretch that runs already, after CoDL, section 5.2, without
/// the time stamp that kernels are measured with. The measured time if the
/// profile has one, else the prediction
///   start + max(latency * steps, load * (group + step * steps))
///         + bytes / (memory * bandwidth)
/// with load = ceil(groups / units): a unit with few groups waits for their
/// steps, one with many is busy, and the GPU is as busy while only one unit
/// still is. Where weights come from memory, as those of a kernel that touches
/// more bytes than the cache has, steps wait for longer. A GPU that is software
/// waits for nothing, but its CPUs leave out invocations that have nothing to
/// compute, and each multiply-add counts:
///   start + load * (group + step * steps in turn / groups)
///         + work * multiply-adds / units + bytes / (memory * bandwidth)
/// Of a
/// routine without coefficients groups run in waves of units * groupsPerUnit,
/// each of which takes what `compute` of the peak makes of its multiply-adds,
/// or all of them what the memory takes for the bytes.
Cost gpuCost(const GpuProfile &gpu, const GpuKernelFeatures &kernel);
/// The same with the time stamp, as kernels are measured and coefficients
/// fitted.
Cost gpuStampedCost(const GpuProfile &gpu, const GpuKernelFeatures &kernel);
/// The sum of a routine's dispatches; measured if all are.
Cost gpuCost(const GpuProfile &gpu,
             const std::vector<GpuKernelFeatures> &kernels);

/// Replaces coefficients of `gpu.efficiency` by such that predict its measured
/// kernels, as fitEfficiency() does for CPUs: of each kind of kernel
/// ("gpu.conv.gemm.16x4"), of each family ("gpu.conv") and of all ("").
/// Families without measured kernels stay as they are.
Fit fitGpuEfficiency(GpuProfile &gpu,
                     const std::vector<GpuKernelFeatures> &features);

/// Bytes that the coefficients of a family take: five numbers, and with weights
/// six, for each kind of kernel of its routines; of software up to five. Names
/// are not counted.
size_t coefficientBytes(const GpuProfile &gpu, const std::string &family);

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_GPUCOST_H
