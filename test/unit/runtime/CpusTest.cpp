//===- CpusTest.cpp -------------------------------------------------------===//
#include "runtime/system/Cpus.h"
#include "test/unit/runtime/CpuSet.h"
#include "test/unit/sample/SampleBundle.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

using namespace nnv12::runtime;
using nnv12::test::cpusOf;

namespace {

TEST(CpusTest, AThreadMayUseWhatItIsAllowed) {
  CpuMask before;
  before.get();
  ASSERT_TRUE(before.isKnown());
  EXPECT_LE(availableCpus(), cpusOf(before).size());
  EXPECT_GE(availableCpus(), 1u);
  CpuMask one;
  one.add(*cpusOf(before).begin());
  one.apply();
  EXPECT_EQ(availableCpus(), 1u);
  Cpus cpus;
  cpus.find();
  EXPECT_EQ(cpusOf(cpus.allowed()), cpusOf(one));
  EXPECT_FALSE(cpus.part(Cpus::Any, 0, 1).isKnown()) << "the caller is there";
  before.apply();
}

TEST(CpusTest, PartsAreDisjointAndNotTheCallers) {
  Cpus cpus;
  cpus.find();
  size_t count = cpusOf(cpus.allowed()).size();
  for (uint32_t parts = 1; parts < count; ++parts) {
    std::set<int> all;
    size_t sum = 0;
    for (uint32_t i = 0; i < parts; ++i) {
      std::set<int> part = cpusOf(cpus.part(Cpus::Any, i, parts));
      EXPECT_FALSE(part.empty());
      sum += part.size();
      all.insert(part.begin(), part.end());
    }
    EXPECT_EQ(sum, all.size());
    EXPECT_EQ(sum, count - 1);
  }
  EXPECT_FALSE(cpus.part(Cpus::Any, 0, uint32_t(count)).isKnown())
      << "not enough for all";
}

TEST(CpusTest, RoundAndRound) {
  Cpus cpus;
  EXPECT_EQ(cpus.at(Cpus::Any, 0), -1) << "none before find()";
  cpus.find();
  uint32_t count = uint32_t(cpusOf(cpus.allowed()).size());
  std::set<int> seen;
  for (uint32_t i = 0; i < count; ++i)
    seen.insert(cpus.at(Cpus::Any, i));
  EXPECT_EQ(seen, cpusOf(cpus.allowed()));
  EXPECT_EQ(cpus.at(Cpus::Any, count), cpus.at(Cpus::Any, 0));
}

/// Files of a system, below a folder.
class GrantTest : public testing::Test {
protected:
  void write(const std::string &path, const std::string &text) {
    std::filesystem::path file = folder.path + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text << '\n';
  }
  /// One group's files of version 1.
  void writeQuota(const std::string &group, long quota, long period = 100000) {
    write(group + "/cpu.cfs_quota_us", std::to_string(quota));
    write(group + "/cpu.cfs_period_us", std::to_string(period));
  }
  void mount(const std::string &top, const std::string &at,
             const std::string &options = "rw,cpu,cpuacct") {
    std::ofstream(folder.path + "/proc/self/mountinfo", std::ios::app)
        << "36 31 0:33 " << top << ' ' << at
        << " rw,nosuid shared:15 - cgroup cgroup " << options << '\n';
  }
  uint32_t granted() const { return grantedCpus(folder.path.c_str()); }
  void SetUp() override {
    write("/proc/self/mountinfo",
          "24 30 0:22 / /proc rw,nosuid shared:12 - proc proc rw\n"
          "35 31 0:32 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset");
  }

