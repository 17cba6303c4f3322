//===- PropertiesTest.cpp - A bundle's properties of its model ------------===//
#include "tools/common/Properties.h"

#include "artifact/Writer.h"
#include "test/unit/sample/SampleBundle.h"
#include "tools/common/Nearest.h"

#include <gtest/gtest.h>

using namespace nnv12;
using namespace nnv12::test;
using namespace nnv12::tools;

namespace {
class PropertiesTest : public testing::Test {
protected:
  Bundle bundleWith(std::vector<artifact::Property> properties) {
    Sample sample;
    sample.bundle.properties = std::move(properties);
    std::string path = folder.file("a.nnv");
    EXPECT_EQ(artifact::writeBundle(sample.bundle, path), "");
    return Bundle(path);
  }

  TemporaryFolder folder;
};
using Doubles = std::vector<double>;
using Strings = std::vector<std::string>;
} // namespace

TEST_F(PropertiesTest, OptionsCountMore) {
  Bundle bundle = bundleWith({{"color", "bgr"},
                              {"fit", "crop"},
                              {"layout", "nhwc"},
                              {"mean", "1,2,3"},
                              {"scale", "1"},
                              {"std", "4"}});
  ImageArguments arguments;
  ImageOptions said = imageOptions("a.nnv", bundle, arguments);
  EXPECT_EQ(said.scale, 1);
  EXPECT_EQ(said.mean, (Doubles{1, 2, 3}));
  EXPECT_EQ(said.std, Doubles{4});
  EXPECT_TRUE(said.bgr);
  EXPECT_EQ(said.layout, "nhwc");
  EXPECT_EQ(said.fit, "crop");
  arguments.scale = 0.5;
  arguments.mean = {7};
  arguments.std = {8, 8, 8};
  arguments.color = "rgb";
  arguments.layout = "nchw";
  arguments.fit = "stretch";
  ImageOptions given = imageOptions("a.nnv", bundle, arguments);
  EXPECT_EQ(given.scale, 0.5);
  EXPECT_EQ(given.mean, Doubles{7});
  EXPECT_EQ(given.std, (Doubles{8, 8, 8}));
  EXPECT_FALSE(given.bgr);
  EXPECT_EQ(given.layout, "nchw");
  EXPECT_EQ(given.fit, "stretch");
}

TEST_F(PropertiesTest, WithoutThemThereAreDefaults) {
  Bundle bundle = bundleWith({});
  ImageOptions said = imageOptions("a.nnv", bundle, {});
  EXPECT_EQ(said.scale, 1.0 / 255);
  EXPECT_EQ(said.mean, Doubles{0});
  EXPECT_EQ(said.std, Doubles{1});
  EXPECT_FALSE(said.bgr);
  EXPECT_EQ(said.layout, "auto");
  EXPECT_EQ(said.fit, "stretch");
  EXPECT_EQ(labelsOf(bundle), Strings());
}

TEST_F(PropertiesTest, WhatIsWrongEndsTheTool) {
  Bundle bundle = bundleWith({{"fit", "squeeze"}, {"mean", "1,,2"}});
  EXPECT_EXIT(imageOptions("a.nnv", bundle, {}), testing::ExitedWithCode(1),
              "a.nnv: property mean: found '1,,2', expected numbers");
  ImageArguments arguments;
  arguments.mean = {1};
  EXPECT_EXIT(imageOptions("a.nnv", bundle, arguments),
              testing::ExitedWithCode(1),
              "property fit: found 'squeeze', expected one of stretch");
}

TEST_F(PropertiesTest, Sound) {
  Bundle bundle = bundleWith({{"sample_rate", "16000"}});
  SoundArguments arguments;
  EXPECT_EQ(soundOptions("a.nnv", bundle, arguments).rate, 16000u);
  EXPECT_EQ(soundOptions("a.nnv", bundle, arguments).channel,
            SoundOptions::allChannels);
  arguments.rate = 8000;
  arguments.channel = "0";
  EXPECT_EQ(soundOptions("a.nnv", bundle, arguments).rate, 8000u);
  EXPECT_EQ(soundOptions("a.nnv", bundle, arguments).channel, 0);
  auto dies = [](const Bundle &bundle, const SoundArguments &arguments,
                 const char *message) {
    EXPECT_EXIT(soundOptions("a.nnv", bundle, arguments),
                testing::ExitedWithCode(1), message);
  };
  arguments.channel = "left";
  dies(bundle, arguments, "--channel: found 'left', expected mean or a whole");
  dies(bundleWith({}), {}, "a.nnv: --sample-rate: found none");
  for (const char *wrong : {"0", "x", "16000.5", "-1", "99999999999"})
    dies(bundleWith({{"sample_rate", wrong}}), {},
         "a.nnv: property sample_rate: found '.*', expected a whole number");
}

TEST_F(PropertiesTest, Labels) {
  EXPECT_EQ(labelsOf(bundleWith({{"labels", "a\nb\n\nd"}})),
            (Strings{"a", "b", "", "d"}));
  EXPECT_EQ(labelsOf(bundleWith({{"labels", "a\n"}})), (Strings{"a", ""}));
  EXPECT_EQ(splitLines("a\r\nb\n"), (Strings{"a", "b"}));
  EXPECT_EQ(splitLines("a"), Strings{"a"});
  EXPECT_EQ(splitLines(""), Strings());
}

TEST(Nearest, Words) {
  std::vector<std::string> known = {"shape", "sign", "storage-mbps", "o"};
  EXPECT_EQ(nearestTo("shpae", known), "shape");
  EXPECT_EQ(nearestTo("storage-mps", known), "storage-mbps");
  EXPECT_EQ(nearestTo("frobnicate", known), "");
  EXPECT_EQ(nearestTo("x", known), ""); // all of it would change
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("abcd", "acbd"), 1u);
  EXPECT_EQ(unknownOption("--shpae", known, "tool"),
            "--shpae: unknown option; the nearest is --shape; see tool --help");
}
