//===- ProfileCacheTest.cpp - The times measured on this machine ----------===//
#include "compiler/device/ProfileCache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

using namespace nnv12::device;

namespace {

class ProfileCacheTest : public testing::Test {
protected:
  void SetUp() override {
    folder = testing::TempDir() + "cacheXXXXXX";
    ASSERT_TRUE(mkdtemp(folder.data()));
    folder += "/below"; // made by the cache
  }
  void TearDown() override {
    std::filesystem::remove_all(std::filesystem::path(folder).parent_path());
  }
  ProfileCache cache(const std::string &identity = "CPU x 2",
                     const std::string &target = "x86-64-v4") {
    return ProfileCache(folder, identity, target);
  }
  /// The remembered profile; `error` holds why there is none.
  std::optional<DeviceProfile> read(const ProfileCache &cache) {
    error.clear();
    return cache.read(error);
  }
  std::optional<DeviceProfile> read() { return read(cache()); }
  static DeviceProfile profile(const std::string &kernel, double time) {
    DeviceProfile p = builtinProfile("x86-64", "x86-64-v4");
    p.measured = true;
    p.identity = "CPU x 2";
    p.revision = "1";
    p.kernels.clear();
    p.kernels[kernel].big = {time, time / 3};
    return p;
  }
  static std::string text(const std::string &path) {
    std::stringstream all;
    all << std::ifstream(path).rdbuf();
    return all.str();
  }
  void overwrite(const std::string &bytes) {
    std::ofstream(cache().path()) << bytes;
  }
  std::string folder, error;
};

TEST_F(ProfileCacheTest, TargetsOfOneBaseShareTimes) {
  DeviceProfile base = profile("base", 1), dots = profile("dots", 2);
  dots.target = "x86-64-v4+vnni";
  ProfileCache other = cache("CPU x 2", dots.target);
  ASSERT_EQ(cache().add(base), "");
  ASSERT_EQ(other.add(dots), "");
  for (const ProfileCache &one : {cache(), other}) {
    auto known = read(one);
    ASSERT_TRUE(known) << error;
    EXPECT_EQ(known->target, "x86-64-v4+vnni");
    EXPECT_EQ(known->kernels.size(), 2u);
  }
  EXPECT_FALSE(read(cache("CPU x 2", "x86-64-v3+vnni")));
}

TEST_F(ProfileCacheTest, EmptyFolderIsAMiss) {
  EXPECT_FALSE(read());
  EXPECT_EQ(error, "");
}

TEST_F(ProfileCacheTest, ReadsBackWhatWasAddedToTheLastDigit) {
  DeviceProfile first = profile("a", 0.1);
  EXPECT_EQ(cache().add(first), "");
  auto found = read();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kernels["a"].big, (std::vector<double>{0.1, 0.1 / 3}));
  EXPECT_EQ(printProfile(*found), printProfile(first));
}

TEST_F(ProfileCacheTest, AddsKernelsAndKeepsThoseThatAreThere) {
  DeviceProfile first = profile("a", 1), second = profile("b", 2);
  second.kernels["a"].big = {5};
  second.readMBps = 77;
  EXPECT_EQ(cache().add(first), "");
  EXPECT_EQ(cache().add(second), "");
  // Both compiles end with the same numbers.
  EXPECT_EQ(second.kernels["a"].big[0], 1);
  EXPECT_EQ(second.readMBps, first.readMBps);
  auto found = read();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kernels.size(), 2u);
  EXPECT_EQ(found->kernels["a"].big[0], 1);
}

/// A first time of a kernel in a model is added, and stays.
TEST_F(ProfileCacheTest, AddsTimesInModels) {
  DeviceProfile first = profile("a", 1), second = profile("a", 1),
                third = profile("a", 1);
  second.kernels["a"].inModel = {0, 2};
  third.kernels["a"].inModel = {3, 4};
  for (DeviceProfile *profile : {&first, &second, &third})
    EXPECT_EQ(cache().add(*profile), "");
  EXPECT_EQ(third.kernels["a"].inModel, (std::vector<double>{3, 2}));
}

