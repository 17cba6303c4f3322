//===- HostTuning.h - Measures this machine while compiling -----*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12C_HOSTTUNING_H
#define NNV12_TOOLS_NNV12C_HOSTTUNING_H

#include "compiler/codegen/cpu/Target.h"
#include "compiler/device/DeviceProfile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace nnv12 {

struct TuneOptions {
  /// Where times are remembered; empty: device::defaultCacheFolder().
  std::string cacheFolder;
  bool useCache = true;
  /// Layers are measured in all layouts that a net may give them.
  bool otherLayouts = false;
  /// A tuning bundle has parts of layers as well.
  bool parts = false;
  /// The fastest kernels are measured inside of the model as well.
  bool inModel = false;
};

/// The folder in which things are remembered, made if need be; "" where there
/// is none or it cannot be written.
std::string usableCacheFolder(const TuneOptions &options);

/// Adds measured times to the cache in `folder`, which may be "": nothing is
/// remembered. `profile` gets the times that were there before. A cache that
/// cannot be written is a warning.
void remember(const std::string &folder, const codegen::Target &target,
              device::DeviceProfile &profile);

/// A warning on standard error, of --target host.
void warnOfHost(const llvm::Twine &message);

/// Built-in costs with this machine's number of CPUs.
device::DeviceProfile hostBuiltin(const codegen::Target &target);

/// Costs of this machine for `main`, whose layers have their layouts: a profile
/// with every candidate's kernels. Those that are not remembered from an
/// earlier compile are measured: a tuning bundle of them is made, and
/// nnv12-tune, which stands beside this program, runs it. That is a process of
/// its own, so that a fault in it does not end the compile: costs of
/// kernels that it did not measure are predicted then, with a warning on
/// standard error, as for a cache that cannot be written. Fails, with a
/// diagnostic, only where kernels cannot be compiled.
mlir::FailureOr<device::DeviceProfile> tuneHost(mlir::func::FuncOp main,
                                                const codegen::Target &target,
                                                const TuneOptions &options);

/// Removes from a measured profile the times of those kernels of `main` for
/// which this compiler generates other code for `target`, and returns how many
/// they are. Where the profile is of this compiler's own revision, tuned for
/// the same, it has none, and nothing is generated to find out. The profile is
/// of this revision afterwards; entries of kernels that `main` has no use for
/// are removed as well, uncounted; with `otherLayouts` it has a use for those
/// of its layers in other layouts. Fails with a diagnostic.
mlir::FailureOr<size_t> dropStaleTimes(mlir::func::FuncOp main,
                                       const codegen::Target &target,
                                       device::DeviceProfile &profile,
                                       bool otherLayouts);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_HOSTTUNING_H
