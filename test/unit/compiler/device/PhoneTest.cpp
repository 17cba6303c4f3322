//===- PhoneTest.cpp - Plans for phones as the paper has them -------------===//

#include "GpuTables.h"
#include "PhoneTables.h"

#include "compiler/device/GpuCost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace nnv12;
using namespace nnv12::device;

TEST(Phone, shippedProfilesAreValid) {
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

namespace {

std::string documentation(const char *name) {
  std::ifstream file(std::string(NNV12_DOCS) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Words are equal, numbers within 2 % or a unit of the second decimal: a
/// search that finds a little more, or another library of mathematics, leaves
/// the documentation true.
bool agree(const std::string &shown, const std::string &computed) {
  char *endShown, *endComputed;
  double a = std::strtod(shown.c_str(), &endShown);
  double b = std::strtod(computed.c_str(), &endComputed);
  if (*endShown || *endComputed)
    return shown == computed;
  return std::abs(a - b) <= std::max(0.011, 0.02 * std::abs(b));
}

/// The table of `text` that begins like `table` says the same.
void expectShows(const std::string &text, const std::string &table) {
  size_t begin = text.find(table.substr(0, table.find('\n') + 1));
  ASSERT_NE(begin, std::string::npos) << "missing:\n" << table;
  std::istringstream shown(text.substr(begin)), computed(table);
  std::string word, expected;
  while (computed >> expected) {
    ASSERT_TRUE(shown >> word);
    EXPECT_TRUE(agree(word, expected))
        << "shown " << word << ", computed " << expected << " in\n"
        << table;
  }
}

} // namespace

/// docs/ show what the program computes: `build/bin/phone-tables` prints it.
TEST(Phone, docsAreUpToDate) {
  std::string phones = documentation("phones.md");
  for (const std::string &table :
       {table1(), table2(), figure13(), gpuTable(), gpuPlansTable()})
    expectShows(phones, table);
  expectShows(documentation("search.md"), searchTable());
}

TEST(Phone, anOldTableIsSeen) {
  EXPECT_TRUE(agree("| x", "| x") && agree("101", "100") && agree("0", "0.0"));
  EXPECT_FALSE(agree("103", "100") || agree("1.10", "1.15") ||
               agree("pixel-5", "pixel-6") || agree("0.00", "0.70"));
}