TEST_F(ProfileCacheTest, CorruptFilesAreMissesAndReplaced) {
  DeviceProfile first = profile("a", 1);
  ASSERT_EQ(cache().add(first), "");
  std::string whole = text(cache().path());
  std::string negative = whole;
  negative.replace(negative.find("\"readMBps\": ") + 12, 1, "-");
  for (const std::string &bytes :
       {std::string(), std::string("{"), std::string("null"),
        std::string(100, '\0'), whole.substr(0, whole.size() / 2), "x" + whole,
        negative}) {
    overwrite(bytes);
    EXPECT_FALSE(read()) << bytes.substr(0, 40);
    EXPECT_EQ(error.rfind(cache().path() + ": ", 0), 0u) << error;
    DeviceProfile again = profile("b", 2);
    EXPECT_EQ(cache().add(again), "");
    auto found = read();
    ASSERT_TRUE(found);
    EXPECT_EQ(found->kernels.size(), 1u);
  }
}

TEST_F(ProfileCacheTest, OtherDevicesAndTargetsAreMisses) {
  DeviceProfile first = profile("a", 1);
  ASSERT_EQ(cache().add(first), "");
  EXPECT_FALSE(read(cache("CPU x 4")));
  EXPECT_FALSE(read(cache("CPU x 2", "x86-64-v3")));
  EXPECT_EQ(error, "");
  // Even when their file stands where ours is looked for.
  for (const ProfileCache &other :
       {cache("CPU x 4"), cache("CPU x 2", "x86-64-v3")}) {
    std::filesystem::copy_file(cache().path(), other.path());
    EXPECT_FALSE(read(other));
    EXPECT_NE(error.find("another device or target"), std::string::npos);
  }
}

TEST_F(ProfileCacheTest, KernelsOfAnotherRevisionAreForgotten) {
  DeviceProfile first = profile("a", 1), second = profile("b", 2);
  first.kernels["a"].code = "12ab";
  ASSERT_EQ(cache().add(first), "");
  second.revision = "2";
  ASSERT_EQ(cache().add(second), "");
  auto found = read();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->revision, "2");
  EXPECT_EQ(found->kernels.size(), 1u);
  EXPECT_EQ(found->kernels.count("b"), 1u);
}

TEST_F(ProfileCacheTest, FilesOfAnotherVersionSayWhatToDo) {
  DeviceProfile first = profile("a", 1);
  ASSERT_EQ(cache().add(first), "");
  std::string old = text(cache().path());
  old.replace(old.find("\"version\": 2"), 12, "\"version\": 1");
  overwrite(old);
  EXPECT_FALSE(read());
  EXPECT_EQ(error, cache().path() + ": version: found 1, expected 2 (measure "
                                    "again with nnv12-tune)");
}

TEST_F(ProfileCacheTest, FolderThatCannotBeMadeIsALineAndNoLoss) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/file") << "in the way";
  ProfileCache blocked(folder + "/file/below", "CPU x 2", "x86-64-v4");
  EXPECT_FALSE(read(blocked));
  DeviceProfile first = profile("a", 1);
  error = blocked.add(first);
  EXPECT_NE(error.find("/file/below: "), std::string::npos) << error;
  EXPECT_EQ(first.kernels.size(), 1u);
}

TEST_F(ProfileCacheTest, ProcessesThatAddAtOnceLoseNothing) {
  constexpr int processes = 8, each = 10;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = true;
      for (int i = 0; i < each; ++i) {
        DeviceProfile one =
            profile(std::to_string(p) + "." + std::to_string(i), 1 + p);
        good = good && cache().add(one).empty() && read();
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  auto found = read();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->kernels.size(), size_t(processes * each));
}

TEST(DefaultCacheFolder, FollowsTheEnvironment) {
  setenv("XDG_CACHE_HOME", "/xdg", 1);
  setenv("HOME", "/home/x", 1);
  EXPECT_EQ(defaultCacheFolder(), "/xdg/nnv12");
  setenv("XDG_CACHE_HOME", "relative",
         1); // must be absolute, says the standard
  EXPECT_EQ(defaultCacheFolder(), "/home/x/.cache/nnv12");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(defaultCacheFolder(), "");
}

} // namespace
