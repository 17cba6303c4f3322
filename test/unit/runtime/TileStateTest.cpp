//===- TileStateTest.cpp - A system that refuses AMX ----------------------===//
//
// The CPU of these tests has AMX, whatever the machine's has: the C library's
// answers to cpuid are made up here. Programs that list it have ordinary code.
// Each test is a process of its own, since a filter of system calls stays.
//
//===----------------------------------------------------------------------===//
#include "artifact/TileState.h"
#include "artifact/CpuFeatures.h"
#include "artifact/Writer.h"
#include "runtime/include/nnv12.hpp"
#include "test/unit/sample/SampleBundle.h"

#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::test;

#if defined(__x86_64__)

#include <cerrno>
#include <cpuid.h>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/// In place of the C library's, which artifact/CpuFeatures.cpp asks.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the C library's own name
extern "C" const unsigned *__x86_get_cpuid_feature_leaf(unsigned index) {
  static thread_local unsigned registers[4];
  auto &[a, b, c, d] = registers;
  static constexpr unsigned leaves[][2] = {{1, 0}, {7, 0}, {0x80000001, 0}, {},
                                           {},     {},     {7, 1}};
  __cpuid_count(leaves[index][0], leaves[index][1], a, b, c, d);
  if (index == 1)
    d |= 1u << 24 | 1u << 25; // amx-tile, amx-int8
  return registers;
}

namespace {

/// From now on the system answers requests for the state of tiles with this
/// error; 0: it grants them. False where it takes no filters.
bool answerRequests(unsigned error) {
  constexpr unsigned requestPermission = 0x1023;
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, requestPermission, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog filter = {sizeof code / sizeof *code, code};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

class TileStateTest : public testing::Test {
protected:
  void SetUp() override {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    path = folder.file("a.nnv");
    for (artifact::Program &program : sample.bundle.programs)
      if (program.architecture == artifact::hostArchitecture()) {
        program.target = "x86-64-v4+amx";
        program.features = {"amx-tile", "amx-int8"};
        own = &program;
      }
    ASSERT_NE(own, nullptr);
  }
  /// Puts the same program without features behind the one that wants AMX.
  void addOrdinary() {
    artifact::Program ordinary = *own;
    ordinary.target = "x86-64-v4";
    ordinary.features = {};
    sample.bundle.programs.push_back(ordinary);
  }
  /// In a process in which requests for tiles end in `error`: prints the target
  /// that the bundle is opened for, or why none is.
  [[noreturn]] void openWith(unsigned error) {
    if (!answerRequests(error)) {
      fprintf(stderr, "no filters\n");
    } else {
      try {
        Bundle bundle(path);
        fprintf(stderr, "opened for %s\n", bundle.info().target);
      } catch (const std::exception &fault) {
        fprintf(stderr, "%s\n", fault.what());
      }
    }
    exit(0);
  }
  void expect(unsigned error, const std::string &line) {
    ASSERT_EQ(artifact::writeBundle(sample.bundle, path), "");
    EXPECT_EXIT(openWith(error), testing::ExitedWithCode(0),
                "no filters|" + line);
  }

  TemporaryFolder folder;
  std::string path;
  Sample sample{3};
  artifact::Program *own = nullptr;
};

} // namespace

TEST_F(TileStateTest, TakesWhatIsGranted) {
  addOrdinary();
  expect(0, "opened for x86-64-v4\\+amx\n");
}

TEST_F(TileStateTest, TakesTheNextWhereItIsRefused) {
  addOrdinary();
  expect(EPERM, "opened for x86-64-v4\n");
}

TEST_F(TileStateTest, NamesWhatIsRefused) {
  expect(EPERM, "target: none of the bundle's runs on this x86-64 CPU[^\n]*"
                "; x86-64-v4\\+amx needs amx-tile, which this process may not "
                "use[^\n]*\n");
}

/// A kernel that does not know the request.
TEST_F(TileStateTest, AsksNothingOfOtherFeatures) {
  own->features = {"sse2"};
  expect(EINVAL, "opened for x86-64-v4\\+amx\n");
}

#endif
