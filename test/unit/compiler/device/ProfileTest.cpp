//===- ProfileTest.cpp - Device profiles are read, written and refused ----===//

#include "compiler/device/DeviceProfile.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace nnv12::device;

static DeviceProfile sample() {
  DeviceProfile p = builtinProfile("x86-64", "x86-64-v3");
  p.identity = "A CPU x 4";
  p.measured = true;
  p.little = {"small", 4, 10.1, 3};
  p.readMBps = 123.456789012345678;
  p.zstdLittleMBps = 1.0 / 3;
  p.zstdStartUs = 250;
  p.tinyStartUs = 200;
  p.startUsPerLayer = 2.5;
  p.sessionUs = 120;
  p.preparedMB = 0.5;
  p.mostPreparedMB = 16;
  p.laterMsPerMB = 0.75;
  p.assumed = {"storage.sessionUs", "memory.preparedMB"};
  p.efficiency["conv.direct"] = {0.75, 0.5, 2, 1.5};
  p.startUsPerMB = 150;
  p.laneStartUs = 40;
  p.firstRun = 1.25;
  p.arrival = {{0.5, 900}, {4, 4000.5}};
  p.kernels["00112233445566778899aabbccddeeff"] = {{1.5, 0.8}, 7};
  p.kernels["f"] = {{0.1}, 0};
  p.kernels["f"].inModel = {0, 0.25};
  return p;
}

static DeviceProfile sampleWithGpu() {
  DeviceProfile p = sample();
  GpuProfile gpu;
  gpu.name = "A GPU";
  gpu.api = "vulkan1.1";
  gpu.features = {"shaderInt64"};
  gpu.kind = GpuKind::Discrete;
  gpu.driver = "a driver";
  gpu.date = "2026-12-31";
  gpu.measured = true;
  gpu.units = 20;
  gpu.groupsPerUnit = 4;
  gpu.gflops = 1000.5;
  gpu.gflopsF16 = 2000;
  gpu.memoryGBps = 300;
  gpu.cacheMB = 32.5;
  gpu.compute = 0.375;
  gpu.startMs = 125;
  gpu.pipelineMs = 31;
  gpu.pipelineCachedMs = 0.4;
  gpu.pipelineThreads = 8;
  gpu.pipelineBatch = 16;
  gpu.pipelineScaling = 0.37;
  gpu.lazyPipelines = true;
  gpu.uploadGBps = 20;
  gpu.downloadGBps = 12;
  gpu.submitUs = 15;
  gpu.syncUs = 25;
  gpu.dispatchUs = 3.5;
  gpu.stampUs = 1.25;
  gpu.flushUsPerMB = 2;
  gpu.beside = 1.125;
  gpu.besideCpu = 1.25;
  gpu.imports = false;
  gpu.power = {0.25, 0.75, 0.5};
  gpu.efficiency = {{"", {1, 0.5, 0.2, 0.1, 0.6}},
                    {"gpu.conv", {3, 0.75, 0.5, 0.25, 0.7, 1.5}},
                    {"gpu.map", {3, 0.75, 0.5, 0.25, 0.7, 0.75, 125.5}}};
  gpu.kernels["k"] = {0.75, 1.25, "00ff"};
  p.gpu = gpu;
  return p;
}

static std::string faultOf(const std::string &text) {
  std::string error;
  EXPECT_FALSE(parseProfile(text, "p.json", error));
  EXPECT_EQ(error.find('\n'), std::string::npos);
  return error;
}

/// The sample's text with one piece replaced.
static std::string faultWith(const std::string &from, const std::string &to) {
  std::string text = printProfile(sample());
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return faultOf(text.replace(at, from.size(), to));
}

