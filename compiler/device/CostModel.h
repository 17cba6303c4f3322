//===- CostModel.h - How long a kernel takes on a device --------*- C++ -*-===//
#ifndef NNV12_COMPILER_DEVICE_COSTMODEL_H
#define NNV12_COMPILER_DEVICE_COSTMODEL_H

#include "artifact/KernelFacts.h"
#include "compiler/device/DeviceProfile.h"
#include "compiler/search/Problem.h"

namespace nnv12::device {

using artifact::KernelFacts;

struct Cost {
  double milliseconds = 0;
  bool measured = false; ///< false: predicted
};

/// A kernel on `threads` big cores, or on one little core. The time that was
/// measured in a model, else the one that was measured alone, else the
/// prediction
///   max(2 * multiplyAdds / (compute * peak), bytes / (memory * bandwidth)) /
///   speedup + overhead
/// with the routine's Efficiency and speedup(threads) for the threads that find
/// a tile. A kernel measured with fewer threads is scaled by the speed-up
/// between the two.
Cost cost(const DeviceProfile &profile, const KernelFacts &kernel,
          unsigned threads);
Cost littleCost(const DeviceProfile &profile, const KernelFacts &kernel);

/// A part of a layer (CoDL).
struct LayerPart {
  double whole = 0;      ///< ms of all tiles, on as many threads as the part
  double wholeTiles = 1; ///< that the layer has
  double share = 1;      ///< of the result as it is stored, padding included
  /// Tiles of the part, one range behind another. Threads wait for each other
  /// between two ranges.
  std::vector<double> ranges = {1};
  /// Weights that a part reads like the whole layer: all where it has some of
  /// the rows, 0 where it has some of the channels.
  double weightBytes = 0;
};

/// Milliseconds of a part on `threads` big cores. The layer's overhead, up to
/// 30 us, is not shared, each range has one of its own (Efficiency::part), and
/// each part reads `weightBytes` from memory. The rest is shared by tiles:
/// n of them take n / threads, and about 1.5 in which some threads wait or
/// begin late.
double partCost(const DeviceProfile &profile, const std::string &routine,
                const LayerPart &part, unsigned threads);

/// 1 + (n - 1) * threadScaling for n threads, of which no more count than there
/// are big cores; where the last round of `tiles` leaves threads idle, less.
double speedup(const DeviceProfile &profile, unsigned threads, double numTiles);

/// The prediction for one big core, by these coefficients; milliseconds.
double predict(const DeviceProfile &profile, const Efficiency &e,
               const KernelFacts &kernel);

/// A dispatch in a stretch that runs already, after CoDL, section 5.2, without
/// the time stamp that kernels are measured with. The measured time if the
/// profile has one, else the prediction
///   start + max(latency * steps, load * (group + step * steps))
///         + bytes / (memory * bandwidth)
/// with load = ceil(tiles / units): a unit with few groups waits for their
/// steps, one with many is busy, and the GPU is as busy while only one unit
/// still is. Where weights come from memory, as those of a kernel that touches
/// more bytes than the cache has, steps wait for longer. A GPU that is software
/// waits for nothing, but its CPUs leave out invocations that have nothing to
/// compute, and each multiply-add counts:
///   start + load * (group + step * steps in turn / tiles)
///         + work * multiply-adds / units + bytes / (memory * bandwidth)
/// Without coefficients the groups of a routine run in waves of units *
/// groupsPerUnit. Each wave takes the time of its multiply-adds at `compute` of
/// the peak, unless memory takes longer for the bytes of all waves.
Cost cost(const GpuProfile &gpu, const KernelFacts &kernel);
/// The same with the time stamp, as kernels are measured and coefficients
/// fitted.
Cost stampedCost(const GpuProfile &gpu, const KernelFacts &kernel);
/// The prediction with it by these coefficients; microseconds.
double predict(const GpuProfile &gpu, const GpuEfficiency &e,
               const KernelFacts &kernel);
/// Whether the kernel's steps wait for memory, not for a cache.
bool readsMemory(const GpuProfile &gpu, const KernelFacts &kernel);
/// Milliseconds that were measured; 0: none were.
double measuredTime(const GpuProfile &gpu, const KernelFacts &kernel);

/// "" if a measured profile has all these kernels, else one line that counts
/// them and names the first that is missing. Profiles that were not measured
/// need none.
std::string missingKernels(const DeviceProfile &profile,
                           const std::vector<KernelFacts> &kernels);

/// The device as the search sees it, with `threads` on the execute lane: a
/// preparation lane for each little core, or, where there are none, for each
/// big core that is left over and at least one (a lane that waits for the
/// storage takes no CPU). `lanes`, if said, is their number. No more than a
/// bundle can have.
search::Device searchDevice(const DeviceProfile &profile, unsigned threads,
                            std::optional<unsigned> lanes = std::nullopt);
/// For search::Device::gpu, and the times of each of the GPU's pipelines.
search::Coprocessor searchGpu(const GpuProfile &gpu);
search::Pipeline searchPipeline(const GpuProfile &gpu);

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_COSTMODEL_H
