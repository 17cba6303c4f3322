//===- ProfileJson.cpp - Device profiles as JSON --------------------------===//

#include "artifact/AtomicFile.h"
#include "artifact/MappedFile.h"
#include "compiler/device/DeviceProfile.h"
#include "compiler/device/GpuJson.h"
#include "compiler/device/JsonFields.h"

namespace nnv12::device {

namespace {

/// Targets by architecture; the same names as codegen::Target.
constexpr const char *targets[][2] = {
    {"x86-64-v4", "x86-64"}, {"x86-64-v3", "x86-64"}, {"aarch64", "aarch64"}};

void readCore(Fields &cores, const char *name, bool required, CoreKind &core,
              std::string &error) {
  const Json *object = cores.section(name, required);
  if (!object)
    return;
  Fields fields(*object, std::string("cores.") + name + ".", error);
  fields.text("name", core.name);
  fields.count("count", core.count, required ? 1 : 0);
  // Of cores that do not exist nothing need be known.
  if (!core.count)
    return;
  fields.number("gflops", core.gflops, Fields::Rate);
  fields.number("memoryGBps", core.memoryGBps, Fields::Rate);
}

void readEfficiency(const Json &section, DeviceProfile &profile,
                    std::string &error) {
  for (const auto &[routine, value] : section.items()) {
    std::string prefix = "efficiency." + routine;
    if (!value.is_object()) {
      error = prefix + ": found " + describe(value) + ", expected an object";
      return;
    }
    Efficiency e;
    Fields fields(value, prefix + ".", error);
    fields.number("compute", e.compute, Fields::Rate);
    fields.number("memory", e.memory, Fields::Rate);
    fields.number("overheadUs", e.overhead, Fields::NotNegative);
    if (!error.empty())
      return;
    profile.efficiency[routine] = e;
  }
}

void readKernels(const Json &section, DeviceProfile &profile,
                 std::string &error) {
  for (const auto &[key, value] : section.items()) {
    std::string prefix = "kernels." + key;
    if (!value.is_object()) {
      error = prefix + ": found " + describe(value) + ", expected an object";
      return;
    }
    KernelTime time;
    Fields fields(value, prefix + ".", error);
    if (const Json *big = fields.find("big", true)) {
      if (!big->is_array())
        fields.fail("big", *big, "an array of times");
      else
        for (const Json &t : *big) {
          if (!Fields::holds(t, Fields::Positive)) {
            fields.fail("big", t, "times above 0");
            break;
          }
          time.big.push_back(t.get<double>());
        }
    }
    fields.number("little", time.little, Fields::NotNegative,
                  /*required=*/false);
    fields.optionalText("code", time.code);
    if (error.empty() && time.big.empty() && time.little == 0)
      error = prefix + ": found no time, expected one at least";
    if (!error.empty())
      return;
    profile.kernels[key] = std::move(time);
  }
}

void readAssumed(const Json &value, DeviceProfile &p, Fields &fields) {
  constexpr const char *expected = "an array of names of fields";
  if (!value.is_array())
    return fields.fail("assumed", value, expected);
  for (const Json &name : value) {
    if (!name.is_string())
      return fields.fail("assumed", name, expected);
    p.assumed.push_back(*name.get_ptr<const Json::string_t *>());
  }
}

void readArrival(const Json &value, DeviceProfile &p, Fields &fields) {
  constexpr const char *expected =
      "pairs of megabytes and microseconds, both ascending from 0";
  DeviceProfile::Arrival last = {0, 0};
  if (!value.is_array())
    return fields.fail("arrival", value, expected);
  for (const Json &pair : value) {
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

/// Everything behind the version; the first fault goes to `error`.
void readFields(const Json &json, DeviceProfile &p, std::string &error) {
  Fields top(json, "", error);
  top.text("name", p.name);
  top.text("architecture", p.architecture);
  top.text("target", p.target);
  top.boolean("measured", p.measured);
  if (p.measured || json.contains("identity"))
    top.text("identity", p.identity);
  if (const Json *assumed = top.find("assumed", false))
    readAssumed(*assumed, p, top);
  top.optionalText("revision", p.revision);
  top.optionalText("tune", p.tune);
  if (!error.empty())
    return;
  std::string architectures, names;
  bool known = false, fits = false;
  for (auto [target, architecture] : targets) {
    if (architectures.find(std::string("'") + architecture) ==
        std::string::npos)
      architectures += (architectures.empty() ? "'" : " or '") +
                       std::string(architecture) + "'";
    known |= p.architecture == architecture;
    if (p.architecture != architecture)
      continue;
    names += (names.empty() ? "'" : " or '") + std::string(target) + "'";
    fits |= p.target == target;
  }
  if (!known)
    return top.fail("architecture", json["architecture"],
                    architectures.c_str());
  if (!fits)
    return top.fail("target", json["target"], names.c_str());
  if (p.measured && p.identity.empty())
    return top.fail("identity", json["identity"],
                    "the device that was measured");

  if (const Json *cores = top.section("cores")) {
    Fields fields(*cores, "cores.", error);
    readCore(fields, "big", true, p.big, error);
    p.little.count = 0;
    readCore(fields, "little", false, p.little, error);
  }
  if (const Json *storage = top.section("storage")) {
    Fields fields(*storage, "storage.", error);
    fields.number("readMBps", p.readMBps, Fields::Rate);
    fields.number("readLatencyUs", p.readLatencyUs, Fields::NotNegative);
    if (const Json *arrival = fields.find("arrival", false))
      readArrival(*arrival, p, fields);
    fields.number("startUs", p.startUs, Fields::NotNegative, false);
    fields.number("sessionUs", p.sessionUs, Fields::NotNegative, false);
    fields.number("tinyStartUs", p.tinyStartUs, Fields::NotNegative, false);
    fields.number("startUsPerLayer", p.startUsPerLayer, Fields::NotNegative,
                  false);
    fields.number("startUsPerMB", p.startUsPerMB, Fields::NotNegative, false);
    fields.number("laneStartUs", p.laneStartUs, Fields::NotNegative, false);
    fields.number("mapUsPerMB", p.mapUsPerMB, Fields::NotNegative);
    p.mapLittleUsPerMB = p.mapUsPerMB;
    fields.number("mapLittleUsPerMB", p.mapLittleUsPerMB, Fields::NotNegative,
                  false);
  }
  if (const Json *memory = top.section("memory")) {
    Fields fields(*memory, "memory.", error);
    fields.number("firstTouchUsPerMB", p.firstTouchUsPerMB,
                  Fields::NotNegative);
    p.firstTouchSmallUsPerMB = p.firstTouchUsPerMB;
    fields.number("firstTouchSmallUsPerMB", p.firstTouchSmallUsPerMB,
                  Fields::NotNegative, false);
    fields.number("preparedMB", p.preparedMB, Fields::NotNegative, false);
    fields.number("mostPreparedMB", p.mostPreparedMB, Fields::NotNegative,
                  false);
    fields.number("laterMsPerMB", p.laterMsPerMB, Fields::NotNegative, false);
  }
  if (const Json *codecs = top.section("codecs")) {
    Fields fields(*codecs, "codecs.", error);
    fields.number("zstdStartUs", p.zstdStartUs, Fields::NotNegative, false);
    fields.number("zstdMBps", p.zstdMBps, Fields::Rate);
    p.zstdLittleMBps = p.zstdMBps;
    fields.number("zstdLittleMBps", p.zstdLittleMBps, Fields::Rate, false);
    // Where nobody measured it: matches are a third as fast as entropy coding.
    p.zstdRepeatsMBps = p.zstdMBps / 3;
    p.zstdRepeatsLittleMBps = p.zstdLittleMBps / 3;
    fields.number("zstdRepeatsMBps", p.zstdRepeatsMBps, Fields::Rate, false);
    fields.number("zstdRepeatsLittleMBps", p.zstdRepeatsLittleMBps,
                  Fields::Rate, false);
  }
  if (const Json *interference = top.section("interference")) {
    Fields fields(*interference, "interference.", error);
    fields.number("execute", p.executeInterference, Fields::AtLeastOne);
    fields.number("firstRun", p.firstRun, Fields::AtLeastOne, false);
    fields.number("prepare", p.prepareInterference, Fields::AtLeastOne);
  }
  top.number("threadScaling", p.threadScaling, Fields::PartOfOne);
  if (const Json *efficiency = top.section("efficiency"))
    readEfficiency(*efficiency, p, error);
  // What was measured of kernels is the point of a measured profile.
  if (!error.empty())
    return;
  if (const Json *kernels = top.section("kernels", p.measured))
    readKernels(*kernels, p, error);
  if (const Json *gpu = top.section("gpu", false))
    p.gpu = readGpu(*gpu, error);
}

Json coreJson(const CoreKind &core) {
  return {{"name", core.name},
          {"count", core.count},
          {"gflops", core.gflops},
          {"memoryGBps", core.memoryGBps}};
}

} // namespace

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
  return profile;
}

/// A thousand times what one takes; as JSON in memory it takes some times more.
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

std::string printProfile(const DeviceProfile &p) {
  Json json = {{"version", DeviceProfile::currentVersion},
               {"name", p.name},
               {"identity", p.identity},
               {"revision", p.revision},
               {"tune", p.tune},
               {"architecture", p.architecture},
               {"target", p.target},
               {"measured", p.measured}};
  if (!p.assumed.empty())
    json["assumed"] = p.assumed;
  json["cores"]["big"] = coreJson(p.big);
  if (p.little.count)
    json["cores"]["little"] = coreJson(p.little);
  json["storage"] = {{"readMBps", p.readMBps},
                     {"readLatencyUs", p.readLatencyUs},
                     {"startUs", p.startUs},
                     {"sessionUs", p.sessionUs},
                     {"tinyStartUs", p.tinyStartUs},
                     {"startUsPerLayer", p.startUsPerLayer},
                     {"startUsPerMB", p.startUsPerMB},
                     {"laneStartUs", p.laneStartUs},
                     {"mapUsPerMB", p.mapUsPerMB},
                     {"mapLittleUsPerMB", p.mapLittleUsPerMB}};
  if (!p.arrival.empty()) {
    Json points = Json::array();
    for (const DeviceProfile::Arrival &point : p.arrival)
      points.push_back({point.megabytes, point.us});
    json["storage"]["arrival"] = std::move(points);
  }
  json["memory"] = {{"firstTouchUsPerMB", p.firstTouchUsPerMB},
                    {"firstTouchSmallUsPerMB", p.firstTouchSmallUsPerMB},
                    {"preparedMB", p.preparedMB},
                    {"mostPreparedMB", p.mostPreparedMB},
                    {"laterMsPerMB", p.laterMsPerMB}};
  json["codecs"] = {{"zstdStartUs", p.zstdStartUs},
                    {"zstdMBps", p.zstdMBps},
                    {"zstdLittleMBps", p.zstdLittleMBps},
                    {"zstdRepeatsMBps", p.zstdRepeatsMBps},
                    {"zstdRepeatsLittleMBps", p.zstdRepeatsLittleMBps}};
  json["interference"] = {{"execute", p.executeInterference},
                          {"firstRun", p.firstRun},
                          {"prepare", p.prepareInterference}};
  json["threadScaling"] = p.threadScaling;
  json["efficiency"] = Json::object();
  for (const auto &[routine, e] : p.efficiency)
    json["efficiency"][routine] = {{"compute", e.compute},
                                   {"memory", e.memory},
                                   {"overheadUs", e.overhead}};
  json["kernels"] = Json::object();
  for (const auto &[key, time] : p.kernels) {
    json["kernels"][key]["big"] = time.big;
    if (time.little > 0)
      json["kernels"][key]["little"] = time.little;
    if (!time.code.empty())
      json["kernels"][key]["code"] = time.code;
  }
  if (p.gpu)
    json["gpu"] = gpuJson(*p.gpu);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string writeProfile(const DeviceProfile &profile,
                         const std::string &path) {
  // What could not be read back is not written.
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
