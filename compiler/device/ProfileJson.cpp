//===- ProfileJson.cpp - Device profiles as JSON --------------------------===//

#include "artifact/AtomicFile.h"
#include "artifact/MappedFile.h"
#include "compiler/device/DeviceProfile.h"
#include "compiler/device/JsonFields.h"

#include <iterator>

namespace nnv12::device {

namespace {

/// Targets by architecture, each base behind its extensions, the greatest one
/// first; the same names as codegen::Target.
constexpr const char *targets[][2] = {
    {"x86-64-v4+amx", "x86-64"},    {"x86-64-v4+vnni", "x86-64"},
    {"x86-64-v4", "x86-64"},        {"x86-64-v3+vnni", "x86-64"},
    {"x86-64-v3", "x86-64"},        {"aarch64+i8mm", "aarch64"},
    {"aarch64+dotprod", "aarch64"}, {"aarch64", "aarch64"}};

constexpr const char *kinds[] = {"discrete", "unified", "software"};

void visitCore(Fields &fields, CoreKind &core, unsigned least) {
  fields.text("name", core.name);
  fields.count("count", core.count, least);
  // Cores that do not exist need no numbers.
  if (!core.count)
    return;
  fields.number("gflops", core.gflops, Fields::Rate);
  fields.number("memoryGBps", core.memoryGBps, Fields::Rate);
}

/// Times by threads. 0, where `mayLack`: not measured.
void visitTimes(Fields &fields, const char *name, bool mayLack,
                std::vector<double> &times) {
  if ((mayLack && fields.target() && times.empty()) ||
      fields.write(name, times))
    return;
  const Json *value =
      fields.find(name, !mayLack, "an array of times", &Json::is_array);
  if (!value)
    return;
  for (const Json &time : *value) {
    if (!Fields::holds(time, mayLack ? Fields::NotNegative : Fields::Positive))
      return fields.fail(name, time,
                         mayLack ? "times of 0 or more" : "times above 0");
    times.push_back(time.get<double>());
  }
}

void visitArrival(Fields &fields, DeviceProfile &p) {
  constexpr const char *expected =
      "pairs of megabytes and microseconds, both ascending from 0";
  if (Json *object = fields.target()) {
    for (const DeviceProfile::Arrival &point : p.arrival)
      (*object)["arrival"].push_back({point.megabytes, point.us});
    return;
  }
  const Json *value = fields.find("arrival", false, expected, &Json::is_array);
  if (!value)
    return;
  DeviceProfile::Arrival last = {0, 0};
  for (const Json &pair : *value) {
    bool good = pair.is_array() && pair.size() == 2 &&
                Fields::holds(pair[0], Fields::NotNegative) &&
                Fields::holds(pair[1], Fields::NotNegative);
    DeviceProfile::Arrival point = {good ? pair[0].get<double>() : 0,
                                    good ? pair[1].get<double>() : 0};
    if (!good || point.megabytes < last.megabytes || point.us < last.us)
      return fields.fail("arrival", good ? pair[1] : pair, expected);
    p.arrival.push_back(last = point);
  }
}

void visitKind(Fields &fields, GpuKind &kind) {
  if (fields.write("kind", kinds[size_t(kind)]))
    return;
  const Json *value = fields.find("kind", true);
  if (!value)
    return;
  for (size_t i = 0; i < std::size(kinds); ++i)
    if (value->is_string() &&
        *value->get_ptr<const Json::string_t *>() == kinds[i]) {
      kind = GpuKind(i);
      return;
    }
  fields.fail("kind", *value, "'discrete', 'unified' or 'software'");
}

/// A device's times for other things than kernels.
void visitDevice(Fields &top, DeviceProfile &p) {
  constexpr auto notNegative = Fields::NotNegative;
  top.in("storage", [&](Fields &f) {
    f.number("readMBps", p.readMBps, Fields::Rate);
    f.number("readLatencyUs", p.readLatencyUs, notNegative);
    f.number("startUs", p.startUs, notNegative, false);
    f.number("sessionUs", p.sessionUs, notNegative, false);
    f.number("tinyStartUs", p.tinyStartUs, notNegative, false);
    f.number("startUsPerLayer", p.startUsPerLayer, notNegative, false);
    f.number("startUsPerMB", p.startUsPerMB, notNegative, false);
    f.number("laneStartUs", p.laneStartUs, notNegative, false);
    f.number("mapUsPerMB", p.mapUsPerMB, notNegative);
    f.numberOr("mapLittleUsPerMB", p.mapLittleUsPerMB, p.mapUsPerMB,
               notNegative);
    visitArrival(f, p);
  });
  top.in("memory", [&](Fields &f) {
    f.number("firstTouchUsPerMB", p.firstTouchUsPerMB, notNegative);
    f.numberOr("firstTouchSmallUsPerMB", p.firstTouchSmallUsPerMB,
               p.firstTouchUsPerMB, notNegative);
    f.number("preparedMB", p.preparedMB, notNegative, false);
    f.number("mostPreparedMB", p.mostPreparedMB, notNegative, false);
    f.number("laterMsPerMB", p.laterMsPerMB, notNegative, false);
  });
  top.in("codecs", [&](Fields &f) {
    f.number("zstdStartUs", p.zstdStartUs, notNegative, false);
    f.number("zstdMBps", p.zstdMBps, Fields::Rate);
    f.numberOr("zstdLittleMBps", p.zstdLittleMBps, p.zstdMBps, Fields::Rate);
    // Where nobody measured it: matches are a third as fast as entropy coding.
    f.numberOr("zstdRepeatsMBps", p.zstdRepeatsMBps, p.zstdMBps / 3,
               Fields::Rate);
    f.numberOr("zstdRepeatsLittleMBps", p.zstdRepeatsLittleMBps,
               p.zstdLittleMBps / 3, Fields::Rate);
  });
  top.in("interference", [&](Fields &f) {
    f.number("execute", p.executeInterference, Fields::AtLeastOne);
    f.number("firstRun", p.firstRun, Fields::AtLeastOne, false);
    f.number("prepare", p.prepareInterference, Fields::AtLeastOne);
  });
  top.number("threadScaling", p.threadScaling, Fields::PartOfOne);
  top.entries("efficiency", p.efficiency, true, [](Fields &f, Efficiency &e) {
    f.number("compute", e.compute, Fields::Rate);
    f.number("memory", e.memory, Fields::Rate);
    f.number("overheadUs", e.overhead, Fields::NotNegative);
    f.optional(e.part > 0, "partUs", e.part, Fields::NotNegative);
  });
  // A measured profile must have kernels' times: they are its point.
  top.entries(
      "kernels", p.kernels, p.measured, [](Fields &f, KernelTime &time) {
        visitTimes(f, "big", /*mayLack=*/false, time.big);
        visitTimes(f, "inModel", /*mayLack=*/true, time.inModel);
        f.optional(time.little > 0, "little", time.little, Fields::NotNegative);
        f.optionalText("code", time.code);
      });
}

void visitPower(Fields &gpu, std::optional<PowerProfile> &power) {
  if (!gpu.target() && gpu.section("power", false))
    power.emplace();
  if (power)
    gpu.in("power", [&](Fields &f) {
      f.number("base", power->base, Fields::NotNegative);
      f.number("cpu", power->cpu, Fields::NotNegative);
      f.number("gpu", power->gpu, Fields::NotNegative);
    });
}

void visitGpu(Fields &f, GpuProfile &gpu) {
  constexpr auto notNegative = Fields::NotNegative;
  f.text("name", gpu.name);
  f.text("api", gpu.api);
  f.names(true, "features", gpu.features, "an array of names");
  visitKind(f, gpu.kind);
  f.boolean("measured", gpu.measured);
  f.count("units", gpu.units, 1);
  f.count("groupsPerUnit", gpu.groupsPerUnit, 1);
  f.number("gflops", gpu.gflops, Fields::Rate);
  f.number("gflopsF16", gpu.gflopsF16, notNegative, false);
  f.number("memoryGBps", gpu.memoryGBps, Fields::Rate);
  f.number("cacheMB", gpu.cacheMB, notNegative, false);
  f.number("compute", gpu.compute, Fields::Rate, false);
  f.number("startMs", gpu.startMs, notNegative);
  f.number("pipelineMs", gpu.pipelineMs, notNegative);
  f.numberOr("pipelineCachedMs", gpu.pipelineCachedMs, gpu.pipelineMs,
             notNegative);
  f.count("pipelineThreads", gpu.pipelineThreads, 1, false);
  f.count("pipelineBatch", gpu.pipelineBatch, 1, false);
  f.number("pipelineScaling", gpu.pipelineScaling, Fields::PartOfOne, false);
  f.boolean("lazyPipelines", gpu.lazyPipelines, false);
  f.number("uploadGBps", gpu.uploadGBps, Fields::Rate);
  f.numberOr("inputGBps", gpu.inputGBps, gpu.uploadGBps, Fields::Rate);
  f.numberOr("downloadGBps", gpu.downloadGBps, gpu.uploadGBps, Fields::Rate);
  f.number("submitUs", gpu.submitUs, notNegative);
  f.number("syncUs", gpu.syncUs, notNegative);
  f.number("dispatchUs", gpu.dispatchUs, notNegative);
  f.number("stampUs", gpu.stampUs, notNegative, false);
  f.number("flushUsPerMB", gpu.flushUsPerMB, notNegative, false);
  f.count("hostCores", gpu.hostCores, 0, false);
  f.optional(gpu.beside > 0, "beside", gpu.beside, Fields::AtLeastOne);
  f.optional(gpu.besideCpu > 0, "besideCpu", gpu.besideCpu, Fields::AtLeastOne);
  if (!f.target() || !gpu.imports)
    f.boolean("imports", gpu.imports, false);
  visitPower(f, gpu.power);
  f.optionalText("driver", gpu.driver);
  f.optionalText("date", gpu.date);
  f.entries(
      "efficiency", gpu.efficiency, false, [](Fields &of, GpuEfficiency &e) {
        of.number("startUs", e.start, Fields::NotNegative);
        of.number("latencyUs", e.latency, Fields::NotNegative);
        of.number("groupUs", e.group, Fields::NotNegative);
        of.number("stepUs", e.step, Fields::NotNegative);
        of.number("memory", e.memory, Fields::Rate);
        of.numberOr("latencyFromMemoryUs", e.latencyFromMemory, e.latency,
                    Fields::NotNegative, e.latencyFromMemory != e.latency);
        of.optional(e.work > 0, "workUs", e.work, Fields::NotNegative);
      });
  f.entries("kernels", gpu.kernels, gpu.measured,
            [](Fields &of, GpuKernelTime &time) {
              of.number("ms", time.milliseconds, Fields::Positive);
              of.optional(time.millisecondsFromMemory > 0, "msFromMemory",
                          time.millisecondsFromMemory, Fields::NotNegative);
              of.optionalText("code", time.code);
            });
}

GpuProfile readGpu(const Json &object, std::string &error) {
  GpuProfile gpu;
  Fields fields(object, "gpu.", error);
  visitGpu(fields, gpu);
  if (!error.empty())
    return gpu;
  if (gpu.kind == GpuKind::Software && gpu.hostCores == 0)
    error = "gpu.hostCores: found 0, expected the CPUs that a GPU in software "
            "computes on";
  else if (gpu.kind != GpuKind::Software && gpu.hostCores > 0)
    fields.fail("hostCores", object["hostCores"],
                "0 where the GPU is not software");
  return gpu;
}

/// Everything behind the version; the first fault goes to `error`.
void readFields(const Json &json, DeviceProfile &p, std::string &error) {
  Fields top(json, "", error);
  top.text("name", p.name);
  top.text("architecture", p.architecture);
  top.text("target", p.target);
  top.boolean("measured", p.measured);
  if (p.measured || json.contains("identity"))
    top.text("identity", p.identity);
  top.names(true, "assumed", p.assumed, "an array of names of fields");
  top.optionalText("revision", p.revision);
  top.optionalText("tune", p.tune);
  if (!error.empty())
    return;
  std::string architectures, names;
  auto add = [](std::string &list, const std::string &name) {
    if (list.find("'" + name + "'") == std::string::npos)
      list += (list.empty() ? "'" : " or '") + name + "'";
  };
  bool fits = false;
  for (auto [target, architecture] : targets) {
    add(architectures, architecture);
    if (p.architecture == architecture)
      add(names, target);
    fits |= p.architecture == architecture && p.target == target;
  }
  if (names.empty())
    return top.fail("architecture", json["architecture"],
                    architectures.c_str());
  if (!fits)
    return top.fail("target", json["target"], names.c_str());
  if (p.measured && p.identity.empty())
    return top.fail("identity", json["identity"],
                    "the device that was measured");

  p.little.count = 0;
  top.in("cores", [&](Fields &cores) {
    cores.in("big", [&](Fields &f) { visitCore(f, p.big, 1); });
    if (cores.find("little", false))
      cores.in("little", [&](Fields &f) { visitCore(f, p.little, 0); });
  });
  visitDevice(top, p);
  for (const auto &[key, time] : p.kernels)
    if (error.empty() && time.big.empty() && time.little == 0)
      error = "kernels." + key + ": found no time, expected one at least";
  if (const Json *gpu = top.section("gpu", false))
    p.gpu = readGpu(*gpu, error);
}

} // namespace

std::string baseOf(const std::string &target) {
  return target.substr(0, target.find('+'));
}

const std::string &greaterTarget(const std::string &a, const std::string &b) {
  for (auto [target, architecture] : targets)
    if (a == target || b == target)
      return a == target ? a : b;
  return a;
}

std::optional<DeviceProfile> parseProfile(const std::string &text,
                                          const std::string &name,
                                          std::string &error) {
  auto fault = [&](const std::string &line) {
    error = name + ": " + line;
    return std::nullopt;
  };
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    return fault("found an empty file, expected a device profile");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return fault("found text that is not JSON or ends too soon, expected a "
                 "device profile");
  if (!json.is_object())
    return fault("found " + describe(json) +
                 ", expected a device profile (a JSON object)");
  auto version = json.find("version");
  if (version == json.end())
    return fault("version: is missing (is this a device profile?)");
  if (!version->is_number_integer() ||
      version->get<double>() != DeviceProfile::currentVersion)
    return fault("version: found " + describe(*version) + ", expected " +
                 std::to_string(DeviceProfile::currentVersion) +
                 " (measure again with nnv12-tune)");
  DeviceProfile profile;
  std::string line;
  readFields(json, profile, line);
  if (!line.empty())
    return fault(line);
  profile.file = name;
  return profile;
}

/// A thousand times an ordinary size; JSON in memory takes some times more.
static constexpr size_t maxProfileSize = size_t(64) << 20;

std::optional<DeviceProfile> readProfile(const std::string &path,
                                         std::string &error) {
  artifact::MappedFile file;
  artifact::Fault fault;
  if (file.open(path.c_str(), fault)) {
    if (file.size() <= maxProfileSize)
      return parseProfile(
          {reinterpret_cast<const char *>(file.data()), file.size()}, path,
          error);
    error = path + ": found " + std::to_string(file.size()) +
            " bytes, expected at most " + std::to_string(maxProfileSize);
    return std::nullopt;
  }
  auto shipped = shippedProfiles().find(path);
  if (shipped != shippedProfiles().end())
    return parseProfile(shipped->second, path, error);
  error = path + ": " + fault.text;
  return std::nullopt;
}

std::string printProfile(const DeviceProfile &profile) {
  DeviceProfile p = profile; // a visitor of fields may also set them
  Json json = {{"version", DeviceProfile::currentVersion},
               {"name", p.name},
               {"identity", p.identity},
               {"revision", p.revision},
               {"tune", p.tune},
               {"architecture", p.architecture},
               {"target", p.target},
               {"measured", p.measured}};
  Fields top(json);
  top.names(!p.assumed.empty(), "assumed", p.assumed, "");
  top.in("cores", [&](Fields &cores) {
    cores.in("big", [&](Fields &f) { visitCore(f, p.big, 1); });
    if (p.little.count)
      cores.in("little", [&](Fields &f) { visitCore(f, p.little, 0); });
  });
  visitDevice(top, p);
  if (p.gpu)
    top.in("gpu", [&](Fields &f) { visitGpu(f, *p.gpu); });
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string writeProfile(const DeviceProfile &profile,
                         const std::string &path) {
  // A profile that could not be read back is not written.
  std::string text = printProfile(profile), error;
  if (!parseProfile(text, path, error))
    return error;
  artifact::AtomicFile file;
  artifact::Fault fault;
  if (!file.open(path.c_str(), fault) ||
      !file.write(text.data(), text.size(), fault) || !file.commit(fault))
    return path + ": " + fault.text;
  return "";
}

} // namespace nnv12::device