TEST(Profile, roundTrip) {
  std::string text = printProfile(sample()), error;
  auto p = parseProfile(text, "p.json", error);
  ASSERT_TRUE(p) << error;
  EXPECT_EQ(printProfile(*p), text);
  EXPECT_EQ(p->readMBps, sample().readMBps);
  EXPECT_EQ(p->zstdLittleMBps, 1.0 / 3);
  EXPECT_EQ(p->zstdStartUs, 250);
  EXPECT_EQ(p->tinyStartUs, 200);
  EXPECT_EQ(p->startUsPerLayer, 2.5);
  EXPECT_EQ(p->sessionUs, 120);
  EXPECT_EQ(p->preparedMB, 0.5);
  EXPECT_EQ(p->mostPreparedMB, 16);
  EXPECT_EQ(p->laterMsPerMB, 0.75);
  EXPECT_EQ(p->assumed, sample().assumed);
  EXPECT_EQ(p->efficiencyOf("conv.direct").part, 1.5);
  EXPECT_EQ(p->efficiencyOf("conv.winograd4").part, 0);
  EXPECT_EQ(p->firstRun, 1.25);
  EXPECT_EQ(p->startUsPerMB, 150);
  EXPECT_EQ(p->laneStartUs, 40);
  ASSERT_EQ(p->arrival.size(), 2u);
  EXPECT_EQ(p->arrival[1].megabytes, 4);
  EXPECT_EQ(p->arrival[1].us, 4000.5);
  EXPECT_EQ(p->little.count, 4u);
  EXPECT_EQ(p->kernels["00112233445566778899aabbccddeeff"].big,
            (std::vector<double>{1.5, 0.8}));
  EXPECT_EQ(p->kernels["f"].inModel, (std::vector<double>{0, 0.25}));
  EXPECT_EQ(p->kernels["00112233445566778899aabbccddeeff"].little, 7);
}

TEST(Profile, whatOlderOnesLackHasItsDefault) {
  std::string text = printProfile(sample()), error;
  std::string field = ",\n  \"laterMsPerMB\": 0.75";
  size_t at = text.find(field);
  ASSERT_NE(at, std::string::npos) << text;
  auto p = parseProfile(text.erase(at, field.size()), "p.json", error);
  ASSERT_TRUE(p) << error;
  EXPECT_EQ(p->laterMsPerMB, 0.25);
}

TEST(Profile, startDependsOnLayersWeightsAndThreads) {
  DeviceProfile p;
  p.startUs = 500;
  p.startUsPerLayer = 2;
  p.startUsPerMB = 100;
  p.laneStartUs = 50;
  EXPECT_DOUBLE_EQ(startUs(p, 10, 1e6, 1), 500 + 20 + 100);
  EXPECT_DOUBLE_EQ(startUs(p, 10, 1e6, 3), 500 + 20 + 100 + 2 * 50);
  EXPECT_DOUBLE_EQ(startUs(p, 0, 1e9, 1), startUs(p, 0, 1e8, 1))
      << "only some is asked for early";
  EXPECT_DOUBLE_EQ(startUs(p, 10, 1000, 1), 500 + 20 + 0.1);
  p.tinyStartUs = 300;
  EXPECT_DOUBLE_EQ(startUs(p, 10, 1000, 1), 320);
  p.sessionUs = 150;
  EXPECT_DOUBLE_EQ(startUs(p, 10, 1000, 1), 470);
}

TEST(Profile, unknownFieldsAreIgnored) {
  std::string text = printProfile(sample()), error;
  text.replace(text.find("{"), 1, "{\"comment\": [\"anything\"],");
  EXPECT_TRUE(parseProfile(text, "p.json", error)) << error;
}

