//===- Dispatches.h - A tuning bundle's dispatches of a GPU -----*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_DISPATCHES_H
#define NNV12_TOOLS_NNV12_TUNE_DISPATCHES_H

#include "artifact/KernelFacts.h"
#include "artifact/ProgramView.h"
#include "runtime/LoadedBundle.h"
#include "runtime/include/nnv12.hpp"

#include <string>
#include <vector>

namespace nnv12::tune {

using artifact::KernelFacts;

/// An opened tuning bundle (compiler/emit/TuningDispatches.h), whose overlay
/// has been verified.
class DispatchBundle {
public:
  /// Ends the process with one line when the file is none.
  explicit DispatchBundle(const std::string &path);

  const std::string &path() const { return path_; }
  const Bundle &bundle() const { return bundle_; }
  const nnv12_bundle &loaded() const { return *bundle_.get(); }
  const bundle::ProgramGpu &overlay() const {
    return *artifact::overlayOf(overlays_, loaded().chosenProgram());
  }
  const bundle::Gpu &gpu() const { return *overlays_->gpu(); }
  std::string target() const { return bundle_.info().target; }

private:
  std::string path_;
  Bundle bundle_;
  const bundle::GpuOverlays *overlays_ = nullptr;
};

/// A kernel that is to be measured, in several places of the bundle.
struct PlacedKernel {
  struct Place {
    uint32_t stretch, dispatch;
  };
  KernelFacts facts;
  std::vector<Place> places;
};

/// Each once, in the order in which they come.
std::vector<PlacedKernel> kernelsOf(const DispatchBundle &bundle);

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_DISPATCHES_H
