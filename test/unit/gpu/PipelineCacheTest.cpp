//===- PipelineCacheTest.cpp - Drivers' compiled code is kept -------------===//
//
// The mock says so where a driver is given other bytes than those that it has
// made.
//
//===----------------------------------------------------------------------===//
#include "test/unit/gpu/GpuTest.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;

namespace {

class PipelineCacheTest : public GpuTest {
protected:
  PipelineCacheTest() { open(); }

  /// The state of the file in `folder` in a process's first session.
  nnv12_gpu_cache state(const char *folder) {
    SessionOptions options = this->options(NNV12_GPU_WAIT);
    options.gpu.cache_dir = folder;
    SessionPointer session = create(options);
    EXPECT_EQ(run(session), expected());
    nnv12_session_info now = info(session);
    EXPECT_EQ(now.gpu_state, NNV12_GPU_READY) << now.gpu_reason;
    session.reset();
    expectClean();
    return now.gpu_cache;
  }
  nnv12_gpu_cache state() { return state(cache.path.c_str()); }

  static std::vector<std::string> filesIn(const std::string &folder) {
    std::vector<std::string> names;
    DIR *dir = opendir(folder.c_str());
    while (dirent *entry = dir ? readdir(dir) : nullptr)
      if (entry->d_name[0] != '.')
        names.push_back(folder + "/" + entry->d_name);
    if (dir)
      closedir(dir);
    return names;
  }
  /// The one file that there is.
  std::string file() {
    std::vector<std::string> names = filesIn(cache.path);
    EXPECT_EQ(names.size(), 1u);
    return names.empty() ? "" : names[0];
  }
  void putBack(const std::vector<unsigned char> &bytes) {
    unlink(name.c_str());
    writeFile(name, bytes.data(), bytes.size());
    chmod(name.c_str(), 0600);
  }
  /// Makes the file, and remembers it.
  void make() {
    EXPECT_EQ(state(), NNV12_GPU_CACHE_WRITTEN);
    name = file();
    good = readFile(name);
  }

  TemporaryFolder cache;
  std::string name;
  std::vector<unsigned char> good;
};

} // namespace

