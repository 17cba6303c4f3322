//===- Dispatches.cpp - A tuning bundle's dispatches of a GPU -------------===//
#include "tools/nnv12-tune/Dispatches.h"

#include "artifact/Compatibility.h"
#include "artifact/TuningStretches.h"
#include "tools/common/Loading.h"
#include "tools/common/Report.h"

#include <map>

namespace nnv12::tune {

DispatchBundle::DispatchBundle(const std::string &path)
    : path_(path), bundle_(tools::openTuningBundle(path)) {
  artifact::Fault fault;
  const bundle::Bundle *metadata = loaded().metadata();
  if (!artifact::verifyOverlaysIn(metadata, loaded().image(), fault))
    tools::fail(path + ": " + fault.text);
  overlays_ = artifact::gpuOverlaysIn(metadata, loaded().image());
  if (bundle_.info().kind != NNV12_BUNDLE_TUNING ||
      !artifact::gpuOf(metadata, overlays_, loaded().chosenProgram()) ||
      bundle_.numInputs() != 1 || bundle_.numOutputs() != 2)
    tools::fail(path + ": found no kernels of GPUs to measure, expected a "
                       "bundle made by nnv12c --emit tuning --gpu");
  if (overlay().stretches()->size() <= artifact::firstKernelStretch)
    tools::fail(path + ": found " +
                std::to_string(overlay().stretches()->size()) +
                " stretches, expected more than " +
                std::to_string(artifact::firstKernelStretch));
}

std::vector<PlacedKernel> kernelsOf(const DispatchBundle &bundle) {
  std::map<std::pair<std::string, bool>, size_t> numbers;
  std::vector<PlacedKernel> kernels;
  const auto *stretches = bundle.overlay().stretches();
  for (uint32_t s = artifact::firstKernelStretch; s < stretches->size(); ++s)
    for (uint32_t k = 0; k < stretches->Get(s)->dispatches()->size(); ++k) {
      const bundle::Dispatch *dispatch =
          stretches->Get(s)->dispatches()->Get(k);
      const bundle::DispatchWork *work = dispatch->work();
      if (!work)
        continue;
      auto [it, isNew] = numbers.try_emplace(
          {work->key()->str(), work->from_memory()}, kernels.size());
      if (isNew)
        kernels.emplace_back().facts = artifact::factsOf(*dispatch);
      kernels[it->second].places.push_back({s, k});
    }
  return kernels;
}

} // namespace nnv12::tune
