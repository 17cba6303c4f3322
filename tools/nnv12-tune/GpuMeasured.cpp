//===- GpuMeasured.cpp - What was measured of a GPU -----------------------===//
#include "tools/nnv12-tune/GpuMeasured.h"

#include <iomanip>
#include <sstream>

namespace nnv12::tune {

namespace {

/// Visits each field with its name, in one order for both ways.
template <typename Gpu, typename Visit>
void forEachField(Gpu &gpu, Visit &&visit) {
  visit(gpu.name);
  visit(gpu.driver);
  visit(gpu.date);
  visit(gpu.api);
  visit(gpu.startMs);
  visit(gpu.pipelineMs);
  visit(gpu.pipelineCachedMs);
  visit(gpu.pipelineThreads);
  visit(gpu.pipelineScaling);
  visit(gpu.lazyPipelines);
  visit(gpu.uploadGBps);
  visit(gpu.inputGBps);
  visit(gpu.downloadGBps);
  visit(gpu.submitUs);
  visit(gpu.syncUs);
  visit(gpu.dispatchUs);
  visit(gpu.stampUs);
  visit(gpu.hostCores);
}

constexpr const char *last = "end";

} // namespace

std::string print(const GpuMeasured &measured) {
  std::ostringstream out;
  out << std::setprecision(17);
  auto write = [&](const auto &value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
      out << std::quoted(value) << "\n";
    else
      out << value << "\n";
  };
  forEachField(measured.gpu, write);
  out << int(measured.gpu.kind) << "\n" << measured.gpu.features.size() << "\n";
  for (const std::string &feature : measured.gpu.features)
    write(feature);
  out << measured.leftOut << "\n" << measured.kernels.size() << "\n";
  for (const Sample &kernel : measured.kernels) {
    const KernelFacts &f = kernel.facts;
    out << std::quoted(f.routine) << " " << std::quoted(f.key) << " " << f.tiles
        << " " << f.steps << " " << f.bytes << " " << f.barriers << " "
        << f.multiplyAdds << " " << f.fromMemory << " " << f.stepsInTurn << " "
        << kernel.median << " " << kernel.p10 << " " << kernel.p90 << "\n";
  }
  out << last << "\n";
  return out.str();
}

bool parse(const std::string &text, GpuMeasured &measured) {
  std::istringstream in(text);
  auto read = [&](auto &value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>)
      in >> std::quoted(value);
    else
      in >> value;
  };
  forEachField(measured.gpu, read);
  int kind = 0;
  size_t features = 0, kernels = 0;
  in >> kind >> features;
  if (!in || kind < 0 || kind > int(device::GpuKind::Software))
    return false;
  measured.gpu.kind = device::GpuKind(kind);
  for (size_t i = 0; in && i < features; ++i)
    read(measured.gpu.features.emplace_back());
  in >> measured.leftOut >> kernels;
  for (size_t i = 0; in && i < kernels; ++i) {
    Sample kernel;
    KernelFacts &f = kernel.facts;
    in >> std::quoted(f.routine) >> std::quoted(f.key) >> f.tiles >> f.steps >>
        f.bytes >> f.barriers >> f.multiplyAdds >> f.fromMemory >>
        f.stepsInTurn >> kernel.median >> kernel.p10 >> kernel.p90;
    measured.kernels.push_back(std::move(kernel));
  }
  std::string end;
  in >> end;
  return bool(in) && end == last;
}

} // namespace nnv12::tune
