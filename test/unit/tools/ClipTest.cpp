//===- ClipTest.cpp - Frames of YUV4MPEG2 files ---------------------------===//
#include "tools/common/Clip.h"
#include "test/unit/tools/TensorInfo.h"

#include <gtest/gtest.h>
#include <map>

using namespace nnv12::test;
using namespace nnv12::tools;

namespace {

class ClipTest : public testing::Test {
protected:
  /// The frames of a file with this text.
  std::vector<Frame> read(const std::string &text) {
    std::string path = folder.file("a.y4m");
    writeFile(path, text.data(), text.size());
    Clip clip;
    error = clip.open(path);
    std::vector<Frame> frames;
    Frame frame;
    while (error.empty() && clip.next(frame, error))
      frames.push_back(frame);
    return frames;
  }
  /// The fault behind the path.
  std::string fault(const std::string &text) {
    read(text);
    size_t colon = error.find("a.y4m: ");
    return colon == std::string::npos ? error : error.substr(colon + 7);
  }

  TemporaryFolder folder;
  std::string error;
};

using Pixels = std::vector<uint8_t>;

/// A header of this size, and frames.
std::string clip(const std::string &rest,
                 const std::vector<std::string> &frames) {
  std::string text = "YUV4MPEG2 " + rest + "\n";
  for (const std::string &frame : frames)
    text += "FRAME\n" + frame;
  return text;
}

} // namespace

/// ITU-R BT.601: black, white and red.
TEST_F(ClipTest, Colors) {
  std::string black("\x10\x80\x80", 3), white("\xeb\x80\x80", 3),
      red("\x51\x5a\xf0", 3);
  auto frames = read(clip("W1 H1 F25:1 C444", {black, white, red}));
  EXPECT_EQ(error, "");
  ASSERT_EQ(frames.size(), 3u);
  EXPECT_EQ(frames[0].pixels, (Pixels{0, 0, 0}));
  EXPECT_EQ(frames[1].pixels, (Pixels{255, 255, 255}));
  EXPECT_EQ(frames[2].pixels[0], 254);
  EXPECT_LE(frames[2].pixels[1], 1);
  EXPECT_LE(frames[2].pixels[2], 1);
  // All of the range.
  frames = read(clip("W1 H1 C444 XCOLORRANGE=FULL", {"\x10\x80\x80"}));
  EXPECT_EQ(frames[0].pixels, (Pixels{16, 16, 16}));
}

/// Chroma of odd sizes, and none.
TEST_F(ClipTest, Subsampling) {
  // Pixels 16, 81, 145 in each row; chroma of the first two, and of the last.
  std::string rows = "\x10\x51\x91\x10\x51\x91\x10\x51\x91";
  struct Case {
    const char *chroma;
    size_t samples; ///< of a plane
  };
  for (auto [chroma, samples] : {Case{"C420jpeg", 4},
                                 {"C420mpeg2", 4},
                                 {"C420paldv", 4},
                                 {"C422", 6},
                                 {"C444", 9}}) {
    std::string plane(samples, '\x80');
    auto frames =
        read(clip(std::string("W3 H3 ") + chroma, {rows + plane + plane}));
    EXPECT_EQ(error, "") << chroma;
    ASSERT_EQ(frames.size(), 1u) << chroma;
    EXPECT_EQ(frames[0].pixels[3], frames[0].pixels[12]) << chroma;
    EXPECT_EQ(frames[0].pixels[0], 0) << chroma;
    EXPECT_EQ(frames[0].pixels[3], 76) << chroma;
    // The last column's blue is chroma's last sample.
    plane.back() = '\xc0';
    frames = read(clip(std::string("W3 H3 ") + chroma,
                       {rows + plane + std::string(samples, '\x80')}));
    EXPECT_GT(frames[0].pixels[26], frames[0].pixels[24]) << chroma;
  }
  EXPECT_EQ(read(clip("W3 H3 Cmono", {rows})).size(), 1u);
  EXPECT_EQ(
      read(clip("W3 H3", {rows + "\x80\x80\x80\x80\x80\x80\x80\x80"})).size(),
      1u);
}

TEST_F(ClipTest, Refuses) {
  std::string expected = "expected W and H from 1 to 16384";
  EXPECT_EQ(fault(""), "found no header of YUV4MPEG2, expected a .y4m file");
  EXPECT_EQ(fault("P6 1 1 255\n"),
            "found no header of YUV4MPEG2, expected a .y4m file");
  for (const char *size : {"W0 H1", "W1", "H3", "Wx H1", "W99999 H1", "W-1 H1"})
    EXPECT_EQ(fault(clip(size, {})), "header: found 'YUV4MPEG2 " +
                                         std::string(size) + "', " + expected);
  EXPECT_EQ(fault(clip("W1 H1 C420p10", {})),
            "header: found chroma '420p10', expected 420, 422, 444 or mono, of "
            "8 bits");
  EXPECT_EQ(fault(clip("W2 H1 Cmono", {"ab", "c"})),
            "frame 1: found the end of the file, expected 2 bytes (truncated)");
  EXPECT_EQ(fault(clip("W2 H1 Cmono", {"ab"}) + "FRAM\nab"),
            "frame 1: found no header, expected FRAME");
  EXPECT_EQ(fault(clip("W2 H1 Cmono", {"ab"}) + "FRA"),
            "frame 1: found no header, expected FRAME");
  EXPECT_EQ(fault(clip("W2 H1 Cmono", {"ab"}) + "FRAMES\nab"),
            "frame 1: found no header, expected FRAME");
  EXPECT_EQ(fault(clip("W2 H1 Cmono", {"ab"}) + clip("W2 H1 Cmono", {"ab"})),
            "frame 1: found no header, expected FRAME");
  EXPECT_EQ(fault(clip("W2 H1 Cmono", {"ab"}) + "FRAME Ip\nab"), "");
  EXPECT_EQ(fault(clip("W2 H1 Cmono", {})), "found no frame, expected some");
}

TEST_F(ClipTest, IsClip) {
  std::string path = folder.file("b");
  writeFile(path, "YUV4MPEG2 W1", 12);
  EXPECT_TRUE(isClip(path));
  writeFile(path, "YUV4", 4);
  EXPECT_FALSE(isClip(path));
  EXPECT_FALSE(isClip(folder.file("none")));
}
