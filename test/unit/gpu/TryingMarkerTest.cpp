//===- TryingMarkerTest.cpp - Drivers that end the process ----------------===//
#include "test/unit/gpu/GpuTest.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <functional>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace nnv12;
using namespace nnv12::test;

namespace nnv12::runtime {
extern std::atomic<pid_t> vulkanUser;
} // namespace nnv12::runtime

namespace {

class TryingMarkerTest : public GpuTest {
protected:
  TryingMarkerTest() { open(); }

  SessionOptions withFolder(nnv12_gpu_mode mode = NNV12_GPU_WAIT) {
    SessionOptions result = options(mode);
    result.gpu.cache_dir = cache.path.c_str();
    result.gpu.allow_software = 1;
    return result;
  }
  /// The reason of a process's first session, whose result is the CPU's.
  std::string reason(const SessionOptions &options) {
    nnv12_gpu_release();
    SessionPointer session = create(options);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(run(session, i), expected(i)) << error.message;
    nnv12_session_info now = info(session);
    EXPECT_EQ(now.gpu_stretches_taken, now.gpu_state == NNV12_GPU_READY ? 2 : 0)
        << now.gpu_reason;
    std::string text = now.gpu_reason;
    session.reset();
    expectClean();
    return text;
  }
  std::string reason() { return reason(withFolder()); }

  /// A process whose driver does `what` in the first call of this function.
  pid_t start(const SessionOptions &options, const char *function,
              const std::function<void()> &what) {
    (void)expected(1);
    nnv12_gpu_release();
    pid_t child = fork();
    if (child)
      return child;
    runtime::vulkanUser = 0; // a mock has nothing that a fork spoils
    mock.before = [&](const char *name) {
      if (strcmp(name, function) == 0)
        what();
    };
    SessionPointer session = create(options);
    run(session);
    _exit(0);
  }
  /// The same, and the driver ends it: so many that it is not tried again.
  void die(const SessionOptions &options, const char *function, int times = 3) {
    for (int i = 0; i < times; ++i) {
      pid_t child = start(options, function, [] { _exit(7); });
      int status = 0;
      waitpid(child, &status, 0);
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << function;
    }
  }
  void die(const char *function) { die(withFolder(), function); }

  /// Files of this kind in the folder.
  std::vector<std::string> files(const std::string &ending = ".trying") {
    std::vector<std::string> names;
    DIR *dir = opendir(cache.path.c_str());
    while (dirent *entry = dir ? readdir(dir) : nullptr) {
      std::string name = entry->d_name;
      if (name.size() > ending.size() &&
          name.substr(name.size() - ending.size()) == ending)
        names.push_back(cache.path + "/" + name);
    }
    if (dir)
      closedir(dir);
    return names;
  }
  std::string file() {
    std::vector<std::string> names = files();
    EXPECT_EQ(names.size(), 1u);
    return names.empty() ? "" : names[0];
  }
  std::string refusal(const std::string &path) {
    return "mock: 3 processes died in this driver; to try it again, remove " +
           path;
  }

  TemporaryFolder cache;
};

} // namespace

TEST_F(TryingMarkerTest, NothingIsLeftOfWhatWentWell) {
  EXPECT_EQ(reason(), "");
  EXPECT_TRUE(files().empty());
  mock.fault = {"vkCreateDevice", 2, VK_ERROR_INITIALIZATION_FAILED};
  EXPECT_EQ(reason(), "vkCreateDevice: initialization failed (-3)");
  EXPECT_TRUE(files().empty());
}