TEST_F(PipelineCacheTest, IsFoundByTheNextProcess) {
  make();
  struct stat info;
  ASSERT_EQ(stat(name.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(state(), NNV12_GPU_CACHE_HIT);
  EXPECT_EQ(readFile(file()), good);
  EXPECT_EQ(state(""), NNV12_GPU_CACHE_OFF);
}

TEST_F(PipelineCacheTest, EachByteFlipped) {
  make();
  for (size_t i = 0; i < good.size(); ++i) {
    std::vector<unsigned char> damaged = good;
    damaged[i] ^= 1u << i % 8;
    putBack(damaged);
    ASSERT_EQ(state(), NNV12_GPU_CACHE_WRITTEN) << i;
    ASSERT_EQ(readFile(file()), good);
  }
}

TEST_F(PipelineCacheTest, EachLength) {
  make();
  std::vector<unsigned char> longer = good;
  longer.push_back(0);
  for (size_t size = 0; size < good.size(); ++size) {
    putBack({good.begin(), good.begin() + long(size)});
    ASSERT_EQ(state(), NNV12_GPU_CACHE_WRITTEN) << size;
  }
  putBack(longer);
  EXPECT_EQ(state(), NNV12_GPU_CACHE_WRITTEN);
  EXPECT_EQ(state(), NNV12_GPU_CACHE_HIT);
}

/// Other drivers, devices and bundles.
TEST_F(PipelineCacheTest, EachPartOfTheKey) {
  make();
  mock.devices[0].driverVersion = 2;
  EXPECT_EQ(state(), NNV12_GPU_CACHE_WRITTEN);
  EXPECT_EQ(state(), NNV12_GPU_CACHE_HIT);
  // The old driver's file is gone.
  EXPECT_EQ(file(), name);
  mock.devices[0].api = VK_API_VERSION_1_2;
  EXPECT_EQ(state(), NNV12_GPU_CACHE_WRITTEN);
  mock.devices[0].uuid = 3;
  EXPECT_EQ(state(), NNV12_GPU_CACHE_WRITTEN);
  EXPECT_EQ(filesIn(cache.path).size(), 2u);
  EXPECT_EQ(state(), NNV12_GPU_CACHE_HIT);
  mock.devices[0].uuid = 1;
  EXPECT_EQ(state(), NNV12_GPU_CACHE_HIT);
}

TEST_F(PipelineCacheTest, FilesOfOthers) {
  make();
  for (mode_t mode : {0620, 0602, 0666, 0622}) {
    chmod(name.c_str(), mode);
    EXPECT_EQ(state(), NNV12_GPU_CACHE_WRITTEN) << mode;
    EXPECT_EQ(state(), NNV12_GPU_CACHE_HIT);
  }
  if (geteuid() == 0) {
    ASSERT_EQ(chown(name.c_str(), 12345, 12345), 0);
    EXPECT_EQ(state(), NNV12_GPU_CACHE_WRITTEN);
    EXPECT_EQ(state(), NNV12_GPU_CACHE_HIT);
  }
}

TEST_F(PipelineCacheTest, WhatIsNoFile) {
  make();
  std::string other = folder.file("other");
  writeFile(other, good.data(), good.size());
  chmod(other.c_str(), 0600);
  unlink(name.c_str());
  ASSERT_EQ(symlink(other.c_str(), name.c_str()), 0);
  EXPECT_EQ(state(), NNV12_GPU_CACHE_WRITTEN);
  EXPECT_EQ(state(), NNV12_GPU_CACHE_HIT);
  unlink(name.c_str());
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  EXPECT_EQ(state(), NNV12_GPU_CACHE_WRITTEN);
  EXPECT_EQ(state(), NNV12_GPU_CACHE_HIT);
  unlink(name.c_str());
  ASSERT_EQ(mkdir(name.c_str(), 0700), 0);
  EXPECT_EQ(state(), NNV12_GPU_CACHE_MISS);
  EXPECT_EQ(filesIn(cache.path).size(), 1u);
  rmdir(name.c_str());
  // A huge one, of which nothing is read.
  putBack(good);
  ASSERT_EQ(truncate(name.c_str(), off_t(1) << 40), 0);
  EXPECT_EQ(state(), NNV12_GPU_CACHE_WRITTEN);
}

TEST_F(PipelineCacheTest, FoldersThatAreNone) {
  EXPECT_EQ(state("/proc/nowhere"), NNV12_GPU_CACHE_MISS);
  EXPECT_EQ(state("/dev/null"), NNV12_GPU_CACHE_MISS);
  // Others could put a file there, or take one away.
  for (mode_t mode : {0777, 0770, 01777, 0722}) {
    chmod(cache.path.c_str(), mode);
    EXPECT_EQ(state(), NNV12_GPU_CACHE_OFF) << std::oct << mode;
  }
  chmod(cache.path.c_str(), 0700);
  if (geteuid() != 0) {
    chmod(cache.path.c_str(), 0500);
    EXPECT_EQ(state(), NNV12_GPU_CACHE_MISS);
    chmod(cache.path.c_str(), 0700);
  }
  EXPECT_TRUE(filesIn(cache.path).empty());
}

/// The user's own folder is made where it is missing, and left alone where the
/// bundle must be signed.
TEST_F(PipelineCacheTest, TheUsersFolder) {
  const char *before = getenv("XDG_CACHE_HOME");
  std::string old = before ? before : "", base = cache.file("made");
  setenv("XDG_CACHE_HOME", base.c_str(), 1);
  EXPECT_EQ(state(nullptr), NNV12_GPU_CACHE_WRITTEN);
  EXPECT_EQ(filesIn(base + "/nnv12").size(), 1u);
  struct stat info;
  ASSERT_EQ(stat((base + "/nnv12").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(state(nullptr), NNV12_GPU_CACHE_HIT);
  setenv("XDG_CACHE_HOME", "relative", 1);
  std::string home = getenv("HOME") ? getenv("HOME") : "";
  setenv("HOME", base.c_str(), 1);
  EXPECT_EQ(state(nullptr), NNV12_GPU_CACHE_WRITTEN);
  EXPECT_EQ(filesIn(base + "/.cache/nnv12").size(), 1u);
  setenv("HOME", home.c_str(), 1);
  if (before)
    setenv("XDG_CACHE_HOME", old.c_str(), 1);
  else
    unsetenv("XDG_CACHE_HOME");
}

/// Sessions of one process and other processes write at once: each reader finds
/// a whole file.
TEST_F(PipelineCacheTest, TwoWriters) {
  for (int i = 0; i < 20; ++i) {
    SessionOptions options = this->options(NNV12_GPU_AUTO);
    options.gpu.cache_dir = cache.path.c_str();
    std::vector<SessionPointer> sessions;
    for (int k = 0; k < 4; ++k) {
      // Devices of their own, which share no pipelines.
      uint8_t uuid[16] = {1};
      options.gpu.device_uuid = k % 2 ? uuid : nullptr;
      sessions.push_back(create(options));
      EXPECT_EQ(run(sessions.back()), expected());
      EXPECT_EQ(run(sessions.back()), expected());
    }
    for (const SessionPointer &session : sessions)
      EXPECT_EQ(settle(session).gpu_state, NNV12_GPU_READY);
    sessions.clear();
    expectClean();
    name = file();
    EXPECT_EQ(state(), NNV12_GPU_CACHE_HIT);
    unlink(name.c_str());
  }
}
