//===- CostModel.h - How long a kernel takes on a device --------*- C++ -*-===//
#ifndef NNV12_COMPILER_DEVICE_COSTMODEL_H
#define NNV12_COMPILER_DEVICE_COSTMODEL_H

#include "compiler/device/DeviceProfile.h"

namespace nnv12::device {

/// What a cost depends on.
struct KernelFeatures {
  std::string routine;
  std::string fingerprint; ///< key of DeviceProfile::kernels; empty: none
  double multiplyAdds = 0; ///< executed
  double bytes = 0;        ///< read and written
  int64_t tiles = 1;       ///< more threads than tiles do not help
};

struct Cost {
  double milliseconds = 0;
  bool measured = false; ///< false: predicted
};

/// A kernel on `threads` big cores, or on one little core. The measured time if
/// the profile has one, else the prediction
///   max(2 * multiplyAdds / (compute * peak), bytes / (memory * bandwidth)) + overhead.
Cost cost(const DeviceProfile &profile, const KernelFeatures &kernel,
          unsigned threads);
Cost littleCost(const DeviceProfile &profile, const KernelFeatures &kernel);

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_COSTMODEL_H
