//===- PhoneTest.cpp - Plans for phones as the paper has them -------------===//

#include "PhoneTables.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

using namespace nnv12;
using namespace nnv12::device;

TEST(Phone, shippedProfilesAreValid) {
  EXPECT_EQ(shippedProfiles().size(), 4u);
  for (const auto &[name, text] : shippedProfiles()) {
    std::string error;
    auto p = readProfile(name, error); // by name
    ASSERT_TRUE(p) << error;
    EXPECT_EQ(p->architecture, "aarch64");
    EXPECT_FALSE(p->measured);
    EXPECT_GT(p->little.count, 0u);
    EXPECT_EQ(foreignDevice(*p), "");
  }
}

TEST(Phone, eachPartHelps) {
  for (const auto &[name, text] : shippedProfiles())
    for (const char *model : {"ResNet-50", "GoogLeNet"}) {
      const Ablation &a = ablation(name, model);
      EXPECT_LT(a.k, a.none);
      EXPECT_LT(a.kc, a.k);
      EXPECT_LT(a.kcp, a.kc);
      EXPECT_GE(a.kcp, a.bound);
    }
}

TEST(Phone, networksAreWhole) {
  auto sum = [](const std::vector<Conv> &network) {
    double weights = 0, multiplyAdds = 0;
    for (const Conv &c : network) {
      weights += c.weights();
      multiplyAdds += c.multiplyAdds();
    }
    return std::make_pair(weights * 1e-6, multiplyAdds * 1e-9);
  };
  EXPECT_EQ(resnet50().size(), 54u);
  EXPECT_NEAR(sum(resnet50()).first, 25.5, 0.1);
  EXPECT_NEAR(sum(resnet50()).second, 4.09, 0.05);
  EXPECT_EQ(googlenet().size(), 58u);
  EXPECT_NEAR(sum(googlenet()).first, 7.0, 0.1);
  EXPECT_NEAR(sum(googlenet()).second, 1.58, 0.05);
}

/// docs/ show what the program computes: `build/bin/phone-tables` prints it.
TEST(Phone, docsAreUpToDate) {
  auto contents = [](const char *name) {
    std::ifstream file(std::string(NNV12_DOCS) + "/" + name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  };
  std::string phones = contents("phones.md");
  for (const std::string &table : {table1(), table2(), figure13()})
    EXPECT_NE(phones.find(table), std::string::npos) << "docs/phones.md lacks\n"
                                                     << table;
  EXPECT_NE(contents("search.md").find(searchTable()), std::string::npos)
      << "docs/search.md lacks\n"
      << searchTable();
}
