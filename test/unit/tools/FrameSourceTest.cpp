//===- FrameSourceTest.cpp - Frames of each kind of clip ------------------===//
#include "test/unit/tools/TensorInfo.h"
#include "tools/common/ImageFolder.h"
#include "tools/common/RawClip.h"
#include "tools/common/VideoInput.h"

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

using namespace nnv12::test;
using namespace nnv12::tools;

namespace {

class FrameSourceTest : public testing::Test {
protected:
  void write(const std::string &name, const std::string &text) {
    writeFile(folder.file(name), text.data(), text.size());
  }
  /// The red of the first pixel of each frame.
  std::vector<int> read(const VideoOptions &options) {
    std::vector<int> reds;
    std::unique_ptr<FrameSource> source = openFrames(options, error);
    EXPECT_EQ(source == nullptr, !error.empty());
    Frame frame;
    while (source && source->next(frame, error)) {
      EXPECT_EQ(frame.pixels.size(), size_t(frame.width) * frame.height * 3);
      reds.push_back(frame.pixels[0]);
      places.push_back(source->place());
    }
    // Messages without the folder of the test.
    for (std::string *text : {&error, places.empty() ? &error : &places.back()})
      if (size_t at = text->find(folder.path); at != std::string::npos)
        text->erase(at, folder.path.size() + 1);
    return reds;
  }
  std::vector<int> read(const std::string &name, const std::string &size = "") {
    VideoOptions options;
    options.clip = folder.file(name);
    options.size = size;
    return read(options);
  }

  TemporaryFolder folder;
  std::string error;
  std::vector<std::string> places;
};

using Reds = std::vector<int>;

/// An image of one pixel, or of two.
std::string image(char red, int width = 1) {
  std::string text = "P6 " + std::to_string(width) + " 1 255\n";
  for (int i = 0; i < width; ++i)
    text += {red, 'g', 'b'};
  return text;
}

} // namespace

TEST_F(FrameSourceTest, RawFrames) {
  write("a", "abcdefghijklmnopqr");
  EXPECT_EQ(read("a", "2x1"), (Reds{'a', 'g', 'm'}));
  EXPECT_EQ(error, "");
  EXPECT_EQ(places.back(), "a: frame 2");
  EXPECT_EQ(read("a", "1x6"), Reds{'a'});
  EXPECT_EQ(read("a", "1x1").size(), 6u);
  EXPECT_EQ(error, "");
  EXPECT_EQ(read("a", "4x1"), Reds{'a'});
  EXPECT_EQ(error, "a: frame 1: found 6 bytes, expected 12 for 4x1 pixels "
                   "(truncated, or of another size)");
  EXPECT_EQ(read("a", "16384x16"), Reds());
  EXPECT_EQ(error, "a: frame 0: found 18 bytes, expected 786432 for 16384x16 "
                   "pixels (truncated, or of another size)");
  write("b", "");
  EXPECT_EQ(read("b", "1x1"), Reds());
  EXPECT_EQ(error, "b: found no frame, expected some");
  write("c", "YUV4MPEG2 W1 H1\n");
  EXPECT_EQ(read("c", "5x1"), Reds());
  EXPECT_EQ(error, "c: found YUV4MPEG2, which has its own size, expected raw "
                   "frames for --video-size");
}

TEST_F(FrameSourceTest, Sizes) {
  for (const char *size :
       {"1", "x", "1x", "x1", "0x1", "1x0", "1X1", "1x1x1", "-1x1", "+1x1",
        " 1x1", "1x1 ", "1x16385", "4294967297x1", "1x100000"}) {
    read("none", size);
    EXPECT_EQ(error, "--video-size: found '" + std::string(size) +
                         "', expected WIDTHxHEIGHT, each from 1 to 16384");
  }
  EXPECT_EQ(parseFrameSide("16384"), 16384);
  EXPECT_EQ(parseFrameSide("00001"), 1);
  EXPECT_EQ(parseFrameSide(""), 0);
}

TEST_F(FrameSourceTest, Folders) {
  std::filesystem::create_directory(folder.file("f"));
  EXPECT_EQ(read("f"), Reds());
  EXPECT_EQ(error, "f: found no image, expected frames as JPEG, PNG, BMP or "
                   "PNM");
  write("f/frame10.ppm", image('c'));
  if (read("f").empty() && error.find("libstb-dev") != std::string::npos)
    GTEST_SKIP() << "built without stb: install libstb-dev";
  write("f/frame2.ppm", image('b'));
  write("f/frame1.ppm", image('a'));
  write("f/.hidden", "x");
  write("f/notes.txt", "x");
  EXPECT_EQ(read("f"), (Reds{'a', 'b', 'c'}));
  EXPECT_EQ(error, "");
  EXPECT_EQ(places.back(), "f/frame10.ppm");
  // Gray ones are colors, too.
  write("f/frame3.pgm", "P5 1 1 255\nx");
  EXPECT_EQ(read("f"), (Reds{'a', 'b', 'x', 'c'}));
  write("f/frame4", image('d', 2));
  EXPECT_EQ(read("f"), (Reds{'a', 'b', 'x'}));
  EXPECT_EQ(error, "f/frame4: found 2x1 pixels, expected 1x1 as in the frames "
                   "before");
  write("f/frame2.ppm", "x");
  EXPECT_EQ(read("f"), Reds{'a'});
  EXPECT_EQ(error, "f/frame2.ppm: format: found a text, expected JPEG, PNG, "
                   "BMP or PNM");
}

TEST_F(FrameSourceTest, RefusesOtherFiles) {
  read("none");
  EXPECT_EQ(error, "none: cannot open: No such file or directory");
  read(".", "1x1");
  EXPECT_EQ(error, ".: found a folder, expected a regular file");
  VideoOptions options;
  options.clip = "/dev/zero";
  read(options);
  EXPECT_EQ(error, "/dev/zero: found a special file, expected a regular file");
}

TEST(NaturalOrder, NumbersOfNames) {
  // Words of a line, in order.
  std::istringstream text(
      "0a 01 1 2 10 a a1 a1b2 a1b10 a2 a10 a10b a99999999999999999998 "
      "a99999999999999999999 a100000000000000000000 aa b");
  std::vector<std::string> sorted = {""};
  for (std::string name; text >> name;)
    sorted.push_back(name);
  for (size_t i = 0; i < sorted.size(); ++i)
    for (size_t k = 0; k < sorted.size(); ++k)
      EXPECT_EQ(isBefore(sorted[i], sorted[k]), i < k)
          << sorted[i] << " " << sorted[k];
}

/// A strict order: of three names of any kind none goes in a circle.
TEST(NaturalOrder, IsAnOrder) {
  std::mt19937 random(1);
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) {
    std::string &name = names.emplace_back();
    for (unsigned k = random() % 6; k > 0; --k)
      name += "0012ab."[random() % 7];
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string &a : names)
    for (const std::string &b : names) {
      EXPECT_EQ(isBefore(a, b) + isBefore(b, a), a != b) << a << " " << b;
      for (const std::string &c : names)
        EXPECT_TRUE(!isBefore(a, b) || !isBefore(b, c) || isBefore(a, c))
            << a << " " << b << " " << c;
    }
}