/// Until the driver is another one, or the file is gone.
TEST_F(TryingMarkerTest, DriversThatEndTheProcess) {
  for (const char *function : {"vkCreateDevice", "vkCreateComputePipelines"}) {
    mock.reset();
    die(function);
    std::string name = file();
    struct stat info;
    ASSERT_EQ(stat(name.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(reason(), refusal(name)) << function;
    EXPECT_EQ(mock.MockVulkan::calls("vkCreateDevice"), 0u);
    // A session that keeps no files knows nothing of it.
    EXPECT_EQ(reason(options(NNV12_GPU_WAIT)), "");
    EXPECT_EQ(file(), name);
    unlink(name.c_str());
    EXPECT_EQ(reason(), "");
    die(function);
    mock.devices[0].driverVersion = 2;
    EXPECT_EQ(reason(), "") << function;
    EXPECT_TRUE(files().empty());
  }
}

/// Processes may be killed while a driver works, which is not its doing.
TEST_F(TryingMarkerTest, FewDeaths) {
  for (const char *function : {"vkCreateDevice", "vkCreateComputePipelines"}) {
    mock.reset();
    for (int round = 0; round < 2; ++round) {
      die(withFolder(), function, 2);
      EXPECT_EQ(files().size(), 1u);
      EXPECT_EQ(reason(), "") << function;
      EXPECT_TRUE(files().empty());
    }
    die(withFolder(), function, 2);
    // One that opens the device and comes no further proves nothing.
    const char *next = "vkCreatePipelineLayout";
    mock.fault = {next, mock.MockVulkan::calls(next) + 1,
                  VK_ERROR_OUT_OF_HOST_MEMORY};
    EXPECT_NE(reason(), "");
    mock.fault = {};
    die(withFolder(), function, 1);
    EXPECT_EQ(reason(), refusal(file())) << function;
    unlink(file().c_str());
  }
}

/// Software compiles pipelines when they are dispatched first.
TEST_F(TryingMarkerTest, SoftwareThatEndsTheProcess) {
  mock.devices[0].type = VK_PHYSICAL_DEVICE_TYPE_CPU;
  die("vkQueueSubmit");
  EXPECT_EQ(reason(), refusal(file()));
}

/// Elsewhere, no driver is at fault that others were not told of.
TEST_F(TryingMarkerTest, OtherDeathsAreNone) {
  die("vkAllocateMemory");
  EXPECT_TRUE(files().empty());
  die(options(NNV12_GPU_WAIT), "vkCreateDevice");
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(reason(), "");
}

/// One that ends in order has not died.
TEST_F(TryingMarkerTest, OneThatExits) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers report threads and memory of such a process";
#endif
  // exit() is for one thread.
  SessionOptions one = withFolder();
  one.gpu.threads = 1;
  pid_t child = start(one, "vkCreateComputePipelines", [] { exit(7); });
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  EXPECT_TRUE(files().empty());
}

/// A process that is trying now is not dead; when it has died, it is.
TEST_F(TryingMarkerTest, OneThatIsAlive) {
  for (const char *function : {"vkCreateDevice", "vkCreateComputePipelines"}) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    die(withFolder(), function, 2);
    pid_t child = start(withFolder(), function, [&] {
      (void)!write(pipe[1], "x", 1);
      std::this_thread::sleep_for(std::chrono::minutes(1));
    });
    char byte;
    ASSERT_EQ(read(pipe[0], &byte, 1), 1);
    std::string name = file();
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(reason(), "") << function;
    EXPECT_EQ(file(), name);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(reason(), refusal(name)) << function;
    unlink(name.c_str());
    close(pipe[0]);
    close(pipe[1]);
  }
}

TEST_F(TryingMarkerTest, SessionsAtOnce) {
  for (int round = 0; round < 10; ++round) {
    nnv12_gpu_release();
    std::vector<SessionPointer> sessions;
    for (uint32_t i = 0; i < 8; ++i) {
      // Some on devices of their own.
      uint8_t uuid[16] = {1};
      SessionOptions options = withFolder(NNV12_GPU_AUTO);
      options.gpu.device_uuid = i % 2 ? uuid : nullptr;
      options.gpu.threads = 1 + i % 3;
      sessions.push_back(create(options));
      EXPECT_EQ(run(sessions.back()), expected());
      EXPECT_EQ(run(sessions.back()), expected());
    }
    for (const SessionPointer &session : sessions)
      EXPECT_EQ(settle(session).gpu_state, NNV12_GPU_READY)
          << info(session).gpu_reason;
    EXPECT_TRUE(files().empty());
    sessions.clear();
    expectClean();
  }
}

/// Any doubt makes it as if there were none.
TEST_F(TryingMarkerTest, DamagedOnes) {
  die("vkCreateDevice");
  std::string name = file();
  std::vector<unsigned char> good = readFile(name);
  auto put = [&](const std::vector<unsigned char> &bytes) {
    unlink(name.c_str());
    writeFile(name, bytes.data(), bytes.size());
    chmod(name.c_str(), 0600);
  };
  auto expectNone = [&](const std::string &what) {
    EXPECT_EQ(reason(), "") << what;
    EXPECT_TRUE(files().empty()) << what;
  };
  put(good);
  EXPECT_EQ(reason(), refusal(name));
  for (size_t i = 0; i < good.size(); ++i) {
    std::vector<unsigned char> damaged = good;
    damaged[i] ^= 1u << i % 8;
    put(damaged);
    expectNone("byte " + std::to_string(i));
    put({good.begin(), good.begin() + long(i)});
    expectNone("length " + std::to_string(i));
  }
  std::vector<unsigned char> longer = good;
  longer.push_back(0);
  put(longer);
  expectNone("a longer one");
  for (mode_t mode : {0620, 0602, 0666}) {
    put(good);
    chmod(name.c_str(), mode);
    expectNone("a mode");
  }
  if (geteuid() == 0) {
    put(good);
    ASSERT_EQ(chown(name.c_str(), 12345, 12345), 0);
    expectNone("an owner");
  }
}

TEST_F(TryingMarkerTest, WhatIsNoFile) {
  die("vkCreateDevice");
  std::string name = file(), other = folder.file("other");
  std::vector<unsigned char> good = readFile(name);
  writeFile(other, good.data(), good.size());
  chmod(other.c_str(), 0600);
  unlink(name.c_str());
  ASSERT_EQ(symlink(other.c_str(), name.c_str()), 0);
  EXPECT_EQ(reason(), "");
  ASSERT_EQ(link(other.c_str(), name.c_str()), 0);
  EXPECT_EQ(reason(), "");
  EXPECT_EQ(readFile(other), good);
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  EXPECT_EQ(reason(), "");
  EXPECT_TRUE(files().empty());
  ASSERT_EQ(mkdir(name.c_str(), 0700), 0);
  EXPECT_EQ(reason(), "");
  rmdir(name.c_str());
  for (const char *nowhere : {"/proc/nowhere", "/dev/null"}) {
    SessionOptions options = withFolder();
    options.gpu.cache_dir = nowhere;
    EXPECT_EQ(reason(options), "");
  }
}
