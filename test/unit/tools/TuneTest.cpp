//===- TuneTest.cpp - Measurements of nnv12-tune --------------------------===//
#include "artifact/TuningParts.h"
#include "tools/nnv12-tune/ChildProcess.h"
#include "tools/nnv12-tune/Cores.h"
#include "tools/nnv12-tune/Race.h"
#include "tools/nnv12-tune/Samples.h"
#include "tools/nnv12-tune/System.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <unistd.h>

using namespace nnv12::tune;

namespace {
/// A folder like /sys/devices/system/cpu.
class FakeCpus {
public:
  FakeCpus() : folder(testing::TempDir() + "cpusXXXXXX") {
    mkdtemp(folder.data());
  }
  ~FakeCpus() { std::filesystem::remove_all(folder); }
  void write(unsigned cpu, const std::string &name, const std::string &text) {
    std::filesystem::path path =
        folder + "/cpu" + std::to_string(cpu) + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string folder;
};
} // namespace

using Cpus = std::vector<unsigned>;

TEST(Cores, CapacityTellsLittleFromBig) {
  FakeCpus cpus;
  // Four little, three big, one prime.
  const char *capacities[] = {"250", "250", "250", "250",
                              "870", "870", "870", "1024"};
  for (unsigned i = 0; i < 8; ++i)
    cpus.write(i, "cpu_capacity", capacities[i]);
  Cores cores = sortCores({0, 1, 2, 3, 4, 5, 6, 7}, cpus.folder);
  EXPECT_EQ(cores.little, (Cpus{0, 1, 2, 3}));
  EXPECT_EQ(cores.big, (Cpus{4, 5, 6, 7}));
}

TEST(Cores, FrequencyStandsInForCapacity) {
  FakeCpus cpus;
  for (unsigned i = 0; i < 4; ++i)
    cpus.write(i, "cpufreq/cpuinfo_max_freq", i < 2 ? "1800000" : "2840000");
  Cores cores = sortCores({0, 1, 2, 3}, cpus.folder);
  EXPECT_EQ(cores.little, (Cpus{0, 1}));
  EXPECT_EQ(cores.big, (Cpus{2, 3}));
}

TEST(Cores, TurboIsNoKind) {
  FakeCpus cpus;
  for (unsigned i = 0; i < 4; ++i)
    cpus.write(i, "cpufreq/cpuinfo_max_freq", i < 2 ? "5400000" : "5700000");
  EXPECT_TRUE(sortCores({0, 1, 2, 3}, cpus.folder).little.empty());
}

TEST(Cores, WithoutFilesAllAreBig) {
  FakeCpus cpus;
  cpus.write(0, "cpu_capacity", "1024");
  cpus.write(1, "cpu_capacity", "nonsense");
  Cores cores = sortCores({0, 1, 5}, cpus.folder);
  EXPECT_EQ(cores.big, (Cpus{0, 1, 5}));
  EXPECT_TRUE(cores.little.empty());
}

TEST(Cores, AffinityIsGivenBack) {
  Cpus before = usableCpus();
  {
    OnCores pinned({before.back()});
    EXPECT_EQ(usableCpus(), Cpus{before.back()});
  }
  EXPECT_EQ(usableCpus(), before);
}

TEST(System, FiguresAreNumbersAboveZero) {
  Storage files(testing::TempDir(), 4u << 20);
  files.sample();
  nnv12::device::DeviceProfile storage;
  files.describe(storage);
  EXPECT_GT(storage.readMBps, 0);
  EXPECT_GT(storage.readLatencyUs, 0);
  EXPECT_GE(storage.mapUsPerMB, 0);
  EXPECT_LE(files.resident(), 1);
  EXPECT_GT(storage.startUs, 0);
  EXPECT_GT(storage.tinyStartUs, 0);
  EXPECT_GT(storage.startUsPerLayer, 0);
  EXPECT_GT(storage.sessionUs, 0);
  // Fields that were not measured are said to be so.
  EXPECT_EQ(storage.assumed, (std::vector<std::string>{
                                 "storage.sessionUs", "storage.startUsPerLayer",
                                 "memory.preparedMB", "memory.mostPreparedMB",
                                 "memory.laterMsPerMB"}));
  EXPECT_GE(storage.startUsPerMB, 0);
  ASSERT_FALSE(storage.arrival.empty());
  EXPECT_NEAR(storage.arrival.back().megabytes, 4.0, 0.1); // less the head
  for (size_t i = 1; i < storage.arrival.size(); ++i) {
    EXPECT_GT(storage.arrival[i].megabytes, storage.arrival[i - 1].megabytes);
    EXPECT_GE(storage.arrival[i].us, storage.arrival[i - 1].us);
  }
  EXPECT_GT(measureThreadStartUs(1), 0);
  FirstTouch touch = measureFirstTouch();
  EXPECT_GT(touch.usPerMB, 0);
  EXPECT_GT(touch.smallUsPerMB, 0);
  EXPECT_GT(measureMemoryGBps(1), 0);
  ZstdSpeed zstd = measureZstd(1);
  EXPECT_GE(zstd.MBps, 0);
  EXPECT_EQ(zstd.startUs > 0, zstd.MBps > 0);
  EXPECT_GE(zstd.repeatsMBps, 0);
}

TEST(ChildProcess, givesItsText) {
  std::string text(300000, 'x');
  ChildResult result = runInChild([&] { return text; }, 60);
  EXPECT_EQ(result.end, ChildResult::End::Done);
  EXPECT_EQ(result.text, text);
}

TEST(ChildProcess, saysHowItFailed) {
  ChildResult crashed = runInChild(
      []() -> std::string {
        signal(SIGABRT, SIG_DFL);
        abort();
      },
      60);
  EXPECT_EQ(crashed.end, ChildResult::End::Failed);
  EXPECT_EQ(crashed.reason, "crashed: Aborted");
  ChildResult hung = runInChild(
      []() -> std::string {
        for (;;)
          pause();
      },
      0.2);
  EXPECT_EQ(hung.end, ChildResult::End::Failed);
  EXPECT_EQ(hung.reason, "gave no answer for 0 s");
  ChildResult refused = runInChild([]() -> std::string { _exit(1); }, 60);
  EXPECT_EQ(refused.end, ChildResult::End::Refused);
}

TEST(Samples, derivesPeaksAndTheCache) {
  std::vector<Sample> samples;
  auto add = [&](const char *key, double bytes, double cached,
                 double fromMemory) {
    Sample sample;
    sample.facts.routine = "gpu.matmul";
    sample.facts.key = key;
    sample.facts.bytes = bytes;
    sample.facts.multiplyAdds = bytes;
    sample.median = sample.p10 = sample.p90 = cached;
    samples.push_back(sample);
    if (fromMemory > 0) {
      sample.facts.fromMemory = true;
      sample.median = fromMemory;
      samples.push_back(sample);
    }
  };
  add("small", 1e6, 10, 20);
  add("fits", 20e6, 40, 60);
  add("as fast from memory", 30e6, 50, 52);
  add("too large", 80e6, 100, 99);
  add("without weights", 100e6, 50, 0);
  nnv12::device::GpuProfile gpu;
  // Fronts of layers are asked for, not learned from.
  samples.push_back(samples.back());
  samples.back().facts.key =
      nnv12::artifact::frontKey("without weights", "rows", 3);
  Derived derived = derive(samples, gpu);
  samples.pop_back();
  EXPECT_DOUBLE_EQ(gpu.cacheMB, 20);
  EXPECT_DOUBLE_EQ(gpu.memoryGBps, 2000);
  EXPECT_EQ(derived.kernels.sum.all, samples.size());
  EXPECT_EQ(derived.fronts.sum.good, 1u);
  EXPECT_EQ(gpu.kernels.size(), 5u);
  EXPECT_DOUBLE_EQ(gpu.kernels.at("fits").milliseconds, 0.04);
  EXPECT_DOUBLE_EQ(gpu.kernels.at("fits").millisecondsFromMemory, 0.06);
  EXPECT_EQ(gpu.kernels.at("without weights").millisecondsFromMemory, 0);
}

TEST(Samples, whatBothLose) {
  nnv12::device::GpuProfile gpu;
  Samples samples;
  samples.numCpus = 8;
  samples.pairThreads = 4;
  deriveBeside(samples, gpu);
  EXPECT_EQ(gpu.beside, 0) << "nothing was measured";
  samples.pairs = {{"a", "x", 10, 11, 100, 150},
                   {"b", "y", 20, 24, 200, 190},
                   {"c", "z", 30, 90, 300, 330}};
  deriveBeside(samples, gpu);
  EXPECT_EQ(gpu.beside, 1.2);
  EXPECT_EQ(gpu.besideCpu, 1.1);
  // Nobody gets faster by it.
  samples.pairs.resize(1);
  samples.pairs[0].gpuBeside = 9;
  deriveBeside(samples, gpu);
  EXPECT_EQ(gpu.beside, 1);
  EXPECT_EQ(gpu.besideCpu, 1.5);
  // Twelve threads on eight CPUs, which plans know.
  gpu.kind = nnv12::device::GpuKind::Software;
  gpu.hostCores = 8;
  samples.pairs[0].gpuBeside = 18;
  deriveBeside(samples, gpu);
  EXPECT_EQ(gpu.beside, 1.2);
  EXPECT_EQ(gpu.besideCpu, 1);
}

TEST(Samples, roundTrip) {
  Samples measured;
  measured.gpu.name = "A \"GPU\", of two words";
  measured.gpu.features = {"int64", "storage8"};
  measured.gpu.kind = nnv12::device::GpuKind::Discrete;
  measured.gpu.startMs = 1.0 / 3;
  measured.gpu.stampUs = 0.75;
  Sample kernel;
  kernel.facts.routine = "gpu.map";
  kernel.facts.key = "k.1";
  kernel.facts.tiles = 7;
  kernel.facts.fromMemory = true;
  kernel.facts.stepsInTurn = 12.5;
  kernel.median = 2.5;
  kernel.p90 = 3;
  measured.kernels = {kernel, kernel};
  measured.leftOut = 3;
  // Files of earlier versions have no pairs.
  EXPECT_EQ(print(measured).find("pairs"), std::string::npos);
  measured.gpu.imports = false;
  measured.pairThreads = 2;
  measured.numCpus = 16;
  measured.pairs = {{"gpu.map", "conv", 1, 2.5, 3, 4}};
  std::string text = print(measured);
  Samples read;
  ASSERT_TRUE(parse(text, read));
  EXPECT_EQ(print(read), text);
  EXPECT_EQ(read.gpu.name, measured.gpu.name);
  EXPECT_EQ(read.gpu.startMs, measured.gpu.startMs);
  EXPECT_EQ(read.gpu.stampUs, 0.75);
  EXPECT_EQ(read.kernels[1].facts.key, "k.1");
  EXPECT_EQ(read.kernels[1].facts.stepsInTurn, 12.5);
  EXPECT_EQ(read.leftOut, 3u);
  EXPECT_FALSE(read.gpu.imports);
  EXPECT_EQ(read.numCpus, 16u);
  ASSERT_EQ(read.pairs.size(), 1u);
  EXPECT_EQ(read.pairs[0].cpu, "conv");
  EXPECT_EQ(read.pairs[0].cpuBeside, 4);
  // A text that has been cut off is nothing.
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    Samples cut;
    EXPECT_FALSE(parse(text.substr(0, size), cut)) << size;
  }
}

