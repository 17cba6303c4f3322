//===- ForksTest.cpp - Tasks in copies of the process ---------------------===//

#include "tools/nnv12c/Forks.h"

#include "compiler/codegen/common/TemporaryFolder.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <fstream>
#include <unistd.h>

using namespace nnv12;

namespace {

class ForksTest : public testing::Test {
protected:
  std::string file(unsigned task) const {
    return folder.file(std::to_string(task));
  }
  bool write(unsigned task) const {
    std::ofstream(file(task)) << getpid();
    return true;
  }
  /// The process that has done the task; 0: none.
  long writer(unsigned task) const {
    long process = 0;
    std::ifstream(file(task)) >> process;
    return process;
  }

  TemporaryFolder folder;
};

TEST_F(ForksTest, DoAllTasks) {
  for (unsigned count : {0u, 1u, 2u, 7u}) {
    std::vector<bool> done =
        doInForks(count, [&](unsigned i) { return write(i); });
    EXPECT_EQ(done, std::vector<bool>(count, true));
    for (unsigned i = 0; i < count; ++i)
      EXPECT_NE(writer(i), 0) << i;
  }
  EXPECT_EQ(writer(0), getpid()) << "the first one is this process's";
}

TEST_F(ForksTest, WhatACopyCannotDoIsDoneHere) {
  pid_t here = getpid();
  std::vector<unsigned> tried;
  std::vector<bool> done = doInForks(5, [&](unsigned i) {
    tried.push_back(i);
    if (getpid() != here && i == 1)
      abort();
    if (i == 3)
      return false;
    return write(i);
  });
  EXPECT_EQ(done, (std::vector<bool>{true, true, true, false, true}));
  EXPECT_EQ(writer(1), here);
  // Memory of copies is gone.
  EXPECT_TRUE(std::find(tried.begin(), tried.end(), 1u) != tried.end());
  EXPECT_TRUE(std::find(tried.begin(), tried.end(), 3u) != tried.end());
}

TEST_F(ForksTest, CopiesAreSilent) {
  testing::internal::CaptureStderr();
  pid_t here = getpid();
  doInForks(4, [&](unsigned i) {
    if (getpid() != here) {
      fputs("a word", stderr);
      fflush(stderr);
    }
    return true;
  });
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

} // namespace