TEST(Profile, gpuRoundTrip) {
  std::string text = printProfile(sampleWithGpu()), error;
  auto p = parseProfile(text, "p.json", error);
  ASSERT_TRUE(p && p->gpu) << error;
  EXPECT_EQ(printProfile(*p), text);
  const GpuProfile &gpu = *p->gpu, expected = *sampleWithGpu().gpu;
  EXPECT_EQ(gpu.name, "A GPU");
  EXPECT_EQ(gpu.driver, "a driver");
  EXPECT_EQ(gpu.date, "2026-12-31");
  EXPECT_EQ(gpu.api, "vulkan1.1");
  EXPECT_EQ(gpu.features, expected.features);
  EXPECT_EQ(gpu.kind, GpuKind::Discrete);
  EXPECT_TRUE(gpu.measured && gpu.lazyPipelines);
  EXPECT_EQ(gpu.units, 20u);
  EXPECT_EQ(gpu.groupsPerUnit, 4u);
  EXPECT_EQ(gpu.pipelineThreads, 8u);
  EXPECT_EQ(gpu.pipelineBatch, 16u);
  EXPECT_EQ(gpu.gflops, 1000.5);
  EXPECT_EQ(gpu.compute, 0.375);
  EXPECT_EQ(gpu.pipelineScaling, 0.37);
  EXPECT_EQ(gpu.downloadGBps, 12);
  EXPECT_EQ(gpu.dispatchUs, 3.5);
  EXPECT_EQ(gpu.stampUs, 1.25);
  EXPECT_EQ(gpu.beside, 1.125);
  EXPECT_EQ(gpu.besideCpu, 1.25);
  EXPECT_FALSE(gpu.imports);
  ASSERT_TRUE(gpu.power);
  EXPECT_EQ(gpu.power->base, 0.25);
  EXPECT_EQ(gpu.power->cpu, 0.75);
  EXPECT_EQ(gpu.power->gpu, 0.5);
  EXPECT_EQ(gpu.cacheMB, 32.5);
  EXPECT_EQ(gpu.efficiency.at("gpu.conv").step, 0.25);
  EXPECT_EQ(gpu.efficiency.at("gpu.conv").latencyFromMemory, 1.5);
  // A routine without weights has no such latency.
  EXPECT_EQ(gpu.efficiency.at("gpu.map").latencyFromMemory, 0.75);
  EXPECT_EQ(gpu.efficiency.at("gpu.map").work, 125.5);
  EXPECT_EQ(gpu.efficiency.at("gpu.conv").work, 0);
  EXPECT_EQ(gpu.kernels.at("k").millisecondsFromMemory, 1.25);
  EXPECT_EQ(gpu.kernels.at("k").milliseconds, 0.75);
  EXPECT_EQ(gpu.kernels.at("k").code, "00ff");
  // A profile without a GPU does not mention one.
  EXPECT_EQ(printProfile(sample()).find("\"gpu\""), std::string::npos);
  EXPECT_FALSE(parseProfile(printProfile(sample()), "p.json", error)->gpu);
}

TEST(Profile, gpuDefaults) {
  std::string text = printProfile(sample()), error;
  text.replace(text.find("{"), 1, R"({"gpu": {"name": "g", "api": "vulkan1.1",
    "kind": "unified", "measured": false, "units": 2, "groupsPerUnit": 1,
    "gflops": 10, "memoryGBps": 5, "startMs": 1, "pipelineMs": 7,
    "uploadGBps": 3, "submitUs": 1, "syncUs": 1, "dispatchUs": 1,
    "comment": ["anything"]},)");
  auto p = parseProfile(text, "p.json", error);
  ASSERT_TRUE(p && p->gpu) << error;
  EXPECT_EQ(p->gpu->pipelineCachedMs, 7) << "no cache that is known";
  EXPECT_EQ(p->gpu->downloadGBps, 3);
  EXPECT_EQ(p->gpu->pipelineThreads, 1u);
  EXPECT_EQ(p->gpu->hostCores, 0u);
  EXPECT_EQ(p->gpu->beside, 0);
  EXPECT_EQ(p->gpu->besideCpu, 0);
  EXPECT_TRUE(p->gpu->imports);
  EXPECT_FALSE(p->gpu->power);
  // Unknown fields are not written.
  std::string written = printProfile(*p);
  for (const char *field : {"beside", "imports", "power"})
    EXPECT_EQ(written.find(field), std::string::npos) << field;
  EXPECT_EQ(p->gpu->efficiencyOf("gpu.conv"), nullptr);
}

