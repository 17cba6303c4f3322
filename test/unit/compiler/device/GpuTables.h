//===- GpuTables.h - The paper's GPU figures, simulated ---------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_DEVICE_GPUTABLES_H
#define NNV12_TEST_UNIT_COMPILER_DEVICE_GPUTABLES_H

#include "Networks.h"
#include "compiler/search/Overlay.h"

namespace nnv12::device {

/// ncnnProblem() with ncnn's Vulkan kernels beside those for CPUs: for each
/// convolution a pipeline of its own, for Winograd's three that are longer to
/// build. docs/results/phones.md says what is from the paper and what is fitted
/// to it.
search::Problem ncnnGpuProblem(const std::vector<Conv> &network,
                               const DeviceProfile &profile, unsigned threads);

/// NNV12's way, without and with each of its parts: all on the GPU, which the
/// CPUs prepare.
struct GpuAblation {
  double none, k, kc, kcp;
  /// Where the first goes, as Table 1 divides it, and a warm run.
  double read, transform, prepare, execute;
};
/// ResNet-50 on the Jetson TX2. Computed once.
const GpuAblation &gpuAblation();

/// Markdown tables, in docs/results/phones.md.
std::string gpuTable();
std::string gpuPlansTable();

} // namespace nnv12::device

#endif // NNV12_TEST_UNIT_COMPILER_DEVICE_GPUTABLES_H
