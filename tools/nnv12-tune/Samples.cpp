//===- Samples.cpp - Measurements of a GPU --------------------------------===//
#include "tools/nnv12-tune/Samples.h"

#include "artifact/TuningParts.h"
#include "tools/common/Statistics.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <map>
#include <sstream>

namespace nnv12::tune {

/// A kernel of more multiply-adds tells what a peak is worth.
static constexpr double largeMultiplyAdds = 5e7;

Sample sampleOf(const KernelFacts &kernel, std::vector<double> times) {
  tools::Statistics of(std::move(times));
  Sample sample;
  sample.facts = kernel;
  // A clock that stands still makes no kernel free.
  sample.median = std::max(of.median, 1e-3);
  sample.p10 = of.p10;
  sample.p90 = of.p90;
  return sample;
}

namespace {

/// Texts are in quotes.
template <typename Value> decltype(auto) asField(Value &value) {
  if constexpr (std::is_same_v<Value, std::string>)
    return std::quoted(value);
  else
    return (value);
}

/// Writes fields, each with the separator behind it.
struct Printer {
  std::ostringstream text;

  bool isGood() const { return true; }
  template <typename Value> void operator()(Value &value, char end = '\n') {
    text << asField(value) << end;
  }
};

struct Parser {
  std::istringstream text;

