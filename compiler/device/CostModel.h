//===- CostModel.h - How long a kernel takes on a device --------*- C++ -*-===//
#ifndef NNV12_COMPILER_DEVICE_COSTMODEL_H
#define NNV12_COMPILER_DEVICE_COSTMODEL_H

#include "compiler/device/DeviceProfile.h"
#include "compiler/search/Problem.h"

namespace nnv12::device {

/// What a cost depends on.
struct KernelFeatures {
  std::string routine;
  std::string key;         ///< key of DeviceProfile::kernels; empty: none
  double multiplyAdds = 0; ///< executed
  double bytes = 0;        ///< read and written
  int64_t tiles = 1;       ///< more threads than tiles do not help
  std::string code = {};   ///< KernelTime::code of what is to be measured
};

struct Cost {
  double milliseconds = 0;
  bool measured = false; ///< false: predicted
};

/// A kernel on `threads` big cores, or on one little core. The measured time if
/// the profile has one, else the prediction
///   max(2 * multiplyAdds / (compute * peak), bytes / (memory * bandwidth)) /
///   speedup + overhead
/// with the routine's Efficiency and speedup(threads) for the threads that find
/// a tile. A kernel measured with fewer threads is scaled by the speed-up
/// between the two.
Cost cost(const DeviceProfile &profile, const KernelFeatures &kernel,
          unsigned threads);
Cost littleCost(const DeviceProfile &profile, const KernelFeatures &kernel);

/// 1 + (n - 1) * threadScaling for n threads, of which no more count than there
/// are big cores; where the last round of `tiles` leaves threads idle, less.
double speedup(const DeviceProfile &profile, unsigned threads, int64_t tiles);

/// "" if a measured profile has all these kernels, else one line that counts
/// them and names the first that is missing. Profiles that were not measured
/// need none.
std::string missingKernels(const DeviceProfile &profile,
                           const std::vector<KernelFeatures> &kernels);

/// The device as the search sees it, with `threads` on the execute lane: a
/// preparation lane for each little core, or, where there are none, for each
/// big core that is left over and at least one (a lane that waits for the
/// storage takes no CPU). `lanes`, if said, is their number. No more than a
/// bundle can have.
search::Device searchDevice(const DeviceProfile &profile, unsigned threads,
                            std::optional<unsigned> lanes = std::nullopt);

/// How well predictions agree with measured times.
struct Fit {
  unsigned kernels = 0; ///< that were measured and have features
  double errorBefore =
      0; ///< median of |predicted / measured - 1|, coefficients as they were
  double errorAfter = 0; ///< with the fitted ones
};

/// Replaces coefficients of `profile.efficiency` by such that predict its
/// measured kernels, so that kernels of this device which were not measured are
/// predicted from those which were: for each routine family ("conv.direct")
/// with measured kernels, for what the families share
/// ("conv") and for all (""). Families without measured kernels are scaled by
/// the median error of the others. Least mean |log(predicted / measured)| by
/// coordinate descent.
Fit fitEfficiency(DeviceProfile &profile,
                  const std::vector<KernelFeatures> &features);

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_COSTMODEL_H
