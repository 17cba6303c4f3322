//===- Tuner.h - Interface to measure a processor ---------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_TUNER_H
#define NNV12_TOOLS_NNV12_TUNE_TUNER_H

#include "compiler/device/DeviceProfile.h"

#include <memory>
#include <string>
#include <vector>

namespace nnv12::tune {

struct TuneOptions {
  std::vector<std::string> bundles;
  std::string output, base, name;
  unsigned repeat = 9; ///< runs at least
  // For cores.
  std::string storage;
  std::vector<double> threads;
  unsigned storageMB = 64;
  // For a GPU.
  bool gpu = false;
  unsigned units = 0;     ///< compute units; 0: not known
  unsigned seconds = 150; ///< until it has ended
  std::string samples;    ///< where to write measurements; "": nowhere
  std::string refit;      ///< such a file, instead of measuring; "": measure
  std::string besides;    ///< a bundle of the CPUs' kernels; "": no pairs
  bool allowSoftware = false;
  std::string vulkanLibrary; ///< "": the system's
};

/// A processor with the bundles by which it is measured, which are open. Ends
/// the process with one line where something fails.
class Tuner {
public:
  explicit Tuner(const TuneOptions &options) : options(options) {}
  virtual ~Tuner() = default;

  /// The target of the bundles' programs.
  virtual std::string target() const = 0;
  /// Why measurements cannot be added to this profile; "" where they can.
  virtual std::string refusal(const device::DeviceProfile &base) const = 0;
  /// Measures the processor and its kernels, and derives peaks and
  /// coefficients.
  virtual void measure(device::DeviceProfile &profile) = 0;
  /// Prints what was found, behind the name of the profile.
  virtual void report(const device::DeviceProfile &profile) const = 0;

protected:
  const TuneOptions &options;
};

/// The CPUs: big and little cores, storage and memory.
std::unique_ptr<Tuner> coreTuner(const TuneOptions &options);
/// The GPU, in a process of its own. The rest of the profile stays.
std::unique_ptr<Tuner> deviceTuner(const TuneOptions &options);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_TUNER_H