  bool isGood() const { return bool(text); }
  template <typename Value> void operator()(Value &value, char = 0) {
    text >> asField(value);
  }
};

/// Several fields, each with the separator behind it.
template <typename Visitor, typename... Values>
void visitEach(Visitor &visitor, char end, Values &...values) {
  (visitor(values, end), ...);
}

/// All values, behind their number.
template <typename Value, typename Visitor, typename Visit>
void visitList(std::vector<Value> &values, Visitor &visitor, Visit visit) {
  size_t size = values.size();
  visitor(size);
  for (size_t i = 0; i < size && visitor.isGood(); ++i) {
    if (i == values.size())
      values.emplace_back();
    visit(values[i]);
  }
}

/// Visits everything in one order for both ways. False where a value is not
/// allowed.
template <typename Visitor> bool visitAll(Samples &measured, Visitor &visit) {
  device::GpuProfile &gpu = measured.gpu;
  visitEach(visit, '\n', gpu.name, gpu.driver, gpu.date, gpu.api, gpu.startMs,
            gpu.pipelineMs, gpu.pipelineCachedMs, gpu.pipelineThreads,
            gpu.pipelineScaling, gpu.lazyPipelines, gpu.uploadGBps,
            gpu.inputGBps, gpu.downloadGBps, gpu.submitUs, gpu.syncUs,
            gpu.dispatchUs, gpu.stampUs, gpu.hostCores);
  int kind = int(gpu.kind);
  visit(kind);
  if (!visit.isGood() || kind < 0 || kind > int(device::GpuKind::Software))
    return false;
  gpu.kind = device::GpuKind(kind);
  visitList(gpu.features, visit, [&](std::string &feature) { visit(feature); });
  visit(measured.leftOut);
  visitList(measured.kernels, visit, [&](Sample &kernel) {
    KernelFacts &f = kernel.facts;
    visitEach(visit, ' ', f.routine, f.key, f.tiles, f.steps, f.bytes,
              f.barriers, f.multiplyAdds, f.fromMemory, f.stepsInTurn,
              kernel.median, kernel.p10);
    visit(kernel.p90);
  });
  return true;
}

template <typename Visitor> void visitPairs(Samples &measured, Visitor &visit) {
  visitEach(visit, '\n', measured.pairThreads, measured.numCpus);
  visitList(measured.pairs, visit, [&](PairTime &pair) {
    visitEach(visit, ' ', pair.gpu, pair.cpu, pair.gpuAlone, pair.gpuBeside,
              pair.cpuAlone);
    visit(pair.cpuBeside);
  });
}

/// Behind all else there may be the word that the device copies, and pairs.
constexpr const char *last = "end", *copies = "copies", *pairsFollow = "pairs";

} // namespace

std::string print(Samples samples) {
  Printer printer;
  printer.text << std::setprecision(17);
  visitAll(samples, printer);
  if (!samples.gpu.imports)
    printer.text << copies << "\n";
  if (!samples.pairs.empty()) {
    printer.text << pairsFollow << "\n";
    visitPairs(samples, printer);
  }
  printer.text << last << "\n";
  return printer.text.str();
}

bool parse(const std::string &text, Samples &samples) {
  Parser parser{std::istringstream(text)};
  if (!visitAll(samples, parser))
    return false;
  std::string end;
  parser.text >> end;
  samples.gpu.imports = end != copies;
  if (end == copies)
    parser.text >> end;
  if (end == pairsFollow) {
    visitPairs(samples, parser);
    parser.text >> end;
  }
  return parser.isGood() && end == last;
}

/// Megabytes that stayed in a cache: of the largest kernel that was slower by a
/// tenth with its weights in memory.
static double cacheOf(const std::vector<Sample> &kernels) {
  std::map<std::string, double> fromCache;
  for (const Sample &kernel : kernels)
    if (!kernel.facts.fromMemory)
      fromCache[kernel.facts.key] = kernel.median;
  double bytes = 0;
  for (const Sample &kernel : kernels)
    if (auto found = fromCache.find(kernel.facts.key);
        kernel.facts.fromMemory && found != fromCache.end() &&
        kernel.median > 1.1 * found->second)
      bytes = std::max(bytes, kernel.facts.bytes);
  return bytes * 1e-6;
}

void deriveBeside(const Samples &samples, device::GpuProfile &gpu) {
  if (samples.pairs.empty())
    return;
  std::vector<double> ofGpu, ofCpu;
  for (const PairTime &pair : samples.pairs) {
    ofGpu.push_back(pair.gpuBeside / pair.gpuAlone);
    ofCpu.push_back(pair.cpuBeside / pair.cpuAlone);
  }
  double crowding = gpu.kind == device::GpuKind::Software
                        ? double(samples.pairThreads + gpu.hostCores) /
                              double(std::max(samples.numCpus, 1u))
                        : 1;
  // As many digits as there are in it.
  auto losses = [&](const std::vector<double> &of) {
    double ratio = tools::median(of) / std::max(1.0, crowding);
    return std::max(1.0, std::round(ratio * 1000) / 1000);
  };
  gpu.beside = losses(ofGpu);
  gpu.besideCpu = losses(ofCpu);
}

Derived derive(const std::vector<Sample> &samples, device::GpuProfile &gpu) {
  std::vector<Sample> kernels, fronts;
  for (const Sample &sample : samples)
    (artifact::wholeKey(sample.facts.key).empty() ? kernels : fronts)
        .push_back(sample);
  double gflops = 0, memoryGBps = 0;
  for (const Sample &kernel : kernels) {
    const KernelFacts &f = kernel.facts;
    gflops = std::max(gflops, 2e-3 * f.multiplyAdds / kernel.median);
    memoryGBps = std::max(memoryGBps, 1e-3 * f.bytes / kernel.median);
  }
  gpu.gflops = std::max(gflops, 1e-3);
  gpu.memoryGBps = std::max(memoryGBps, 1e-3);
  std::vector<double> parts;
  for (const Sample &kernel : kernels)
    if (kernel.facts.multiplyAdds >= largeMultiplyAdds)
      parts.push_back(2e-3 * kernel.facts.multiplyAdds / kernel.median /
                      gpu.gflops);
  if (!parts.empty())
    gpu.compute = tools::median(parts);
  gpu.cacheMB = cacheOf(kernels);
  gpu.measured = true;
  Derived result;
  result.kernels = device::fitAndHoldOut(gpu, kernels);
  result.fronts = device::predictFronts(gpu, kernels, fronts);
  return result;
}

} // namespace nnv12::tune