TEST(Profile, gpuRefused) {
  std::string whole = printProfile(sampleWithGpu());
  auto with = [&](const std::string &from, const std::string &to) {
    std::string text = whole;
    size_t at = text.find(from, text.find("\"gpu\""));
    EXPECT_NE(at, std::string::npos) << from;
    return faultOf(text.replace(at, from.size(), to));
  };
  EXPECT_EQ(with("\"units\": 20", "\"units\": 0"),
            "p.json: gpu.units: found 0, expected a whole number from 1 to "
            "1024");
  EXPECT_EQ(with("\"api\"", "\"a\""), "p.json: gpu.api: is missing");
  EXPECT_EQ(with("\"kernels\"", "\"k\""), "p.json: gpu.kernels: is missing");
  EXPECT_EQ(with("\"discrete\"", "\"fast\""),
            "p.json: gpu.kind: found \"fast\", expected 'discrete', 'unified' "
            "or 'software'");
  EXPECT_EQ(with("\"discrete\"", "\"software\""),
            "p.json: gpu.hostCores: found 0, expected the CPUs that a GPU in "
            "software computes on");
  EXPECT_EQ(with("\"hostCores\": 0", "\"hostCores\": 2"),
            "p.json: gpu.hostCores: found 2, expected 0 where the GPU is not "
            "software");
  EXPECT_EQ(with("\"shaderInt64\"", "64"),
            "p.json: gpu.features: found 64, expected an array of names");
  EXPECT_EQ(with("\"startMs\": 125.0", "\"startMs\": -1"),
            "p.json: gpu.startMs: found -1, expected a number, at least 0");
  EXPECT_EQ(with("\"uploadGBps\": 20.0", "\"uploadGBps\": 0"),
            "p.json: gpu.uploadGBps: found 0, expected a number, at least "
            "1e-6");
  EXPECT_EQ(with("\"memory\": 0.7", "\"memory\": 0"),
            "p.json: gpu.efficiency.gpu.conv.memory: found 0, expected a "
            "number, at least 1e-6");
  EXPECT_EQ(with("\"beside\": 1.125", "\"beside\": 0.9"),
            "p.json: gpu.beside: found 0.9, expected a number, at least 1");
  EXPECT_EQ(
      with("\"besideCpu\": 1.25", "\"besideCpu\": \"1\""),
      "p.json: gpu.besideCpu: found \"1\", expected a number, at least 1");
  EXPECT_EQ(with("\"imports\": false", "\"imports\": 0"),
            "p.json: gpu.imports: found 0, expected true or false");
  EXPECT_EQ(with("\"cpu\": 0.75", "\"cpu\": -1"),
            "p.json: gpu.power.cpu: found -1, expected a number, at least 0");
  EXPECT_EQ(with("\"cpu\": 0.75", "\"c\": 0.75"),
            "p.json: gpu.power.cpu: is missing");
  EXPECT_EQ(with("\"power\"", "\"power\": 3, \"p\""),
            "p.json: gpu.power: found 3, expected an object");
  EXPECT_EQ(with("\"ms\": 0.75", "\"ms\": 0"),
            "p.json: gpu.kernels.k.ms: found 0, expected a number above 0");
  EXPECT_EQ(with("\"measured\": true", "\"measured\": 1"),
            "p.json: gpu.measured: found 1, expected true or false");
  EXPECT_EQ(faultWith("\"architecture\"", "\"gpu\": 3, \"architecture\""),
            "p.json: gpu: found 3, expected an object");
  // The GPU may be the only part that was measured.
  std::string text = whole, error;
  text.replace(text.find("\"measured\": true"), 16, "\"measured\": false");
  EXPECT_TRUE(parseProfile(text, "p.json", error)) << error;
}

