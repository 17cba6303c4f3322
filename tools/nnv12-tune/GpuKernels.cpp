//===- GpuKernels.cpp - The kernels of a tuning bundle for GPUs -----------===//
#include "tools/nnv12-tune/GpuKernels.h"

#include "artifact/TuningStretches.h"
#include "tools/common/Statistics.h"

#include <algorithm>
#include <map>

namespace nnv12::tune {

std::vector<GpuKernel> kernelsOf(const GpuBundle &bundle) {
  std::map<std::pair<std::string, bool>, size_t> numbers;
  std::vector<GpuKernel> kernels;
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

Sample sampleOf(const GpuKernel &kernel, std::vector<double> times) {
  tools::Statistics of(std::move(times));
  Sample sample;
  sample.facts = kernel.facts;
  // A clock that stands still makes no kernel free.
  sample.median = std::max(of.median, 1e-3);
  sample.p10 = of.p10;
  sample.p90 = of.p90;
  return sample;
}

} // namespace nnv12::tune
