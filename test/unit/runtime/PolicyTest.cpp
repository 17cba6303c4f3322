//===- PolicyTest.cpp - The compiler knows what the runtime does ----------===//

#include "runtime/Policy.h"

#include "compiler/device/RuntimeModel.h"

#include <gtest/gtest.h>

using namespace nnv12;

TEST(PolicyTest, IsWhatPlansCountOn) {
  EXPECT_EQ(device::hugePageSize, runtime::hugePageSize);
  EXPECT_EQ(device::leastInHugePage, runtime::leastInHugePage);
  EXPECT_EQ(device::leastForgotten, runtime::leastForgotten);
  EXPECT_EQ(device::headSize, runtime::headSize);
  for (uint64_t size = 0; size < 20 << 20; size += 4096)
    EXPECT_EQ(device::inHugePages(size), runtime::inHugePages(size)) << size;
}
