//===- InputFilesTest.cpp - Files that no output may replace --------------===//
#include "artifact/InputFiles.h"
#include "test/unit/sample/SampleBundle.h"

#include <filesystem>
#include <gtest/gtest.h>

using namespace nnv12::artifact;
using namespace nnv12::test;

TEST(InputFiles, KnowsAFileByAnyName) {
  TemporaryFolder folder;
  const std::string file = folder.file("a"), soft = folder.file("soft"),
                    hard = folder.file("hard"),
                    around = folder.path + "/../" +
                             std::filesystem::path(folder.path)
                                 .lexically_normal()
                                 .filename()
                                 .string() +
                             "/a";
  writeFile(file, "1", 1);
  std::filesystem::create_symlink("a", soft);
  std::filesystem::create_hard_link(file, hard);
  InputFiles inputs;
  inputs.add(file);
  for (const std::string &name : {file, soft, hard, around}) {
    Fault fault;
    EXPECT_FALSE(inputs.allowsWriting(name, fault)) << name;
    EXPECT_EQ(std::string(fault.text),
              "found the input '" + file + "', expected another file to write");
  }
}

TEST(InputFiles, AllowsWhatIsNotRead) {
  TemporaryFolder folder;
  writeFile(folder.file("a"), "1", 1);
  writeFile(folder.file("b"), "1", 1);
  InputFiles inputs;
  inputs.add(folder.file("a"));
  inputs.add(folder.file("absent"));
  inputs.add("");
  Fault fault;
  EXPECT_TRUE(inputs.allowsWriting(folder.file("b"), fault));
  EXPECT_TRUE(inputs.allowsWriting(folder.file("new"), fault));
  EXPECT_TRUE(inputs.allowsWriting(folder.file("absent"), fault));
}