TEST(Profile, refused) {
  EXPECT_EQ(faultOf(""),
            "p.json: found an empty file, expected a device profile");
  EXPECT_EQ(
      faultOf("[1]"),
      "p.json: found an array, expected a device profile (a JSON object)");
  EXPECT_EQ(faultOf("hello"), "p.json: found text that is not JSON or ends too "
                              "soon, expected a device profile");
  EXPECT_EQ(faultOf("{}"),
            "p.json: version: is missing (is this a device profile?)");
  EXPECT_EQ(faultWith("\"version\": 2", "\"version\": 1"),
            "p.json: version: found 1, expected 2 (measure again with "
            "nnv12-tune)");
  EXPECT_EQ(faultWith("\"version\": 2", "\"version\": \"2\""),
            "p.json: version: found \"2\", expected 2 (measure again with "
            "nnv12-tune)");
  EXPECT_EQ(
      faultWith("\"architecture\": \"x86-64\"", "\"architecture\": \"riscv\""),
      "p.json: architecture: found \"riscv\", expected 'x86-64' or 'aarch64'");
  EXPECT_EQ(
      faultWith("\"target\": \"x86-64-v3\"", "\"target\": \"aarch64\""),
      "p.json: target: found \"aarch64\", expected 'x86-64-v4+amx' or "
      "'x86-64-v4+vnni' or 'x86-64-v4' or 'x86-64-v3+vnni' or 'x86-64-v3'");
  EXPECT_EQ(faultWith("\"readLatencyUs\"", "\"latency\""),
            "p.json: storage.readLatencyUs: is missing");
  EXPECT_EQ(faultWith("\"kernels\"", "\"k\""), "p.json: kernels: is missing");
  EXPECT_EQ(faultWith("\"readMBps\": 123.45", "\"readMBps\": -123.45"),
            "p.json: storage.readMBps: found -123.45678901234568, expected a "
            "number, at least 1e-6");
  // Smaller rates would give times that are no numbers.
  EXPECT_EQ(
      faultWith("\"readMBps\": 123.45678901234568", "\"readMBps\": 1e-300"),
      "p.json: storage.readMBps: found 1e-300, expected a number, at least "
      "1e-6");
  EXPECT_EQ(faultWith("\"threadScaling\": 0.9", "\"threadScaling\": null"),
            "p.json: threadScaling: found null, expected a number from 0 to 1");
  EXPECT_EQ(faultWith("\"measured\": true", "\"measured\": 1"),
            "p.json: measured: found 1, expected true or false");
  EXPECT_EQ(
      faultWith("\"identity\": \"A CPU x 4\"", "\"identity\": \"\""),
      "p.json: identity: found \"\", expected the device that was measured");
  EXPECT_EQ(faultWith("\"count\": 4", "\"count\": 0"),
            "p.json: cores.big.count: found 0, expected a whole number from 1 "
            "to 1024");
  EXPECT_EQ(faultWith("0.8\n", "-0.8\n"),
            "p.json: kernels.00112233445566778899aabbccddeeff.big: "
            "found -0.8, expected times above 0");
  EXPECT_EQ(faultWith("0.25\n", "-0.25\n"),
            "p.json: kernels.f.inModel: found -0.25, expected times of 0 or "
            "more");
  EXPECT_EQ(faultWith("0.25\n", "\"NaN\"\n"),
            "p.json: kernels.f.inModel: found \"NaN\", expected times of 0 or "
            "more");
  EXPECT_EQ(faultWith("\"little\": 7.0", "\"little\": \"fast\""),
            "p.json: kernels.00112233445566778899aabbccddeeff.little: found "
            "\"fast\", expected a "
            "number, at least 0");
  EXPECT_EQ(faultWith("\"laterMsPerMB\": 0.75", "\"laterMsPerMB\": -1"),
            "p.json: memory.laterMsPerMB: found -1, expected a number, at "
            "least 0");
  EXPECT_EQ(faultWith("4000.5\n", "800\n"),
            "p.json: storage.arrival: found 800, expected pairs of megabytes "
            "and microseconds, "
            "both ascending from 0");
  EXPECT_EQ(faultWith("4000.5\n", "\"soon\"\n"),
            "p.json: storage.arrival: found an array, expected pairs of "
            "megabytes and "
            "microseconds, both ascending from 0");
  // JSON knows neither NaN nor infinity.
  EXPECT_EQ(faultWith("\"threadScaling\": 0.9", "\"threadScaling\": NaN"),
            "p.json: found text that is not JSON or ends too soon, expected a "
            "device profile");
  EXPECT_EQ(faultWith("\"threadScaling\": 0.9", "\"threadScaling\": 1e999"),
            "p.json: found text that is not JSON or ends too soon, expected a "
            "device profile");
  EXPECT_EQ(faultWith("\"readLatencyUs\": 100.0", "\"readLatencyUs\": 1e300"),
            "p.json: storage.readLatencyUs: found 1e+300, expected a number, "
            "at least 0");
}

