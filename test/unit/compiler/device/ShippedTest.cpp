//===- PhoneTest.cpp - The profiles that ship -----------------------------===//

#include "CoefficientBytes.h"

#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::device;

TEST(ShippedProfiles, areValid) {
  EXPECT_EQ(shippedProfiles().size(), 9u);
  unsigned phones = 0;
  for (const auto &[name, text] : shippedProfiles()) {
    std::string error;
    auto p = readProfile(name, error); // by name
    ASSERT_TRUE(p) << error;
    EXPECT_FALSE(p->measured);
    // Phones and boards have little cores; the others are there for their GPU.
    bool isPhone = p->architecture == "aarch64";
    phones += isPhone;
    EXPECT_EQ(p->little.count > 0, isPhone);
    EXPECT_TRUE(isPhone || p->gpu);
    EXPECT_LT(p->gpu ? coefficientBytes(*p->gpu, "gpu.conv") : 0, 500u) << name;
    EXPECT_EQ(foreignDevice(*p), "");
  }
  EXPECT_EQ(phones, 5u);
}
