//===- GpuTables.cpp - The paper's GPU figures beside simulated ones ------===//

#include "GpuTables.h"

#include "PhoneTables.h"
#include "compiler/device/CostModel.h"
#include "compiler/search/Search.h"

#include <cstdio>

namespace nnv12::device {

using namespace search;

namespace {

// Fitted to Table 1 and Figure 13, see docs/results/phones.md.
/// Milliseconds of a big core for each MB of raw weights. Their ratio is that
/// of Table 2.
constexpr double winogradTransform = 51, packTransform = 51 / 17.3;
/// A pipeline of Winograd's by one of other kernels.
constexpr double winogradPipeline = 2.35;

// F(4,3): 36 products for 16 results of 9, of which transforms take back half,
// and weights of 36 numbers for 9.
constexpr double winogradWork = 0.5, winogradBytes = 4;

} // namespace

Problem ncnnGpuProblem(const std::vector<Conv> &network,
                       const DeviceProfile &profile, unsigned threads) {
  Problem problem = ncnnProblem(network, profile, threads);
  const GpuProfile &gpu = *profile.gpu;
  auto addPipeline = [&](double longer) {
    Pipeline pipeline = searchPipeline(gpu);
    pipeline.build *= longer;
    pipeline.cached *= longer;
    problem.pipelines.push_back(pipeline);
    return uint32_t(problem.pipelines.size() - 1);
  };
  // Transforms are work on memory.
  double slower = profile.big.memoryGBps / profile.little.memoryGBps;
  for (uint32_t i = 0; i < network.size(); ++i) {
    const Conv &conv = network[i];
    double raw = 4 * conv.weights(),
           output = 4.0 * conv.out * conv.size * conv.size;
    problem.tensors.push_back({output, i, {}, i + 1 == network.size()});
    if (i + 1 < network.size())
      problem.tensors.back().readers = {i + 1};
    auto add = [&](const char *name, double work, double form, double transform,
                   const std::vector<uint32_t> &pipelines) {
      KernelFacts f;
      f.routine = std::string("gpu.ncnn.") + name;
      f.multiplyAdds = conv.multiplyAdds() * work;
      f.tiles = 1e5; // so many that no wave is short of them
      f.bytes = output + raw * form;
      Candidate c;
      c.routine = f.routine;
      c.pipelines = pipelines;
      c.execute = cost(gpu, f).milliseconds;
      c.upload = raw * form;
      c.storage.storage = plan::Storage::raw;
      c.bytes = raw;
      c.transform = {transform * raw * 1e-6, transform * raw * 1e-6 * slower};
      problem.layers[i].inStretch.push_back(c);
      c.storage.storage = plan::Storage::transformed;
      c.bytes = raw * form;
      c.transform = {};
      problem.layers[i].inStretch.push_back(c);
    };
    add("sgemm-pack4", 1, 1, packTransform, {addPipeline(1)});
    if (conv.kernel == 3 && conv.stride == 1)
      add("winograd-pack4", winogradWork, winogradBytes, winogradTransform,
          {addPipeline(winogradPipeline), addPipeline(winogradPipeline),
           addPipeline(winogradPipeline)});
  }
  problem.tensors.push_back({4.0 * 3 * 224 * 224, Tensor::input, {0}, false});
  return problem;
}

const GpuAblation &gpuAblation() {
  static GpuAblation result = {};
  if (result.none > 0)
    return result;
  DeviceProfile profile = shippedProfile("jetson-tx2");
  Problem problem = ncnnGpuProblem(resnet50(), profile, profile.big.count);
  Options few;
  few.steps = 100000;
  Plan cpu = search::plan(problem, few);
  // The paper's planners prepare nothing for CPUs that compute nothing.
  cpu.schedule.lanes.clear();
  cpu.schedule.lanes.resize(problem.device.preparationLanes.size() + 1);
  for (uint32_t i = 0; i < problem.layers.size(); ++i) {
    Candidate &c = problem.layers[i].candidates[cpu.choice[i]];
    c.bytes = 0;
    c.decode = c.transform = {};
    cpu.schedule.lanes[0].push_back({i, Stage::Execute});
  }
  auto with = [&](bool k, bool c, bool p) {
    Options options;
    options.selectKernels = k;
    options.storedForms = options.pipelineCache = c;
    options.pipeline = p;
    return planOverlay(problem, cpu, options);
  };
  Overlay none = with(false, false, false);
  result.none = none.stretchesOnly;
  result.k = with(true, false, false).stretchesOnly;
  result.kc = with(true, true, false).stretchesOnly;
  result.kcp = with(true, true, true).stretchesOnly;
  for (uint32_t i = 0; i < problem.layers.size(); ++i) {
    const Candidate &c =
        problem.layers[i].inStretch[none.allStretches.choice[i]];
    result.read += c.bytes / problem.device.readBandwidth +
                   c.bytes * problem.device.mapPerByte.little;
    result.transform += c.transform.big;
    for (uint32_t p : c.pipelines)
      result.prepare += problem.pipelines[p].build;
  }
  result.prepare += problem.device.coprocessor->start;
  result.execute = stretchTime(problem, fastestInStretches(problem),
                               {0, uint32_t(problem.layers.size())})
                       .sum();
  return result;
}

static std::string row(const char *name, double paper, double simulated) {
  char line[200];
  snprintf(line, sizeof line, "| %s | %.0f | %.0f | %.2f |\n", name, paper,
           simulated, simulated / paper);
  return line;
}

std::string gpuTable() {
  const GpuAblation &a = gpuAblation();
  std::string text = "| ResNet-50, Jetson TX2, GPU | paper, ms | simulated, ms "
                     "| simulated / paper |\n|---|---:|---:|---:|\n";
  return text + row("weights reading", 43.03, a.read) +
         row("weights transformation", 1616.84, a.transform) +
         row("GPU preparation and first use", 3004.01 + 802.77 - 137.02,
             a.prepare) +
         row("warm inference", 137.02, a.execute) + row("none", 8272, a.none) +
         row("K", 2300, a.k) + row("K+C", 555, a.kc) + row("K+C+P", 240, a.kcp);
}

std::string gpuPlansTable() {
  std::string text =
      "| device | model | cold, CPUs | cold, GPU | plan | cold, planned | GPU "
      "starts | warm, CPUs | warm, planned |\n"
      "|---|---|---:|---:|---|---:|---|---:|---:|\n";
  const char *const starts[] = {"never", "at-open", "after-first"};
  for (const char *device : {"meizu-16t", "jetson-tx2"})
    for (const char *model : {"ResNet-50", "GoogLeNet"}) {
      DeviceProfile profile = shippedProfile(device);
      Problem problem = ncnnGpuProblem(
          model == std::string("ResNet-50") ? resnet50() : googlenet(), profile,
          profile.big.count);
      Plan cpu = search::plan(problem);
      Overlay gpu = planOverlay(problem, cpu);
      char line[300];
      std::string at = gpu.handOvers.empty()
                           ? "CPUs"
                           : "from-" + std::to_string(gpu.handOvers[0]);
      snprintf(line, sizeof line,
               "| %s | %s | %.0f | %.0f | %s | %.0f | %s | %.0f | %.0f |\n",
               device, model, gpu.cpuOnly, gpu.stretchesOnly, at.c_str(),
               gpu.finishCached, starts[unsigned(gpu.start)], gpu.warm.cpuOnly,
               gpu.warm.time);
      text += line;
    }
  return text;
}

} // namespace nnv12::device