/// As JSON in memory it would take many times its size.
TEST(Profile, TooLarge) {
  std::string path = testing::TempDir() + "nnv12-large-profile.json", error;
  std::ofstream(path) << "{}";
  std::filesystem::resize_file(path, (64 << 20) + 1);
  EXPECT_FALSE(readProfile(path, error));
  EXPECT_EQ(error, path + ": found 67108865 bytes, expected at most 67108864");
  std::filesystem::remove(path);
}

TEST(Profile, truncatedOrDamagedAnywhere) {
  // Every prefix is refused with one line; any changed byte is refused or read.
  std::string text = printProfile(sampleWithGpu());
  text.pop_back();
  for (size_t n = 0; n < text.size(); ++n)
    EXPECT_NE(faultOf(text.substr(0, n)), "");
  for (size_t n = 0; n < text.size(); ++n)
    for (char c : {'"', '{', '9', '-', '\0', '\xff'}) {
      std::string changed = text, error;
      changed[n] = c;
      if (!parseProfile(changed, "p.json", error)) {
        EXPECT_NE(error, "");
        EXPECT_EQ(error.find('\n'), std::string::npos);
      }
    }
}

TEST(Profile, files) {
  char folder[] = "/tmp/nnv12-profile-XXXXXX";
  ASSERT_TRUE(mkdtemp(folder));
  std::string path = std::string(folder) + "/device.json", error;
  EXPECT_EQ(writeProfile(sample(), path), "");
  auto p = readProfile(path, error);
  ASSERT_TRUE(p) << error;
  EXPECT_EQ(printProfile(*p), printProfile(sample()));

  EXPECT_FALSE(readProfile(path + ".none", error));
  EXPECT_EQ(error, path + ".none: cannot open: No such file or directory");
  EXPECT_FALSE(readProfile(folder, error));
  EXPECT_EQ(error.find(folder), 0u) << error;

  // A profile that would be refused is not written, and the old file stays.
  DeviceProfile bad = sample();
  bad.readMBps = 0;
  EXPECT_EQ(
      writeProfile(bad, path),
      path + ": storage.readMBps: found 0.0, expected a number, at least 1e-6");
  EXPECT_TRUE(readProfile(path, error));
  EXPECT_NE(writeProfile(sample(), std::string(folder) + "/none/device.json"),
            "");
  std::filesystem::remove_all(folder);
}

TEST(Profile, foreignDevice) {
  DeviceProfile p = sample();
  EXPECT_EQ(foreignDevice(p, "A CPU x 4"), "");
  EXPECT_EQ(foreignDevice(p, "Another x 2"),
            "device profile 'ordinary x86-64-v3': identity: found 'A CPU x 4', "
            "expected "
            "'Another x 2', this machine");
  p.measured = false;
  EXPECT_EQ(foreignDevice(p, "Another x 2"), "");
  EXPECT_NE(hostIdentity().find(" x "), std::string::npos);
}

TEST(Profile, builtinOnesAreValid) {
  for (auto [architecture, target] : {std::pair{"x86-64", "x86-64-v4"},
                                      {"x86-64", "x86-64-v3"},
                                      {"aarch64", "aarch64"}}) {
    std::string error;
    EXPECT_TRUE(parseProfile(printProfile(builtinProfile(architecture, target)),
                             "builtin", error))
        << error;
  }
}

TEST(Profile, longestPrefixCounts) {
  DeviceProfile p;
  p.efficiency = {
      {"", {1, 1, 1}}, {"conv", {2, 1, 1}}, {"conv.direct", {3, 1, 1}}};
  EXPECT_EQ(p.efficiencyOf("conv.direct.nChw16c").compute, 3);
  EXPECT_EQ(p.efficiencyOf("conv.direct").compute, 3);
  EXPECT_EQ(p.efficiencyOf("conv.directly").compute, 2);
  EXPECT_EQ(p.efficiencyOf("conv").compute, 2);
  EXPECT_EQ(p.efficiencyOf("convert").compute, 1);
  EXPECT_EQ(p.efficiencyOf("").compute, 1);
}
