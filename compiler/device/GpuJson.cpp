//===- GpuJson.cpp - The GPU of a device profile as JSON ------------------===//

#include "compiler/device/GpuJson.h"

#include <cstdio>
#include <cstdlib>
#include <iterator>

namespace nnv12::device {

static constexpr const char *kinds[] = {"discrete", "unified", "software"};

static void readFeatures(Fields &fields, GpuProfile &gpu) {
  constexpr const char *expected = "an array of names";
  const Json *value = fields.find("features", false);
  if (!value)
    return;
  if (!value->is_array())
    return fields.fail("features", *value, expected);
  for (const Json &name : *value) {
    if (!name.is_string())
      return fields.fail("features", name, expected);
    gpu.features.push_back(*name.get_ptr<const Json::string_t *>());
  }
}

static void readKind(Fields &fields, GpuProfile &gpu) {
  const Json *value = fields.find("kind", true);
  if (!value)
    return;
  for (size_t i = 0; i < std::size(kinds); ++i)
    if (value->is_string() &&
        *value->get_ptr<const Json::string_t *>() == kinds[i]) {
      gpu.kind = GpuKind(i);
      return;
    }
  fields.fail("kind", *value, "'discrete', 'unified' or 'software'");
}

static void readEfficiency(const Json &section, GpuProfile &gpu,
                           std::string &error) {
  for (const auto &[routine, value] : section.items()) {
    std::string prefix = "gpu.efficiency." + routine;
    if (!value.is_object()) {
      error = prefix + ": found " + describe(value) + ", expected an object";
      return;
    }
    GpuEfficiency e;
    Fields fields(value, prefix + ".", error);
    auto number = [&](const char *name, float &to, Fields::Range bound) {
      double value = to;
      fields.number(name, value, bound);
      to = float(value);
    };
    number("startUs", e.start, Fields::NotNegative);
    number("latencyUs", e.latency, Fields::NotNegative);
    number("groupUs", e.group, Fields::NotNegative);
    number("stepUs", e.step, Fields::NotNegative);
    number("memory", e.memory, Fields::Rate);
    e.latencyFromMemory = e.latency;
    if (value.contains("latencyFromMemoryUs"))
      number("latencyFromMemoryUs", e.latencyFromMemory, Fields::NotNegative);
    if (value.contains("workUs"))
      number("workUs", e.work, Fields::NotNegative);
    if (!error.empty())
      return;
    gpu.efficiency[routine] = e;
  }
}

static void readKernels(const Json &section, GpuProfile &gpu,
                        std::string &error) {
  for (const auto &[key, value] : section.items()) {
    std::string prefix = "gpu.kernels." + key;
    if (!value.is_object()) {
      error = prefix + ": found " + describe(value) + ", expected an object";
      return;
    }
    GpuKernelTime time;
    Fields fields(value, prefix + ".", error);
    fields.number("ms", time.milliseconds, Fields::Positive);
    fields.number("msFromMemory", time.millisecondsFromMemory,
                  Fields::NotNegative, false);
    fields.optionalText("code", time.code);
    if (!error.empty())
      return;
    gpu.kernels[key] = std::move(time);
  }
}

GpuProfile readGpu(const Json &object, std::string &error) {
  GpuProfile gpu;
  Fields fields(object, "gpu.", error);
  fields.text("name", gpu.name);
  fields.optionalText("driver", gpu.driver);
  fields.optionalText("date", gpu.date);
  fields.text("api", gpu.api);
  readFeatures(fields, gpu);
  readKind(fields, gpu);
  fields.boolean("measured", gpu.measured);
  fields.count("units", gpu.units, 1);
  fields.count("groupsPerUnit", gpu.groupsPerUnit, 1);
  fields.number("gflops", gpu.gflops, Fields::Rate);
  fields.number("gflopsF16", gpu.gflopsF16, Fields::NotNegative, false);
  fields.number("memoryGBps", gpu.memoryGBps, Fields::Rate);
  fields.number("cacheMB", gpu.cacheMB, Fields::NotNegative, false);
  fields.number("compute", gpu.compute, Fields::Rate, false);
  fields.number("startMs", gpu.startMs, Fields::NotNegative);
  fields.number("pipelineMs", gpu.pipelineMs, Fields::NotNegative);
  gpu.pipelineCachedMs = gpu.pipelineMs;
  fields.number("pipelineCachedMs", gpu.pipelineCachedMs, Fields::NotNegative,
                false);
  fields.count("pipelineThreads", gpu.pipelineThreads, 1, false);
  fields.count("pipelineBatch", gpu.pipelineBatch, 1, false);
  fields.number("pipelineScaling", gpu.pipelineScaling, Fields::PartOfOne,
                false);
  fields.boolean("lazyPipelines", gpu.lazyPipelines, false);
  fields.number("uploadGBps", gpu.uploadGBps, Fields::Rate);
  gpu.inputGBps = gpu.downloadGBps = gpu.uploadGBps;
  fields.number("inputGBps", gpu.inputGBps, Fields::Rate, false);
  fields.number("downloadGBps", gpu.downloadGBps, Fields::Rate, false);
  fields.number("submitUs", gpu.submitUs, Fields::NotNegative);
  fields.number("syncUs", gpu.syncUs, Fields::NotNegative);
  fields.number("dispatchUs", gpu.dispatchUs, Fields::NotNegative);
  fields.number("stampUs", gpu.stampUs, Fields::NotNegative, false);
  fields.number("flushUsPerMB", gpu.flushUsPerMB, Fields::NotNegative, false);
  fields.count("hostCores", gpu.hostCores, 0, false);
  if (!error.empty())
    return gpu;
  if (gpu.kind == GpuKind::Software && gpu.hostCores == 0)
    error = "gpu.hostCores: found 0, expected the CPUs that a GPU in software "
            "computes on";
  else if (gpu.kind != GpuKind::Software && gpu.hostCores > 0)
    fields.fail("hostCores", object["hostCores"],
                "0 where the GPU is not software");
  if (const Json *section = fields.section("efficiency", false))
    readEfficiency(*section, gpu, error);
  if (!error.empty())
    return gpu;
  // What was measured of kernels is the point of a measured profile.
  if (const Json *section = fields.section("kernels", gpu.measured))
    readKernels(*section, gpu, error);
  return gpu;
}

/// As many digits as a float has.
static double rounded(float value) {
  char text[32];
  snprintf(text, sizeof text, "%.6g", double(value));
  return strtod(text, nullptr);
}

Json gpuJson(const GpuProfile &gpu) {
  Json json = {{"name", gpu.name},
               {"api", gpu.api},
               {"features", gpu.features},
               {"kind", kinds[size_t(gpu.kind)]},
               {"measured", gpu.measured},
               {"units", gpu.units},
               {"groupsPerUnit", gpu.groupsPerUnit},
               {"gflops", gpu.gflops},
               {"gflopsF16", gpu.gflopsF16},
               {"memoryGBps", gpu.memoryGBps},
               {"cacheMB", gpu.cacheMB},
               {"compute", gpu.compute},
               {"startMs", gpu.startMs},
               {"pipelineMs", gpu.pipelineMs},
               {"pipelineCachedMs", gpu.pipelineCachedMs},
               {"pipelineThreads", gpu.pipelineThreads},
               {"pipelineBatch", gpu.pipelineBatch},
               {"pipelineScaling", gpu.pipelineScaling},
               {"lazyPipelines", gpu.lazyPipelines},
               {"uploadGBps", gpu.uploadGBps},
               {"inputGBps", gpu.inputGBps},
               {"downloadGBps", gpu.downloadGBps},
               {"submitUs", gpu.submitUs},
               {"syncUs", gpu.syncUs},
               {"dispatchUs", gpu.dispatchUs},
               {"stampUs", gpu.stampUs},
               {"flushUsPerMB", gpu.flushUsPerMB},
               {"hostCores", gpu.hostCores}};
  if (!gpu.driver.empty())
    json["driver"] = gpu.driver;
  if (!gpu.date.empty())
    json["date"] = gpu.date;
  json["efficiency"] = Json::object();
  for (const auto &[routine, e] : gpu.efficiency) {
    Json &of = json["efficiency"][routine];
    of = {{"startUs", rounded(e.start)},
          {"latencyUs", rounded(e.latency)},
          {"groupUs", rounded(e.group)},
          {"stepUs", rounded(e.step)},
          {"memory", rounded(e.memory)}};
    if (e.latencyFromMemory != e.latency)
      of["latencyFromMemoryUs"] = rounded(e.latencyFromMemory);
    if (e.work > 0)
      of["workUs"] = rounded(e.work);
  }
  json["kernels"] = Json::object();
  for (const auto &[key, time] : gpu.kernels) {
    json["kernels"][key]["ms"] = time.milliseconds;
    if (time.millisecondsFromMemory > 0)
      json["kernels"][key]["msFromMemory"] = time.millisecondsFromMemory;
    if (!time.code.empty())
      json["kernels"][key]["code"] = time.code;
  }
  return json;
}

} // namespace nnv12::device
