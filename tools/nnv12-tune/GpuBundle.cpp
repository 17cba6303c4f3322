//===- GpuBundle.cpp - A tuning bundle for GPUs ---------------------------===//
#include "tools/nnv12-tune/GpuBundle.h"

#include "artifact/Compatibility.h"
#include "artifact/TuningStretches.h"
#include "tools/common/Loading.h"
#include "tools/common/Report.h"

namespace nnv12::tune {

GpuBundle::GpuBundle(const std::string &path)
    : path_(path), bundle_(tools::openTuningBundle(path)) {
  artifact::Fault fault;
  const bundle::Bundle *metadata = loaded().metadata();
  if (!artifact::verifyOverlaysIn(metadata, loaded().image(), fault))
    tools::fail(path + ": " + fault.text);
  overlays_ = artifact::overlaysIn(metadata, loaded().image());
  if (bundle_.info().kind != NNV12_BUNDLE_TUNING ||
      !artifact::gpuOf(overlays_, loaded().chosenProgram()) ||
      bundle_.numInputs() != 1 || bundle_.numOutputs() != 2)
    tools::fail(path + ": found no kernels of GPUs to measure, expected a "
                       "bundle made by nnv12c --emit tuning --gpu");
  if (overlay().stretches()->size() <= artifact::firstKernelStretch)
    tools::fail(path + ": found " +
                std::to_string(overlay().stretches()->size()) +
                " stretches, expected more than " +
                std::to_string(artifact::firstKernelStretch));
}

} // namespace nnv12::tune
