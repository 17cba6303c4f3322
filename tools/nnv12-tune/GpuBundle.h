//===- GpuBundle.h - A tuning bundle for GPUs -------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_GPUBUNDLE_H
#define NNV12_TOOLS_NNV12_TUNE_GPUBUNDLE_H

#include "artifact/ProgramView.h"
#include "runtime/LoadedBundle.h"
#include "runtime/include/nnv12.hpp"

#include <string>

namespace nnv12::tune {

/// An opened one (compiler/emit/TuningDispatches.h), whose overlay has been
/// verified.
class GpuBundle {
public:
  /// Ends the process with one line when the file is none.
  explicit GpuBundle(const std::string &path);

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
  const bundle::Overlays *overlays_ = nullptr;
};

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_GPUBUNDLE_H