  nnv12::test::TemporaryFolder folder;
  static constexpr uint32_t all = ~0u;
};

TEST_F(GrantTest, OfVersion2) {
  EXPECT_EQ(granted(), all);
  write("/proc/self/cgroup", "0::/a/b");
  EXPECT_EQ(granted(), all);
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000");
  EXPECT_EQ(granted(), all);
  write("/sys/fs/cgroup/a/cpu.max", "350000 100000");
  EXPECT_EQ(granted(), 4u) << "of the group around it";
  write("/sys/fs/cgroup/a/b/cpu.max", "100000 100000");
  EXPECT_EQ(granted(), 1u);
  write("/proc/self/cgroup", "0::/");
  EXPECT_EQ(granted(), all);
  write("/sys/fs/cgroup/cpu.max", "200000 100000");
  EXPECT_EQ(granted(), 2u);
}

TEST_F(GrantTest, OfVersion1) {
  write("/proc/self/cgroup", "12:cpuset:/c\n4:cpu,cpuacct:/a/b\n1:name=x:/n");
  EXPECT_EQ(granted(), all) << "not mounted";
  mount("/", "/sys/fs/cgroup/cpu,cpuacct");
  writeQuota("/sys/fs/cgroup/cpu,cpuacct/a/b", -1);
  EXPECT_EQ(granted(), all);
  writeQuota("/sys/fs/cgroup/cpu,cpuacct/a", 250000);
  EXPECT_EQ(granted(), 3u) << "of the group around it, rounded up";
  writeQuota("/sys/fs/cgroup/cpu,cpuacct/a/b", 50000);
  EXPECT_EQ(granted(), 1u) << "half a CPU";
  writeQuota("/sys/fs/cgroup/cpu,cpuacct/a/b", 20000, 10000);
  EXPECT_EQ(granted(), 2u);
  writeQuota("/sys/fs/cgroup/cpuset/c", 100000);
  EXPECT_EQ(granted(), 2u) << "another controller's";
}

/// A container sees its own group as the topmost one, by whatever path
/// /proc/self/cgroup names it.
TEST_F(GrantTest, OfVersion1InAContainer) {
  mount("/docker/1f", "/mnt/cpu", "rw,cpuacct,cpu");
  write("/proc/self/cgroup", "4:cpuacct,cpu:/docker/1f");
  writeQuota("/mnt/cpu", 150000);
  EXPECT_EQ(granted(), 2u);
  write("/proc/self/cgroup", "4:cpuacct,cpu:/docker/1f/inner");
  writeQuota("/mnt/cpu/inner", 100000);
  EXPECT_EQ(granted(), 1u);
  write("/proc/self/cgroup", "4:cpuacct,cpu:/docker/1f2");
  EXPECT_EQ(granted(), 2u) << "not below it";
}

/// Groups below /sys/fs/cgroup/LIST are found without the list of mounts.
TEST_F(GrantTest, OfVersion1WithoutMounts) {
  write("/proc/self/cgroup", "4:cpu,cpuacct:/a");
  writeQuota("/sys/fs/cgroup/cpu,cpuacct/a", 300000);
  EXPECT_EQ(granted(), 3u);
  writeQuota("/sys/fs/cgroup/cpu,cpuacct", 200000);
  EXPECT_EQ(granted(), 2u);
}

/// The controller is with one version; version 2 may have others.
TEST_F(GrantTest, OfBothVersions) {
  write("/proc/self/cgroup", "3:cpu:/a\n0::/b");
  mount("/", "/sys/fs/cgroup/cpu", "rw,cpu");
  writeQuota("/sys/fs/cgroup/cpu/a", 300000);
  EXPECT_EQ(granted(), 3u);
  write("/proc/self/cgroup", "3:memory:/a\n0::/b");
  write("/sys/fs/cgroup/b/cpu.max", "200000 100000");
  EXPECT_EQ(granted(), 2u);
  write("/proc/self/cgroup", "0::/");
  write("/sys/fs/cgroup/cpu.max", "100000 100000");
  EXPECT_EQ(granted(), 1u);
}

TEST_F(GrantTest, OddText) {
  mount("/", "/sys/fs/cgroup/cpu", "rw,cpu");
  write("/proc/self/cgroup", "\n4\n4:cpu\nx:y:z");
  EXPECT_EQ(granted(), all);
  write("/proc/self/cgroup", "4:cpu:/a");
  write("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "100000");
  EXPECT_EQ(granted(), all) << "no period";
  writeQuota("/sys/fs/cgroup/cpu/a", 100000, 0);
  EXPECT_EQ(granted(), all);
  write("/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "");
  EXPECT_EQ(granted(), all);
  writeQuota("/sys/fs/cgroup/cpu/a", 0x7fffffffffffffff, 1);
  EXPECT_EQ(granted(), uint32_t(CPU_SETSIZE)) << "more than there can be";
}

} // namespace
