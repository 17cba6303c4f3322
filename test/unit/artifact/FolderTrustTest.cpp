//===- FolderTrustTest.cpp - Whether others can exchange files ------------===//
#include "artifact/FolderTrust.h"
#include "test/unit/sample/SampleBundle.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace nnv12::artifact;
using namespace nnv12::test;

namespace {

class FolderTrustTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(mkdir(above.c_str(), 0700), 0);
    ASSERT_EQ(mkdir(inside.c_str(), 0700), 0);
  }

  bool trusts(Others allowed) {
    fault = {};
    return isTrusted(inside, allowed, fault);
  }
  void set(const std::string &path, mode_t mode) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
  }

  TemporaryFolder folder;
  std::string above = folder.file("above"), inside = above + "/inside";
  Fault fault;
};

} // namespace

TEST_F(FolderTrustTest, KnowsWhoCanRename) {
  EXPECT_TRUE(trusts(Others::Nobody)) << fault.text;
  for (mode_t mode : {0775, 0777, 0720, 02775}) {
    set(inside, mode);
    EXPECT_FALSE(trusts(Others::Nobody)) << std::oct << mode;
    EXPECT_FALSE(trusts(Others::NotOurs)) << std::oct << mode;
    EXPECT_NE(std::string(fault.text).find(inside + ", which others can write"),
              std::string::npos)
        << fault.text;
  }
  set(inside, 01777);
  EXPECT_TRUE(trusts(Others::NotOurs)) << fault.text;
  EXPECT_FALSE(trusts(Others::Nobody));
  set(inside, 0755);
  EXPECT_TRUE(trusts(Others::Nobody)) << fault.text;
}

TEST_F(FolderTrustTest, KnowsWhoCanRenameAFolderAbove) {
  set(above, 0777);
  EXPECT_FALSE(trusts(Others::Nobody));
  EXPECT_NE(std::string(fault.text).find(above + ", which others can write"),
            std::string::npos)
      << fault.text;
  set(above, 01777);
  EXPECT_TRUE(trusts(Others::Nobody)) << fault.text;
}

TEST_F(FolderTrustTest, KnowsWhoseItIs) {
  if (geteuid() != 0)
    GTEST_SKIP() << "only root gives folders away";
  ASSERT_EQ(chown(above.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(trusts(Others::NotOurs));
  EXPECT_NE(std::string(fault.text).find("owner 12345"), std::string::npos);
  // The folder that a link leads to counts.
  std::string link = folder.file("link");
  ASSERT_EQ(symlink(inside.c_str(), link.c_str()), 0);
  EXPECT_FALSE(isTrusted(link, Others::NotOurs, fault));
  ASSERT_EQ(chown(above.c_str(), 0, 0), 0);
  EXPECT_TRUE(isTrusted(link, Others::NotOurs, fault)) << fault.text;
}

TEST_F(FolderTrustTest, WantsAFolder) {
  EXPECT_FALSE(isTrusted(folder.file("none"), Others::NotOurs, fault));
  EXPECT_STREQ(fault.text, "No such file or directory");
  writeFile(folder.file("file"), "1", 1);
  EXPECT_FALSE(isTrusted(folder.file("file"), Others::NotOurs, fault));
  EXPECT_STREQ(fault.text, "Not a directory");
}