TEST(Race, DropsTheSlow) {
  Race race({0, 1, 0, 0, Race::alone, 1, 0});
  EXPECT_EQ(race.isIn(), std::vector<bool>(7, true));
  race.drop({10, 1, 12, 16, 99, 5, 15}, 0.5);
  // Two of a group stay in any case. So do kernels without rivals.
  EXPECT_EQ(race.isIn(), (std::vector<bool>{1, 1, 1, 0, 1, 1, 1}));
  // Times of the one that is out do not count.
  race.drop({10, 1, 13, 0, 99, 5, 12.5}, 0.2);
  EXPECT_EQ(race.isIn(), (std::vector<bool>{1, 1, 0, 0, 1, 1, 1}));
}

TEST(Race, EstimatesByTheFastest) {
  Race race({0, 0, 0, Race::alone});
  std::vector<double> before = {10, 11, 20, 7};
  race.drop(before, 0.25);
  std::vector<double> times = {6, 7, 0, 4};
  race.estimate(before, times);
  EXPECT_EQ(times, (std::vector<double>{6, 7, 12, 4}));
}

/// Samples have noise, and some are far too long, as on a machine with
/// neighbours. The chosen kernels are hardly slower than the fastest.
TEST(Race, RegretsLittle) {
  std::mt19937 generator(1);
  auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(generator);
  };
  double chosen = 0, best = 0;
  size_t ran = 0, all = 0;
  constexpr unsigned steps = 9, layers = 500, rivals = 9;
  for (unsigned layer = 0; layer < layers; ++layer) {
    Race race(std::vector<uint32_t>(rivals, 0));
    std::vector<double> real(rivals);
    for (double &time : real)
      time = uniform(1, 3);
    std::vector<std::vector<double>> samples(rivals);
    std::vector<double> medians(rivals);
    for (unsigned step = 1; step <= steps; ++step) {
      for (unsigned k = 0; k < rivals; ++k) {
        all += 1;
        if (!race.isIn()[k])
          continue;
        ran += 1;
        double outlier = uniform(0, 1) < 0.05 ? uniform(1, 2) : 1;
        samples[k].push_back(real[k] * uniform(1, 1.05) * outlier);
        std::vector<double> sorted = samples[k];
        std::sort(sorted.begin(), sorted.end());
        medians[k] = sorted[sorted.size() / 2];
      }
      for (const Heat &heat : heats)
        if (step == std::max(1u, unsigned(heat.part * steps + 0.5)))
          race.drop(medians, heat.margin);
    }
    size_t first =
        std::min_element(medians.begin(), medians.end()) - medians.begin();
    chosen += real[first];
    best += *std::min_element(real.begin(), real.end());
  }
  EXPECT_LT(chosen, 1.01 * best);
  EXPECT_LT(double(ran), 0.5 * double(all));
}
