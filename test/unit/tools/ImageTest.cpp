//===- ImageTest.cpp - Photos as model inputs -----------------------------===//
#include "test/unit/tools/TensorInfo.h"
#include "tools/common/ImageInput.h"
#include "tools/media/Exif.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

#ifdef NNV12_HAVE_STB
#define STB_IMAGE_WRITE_IMPLEMENTATION
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#ifdef __clang__ // shifts negative numbers, as C++17 does not allow
#pragma clang attribute push(__attribute__((no_sanitize("shift"))),            \
                             apply_to = function)
#endif
#include <stb/stb_image_write.h>
#ifdef __clang__
#pragma clang attribute pop
#endif
#pragma GCC diagnostic pop
#endif

using namespace nnv12::test;
using namespace nnv12::tools;

namespace {
/// A 2x1 image: a red and a blue pixel.
class ImageTest : public testing::Test {
protected:
  void SetUp() override {
    static constexpr char ppm[] = "P6 2 1 255\n\xff\0\0\0\0\xff";
    path = folder.file("a.ppm");
    writeFile(path, ppm, sizeof ppm - 1);
    Tensor tensor;
    std::vector<int64_t> shape = {1, 3, 1, 2};
    if (readImage(path, infoOf(NNV12_F32, shape), {}, tensor)
            .find("libstb-dev") != std::string::npos)
      GTEST_SKIP() << "built without stb: install libstb-dev";
  }

  std::vector<double> read(nnv12_type type, std::vector<int64_t> shape,
                           const ImageOptions &options = {}) {
    Tensor tensor;
    EXPECT_EQ(readImage(path, infoOf(type, shape), options, tensor), "");
    std::vector<double> values;
    for (size_t i = 0; i < tensor.data.size() / elementSize(type); ++i)
      values.push_back(elementAt(type, tensor.data.data(), i));
    return values;
  }

  TemporaryFolder folder;
  std::string path;
};
using Values = std::vector<double>;
} // namespace

TEST_F(ImageTest, Layouts) {
  EXPECT_EQ(read(NNV12_F32, {1, 3, 1, 2}), (Values{1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(read(NNV12_F32, {3, 1, 2}), (Values{1, 0, 0, 0, 0, 1}));
  ImageOptions nhwc;
  nhwc.layout = "nhwc";
  EXPECT_EQ(read(NNV12_F32, {1, 1, 2, 3}, nhwc), (Values{1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(read(NNV12_U8, {1, 2, 3}, nhwc), (Values{255, 0, 0, 0, 0, 255}));
}

TEST_F(ImageTest, Options) {
  ImageOptions options;
  options.bgr = true;
  EXPECT_EQ(read(NNV12_F32, {1, 3, 1, 2}, options), (Values{0, 1, 0, 0, 1, 0}));
  options.scale = 1;
  options.mean = {5, 0, 0};
  options.std = {2, 1, 1};
  EXPECT_EQ(read(NNV12_F32, {1, 3, 1, 2}, options),
            (Values{-2.5, 125, 0, 0, 255, 0}));
}

TEST_F(ImageTest, Fit) {
  ImageOptions options;
  EXPECT_EQ(read(NNV12_U8, {1, 2, 2, 3}).size(), 12u);
  options.fit = "pad";
  // Onto 2x2: the picture is one row of two, the other row black.
  Values padded = read(NNV12_U8, {1, 2, 2, 3}, options);
  EXPECT_EQ(Values(padded.begin() + 6, padded.end()), Values(6));
  EXPECT_EQ(padded[0], 255);
  options.fit = "crop";
  options.layout = "nhwc";
  // Onto 1x1: one of the two pixels.
  Values cropped = read(NNV12_U8, {1, 1, 1, 3}, options);
  EXPECT_EQ(cropped[0] + cropped[2], 255);
}

/// White stays white, whatever the sizes: the weights of pixels add up to 1.
TEST_F(ImageTest, WhiteStaysWhite) {
  constexpr int side = 30;
  std::vector<uint8_t> white(size_t(3) * side, 255);
  for (int width = 1; width <= side; ++width)
    for (int wanted = 1; wanted <= side; ++wanted) {
      Levels levels;
      ImageGeometry geometry = {1, wanted, 3, true};
      ASSERT_EQ(fitPixels(white.data(), width, 1, geometry, {}, levels), "");
      EXPECT_EQ(levels, Levels(size_t(3) * wanted, 255)) << width;
    }
}

/// A frame goes through levels, which have the input's size and channels.
TEST_F(ImageTest, Levels) {
  Frame frame;
  ASSERT_EQ(readPicture(path, 100, frame), "");
  ImageOptions options;
  options.bgr = true;
  options.scale = 2;
  Levels levels;
  std::vector<int64_t> shape = {1, 3, 1, 2};
  nnv12_tensor_info input = infoOf(NNV12_F32, shape);
  ASSERT_EQ(fitFrame("f", frame, input, options, levels), "");
  EXPECT_EQ(levels, (Levels{255, 0, 0, 0, 0, 255}));
  levels[1] = 1; // green of the first pixel
  Tensor tensor(input);
  fillFromLevels(levels, input, options, tensor);
  Values values;
  for (size_t i = 0; i < 6; ++i)
    values.push_back(elementAt(NNV12_F32, tensor.data.data(), i));
  EXPECT_EQ(values, (Values{0, 510, 2, 0, 510, 0}));
  shape = {4, 6};
  EXPECT_EQ(fitFrame("f", frame, infoOf(NNV12_U8, shape), options, levels),
            "f: shape: found 4x6, expected one image of 1 or 3 channels (or "
            "a .npy file)");
  shape = {1, 4, 4};
  ASSERT_EQ(fitFrame("f", frame, infoOf(NNV12_U8, shape), options, levels), "");
  EXPECT_EQ(levels.size(), 16u);
  EXPECT_EQ(levels[0], 255 * 77 >> 8);
}

TEST_F(ImageTest, Refuses) {
  Tensor tensor;
  auto error = [&](nnv12_type type, std::vector<int64_t> shape,
                   const ImageOptions &options = {}) {
    std::string text = readImage(path, infoOf(type, shape), options, tensor);
    return text.substr(std::min(text.size(), path.size() + 2));
  };
  EXPECT_EQ(error(NNV12_F32, {1, 4, 2, 2}),
            "shape: found 1x4x2x2, expected one image of 1 or 3 channels "
            "(or a .npy or .wav file)");
  EXPECT_EQ(error(NNV12_I64, {1, 3, 2, 2}),
            "type: found an input of i64, expected floats or u8 for an image");
  ImageOptions options;
  options.std = {0};
  EXPECT_EQ(error(NNV12_F32, {1, 3, 2, 2}, options),
            "std: found 0 for channel 0, expected other numbers, which pixels "
            "are divided by");
  options.std = {1, 2};
  EXPECT_NE(error(NNV12_F32, {1, 3, 2, 2}, options).find("expected 1 or 3"),
            std::string::npos);
  writeFile(path, "P6 9", 4);
  EXPECT_NE(error(NNV12_F32, {1, 3, 2, 2}).find("format: found an image of"),
            std::string::npos);
  auto holding = [&](const std::string &bytes) {
    writeFile(path, bytes.data(), bytes.size());
    return error(NNV12_F32, {1, 3, 2, 2});
  };
  // stb reads beyond the pixels of such a picture.
  writeFile(path, "P5 2 1 65535\n\0\1\0\2", 17);
  EXPECT_EQ(error(NNV12_F32, {1, 3, 2, 2}),
            "format: found a PNM picture of 16 bits a channel, expected 8");
  writeFile(path, "P6 60000 60000 255\n", 19);
  EXPECT_EQ(error(NNV12_F32, {1, 3, 2, 2}),
            "format: found an image of 60000x60000 pixels, expected at most "
            "134217728");
  std::string expected = ", expected .npy, .wav, JPEG, PNG, BMP or PNM";
  EXPECT_EQ(holding("garbage"), "format: found a text" + expected);
  EXPECT_EQ(holding({"\1\2\3\4\0\0\0\0", 8}),
            "format: found no image" + expected);
  EXPECT_EQ(holding({"RIFF\1\0\0\0WEBPVP8 ", 16}),
            "format: found a WebP picture" + expected);
  EXPECT_EQ(holding({"PK\3\4\0\0", 6}),
            "format: found a ZIP archive (as .npz and PyTorch's .pt are)" +
                expected);
  EXPECT_EQ(holding({"\x89PNG\r\n\x1a\n\0\0\0\0", 12})
                .find("format: found a PNG picture that cannot be read ("),
            0u);
}

//===----------------------------------------------------------------------===//
// Orientation
//===----------------------------------------------------------------------===//

using Bytes = std::vector<uint8_t>;

namespace {
/// The fields of EXIF data.
struct Exif {
  bool isLittle = true;
  uint32_t tag = 0x112, type = 3, count = 1, value = 6;
  uint32_t folder = 8, entries = 2, magic = 42;

  Bytes segment() const {
    Bytes bytes = {'E', 'x', 'i', 'f', 0, 0};
    auto put = [&](uint32_t number, int size) {
      for (int i = 0; i < size; ++i)
        bytes.push_back(uint8_t(number >> 8 * (isLittle ? i : size - 1 - i)));
    };
    for (int i = 0; i < 2; ++i)
      bytes.push_back(isLittle ? 'I' : 'M');
    put(magic, 2);
    put(folder, 4);
    put(entries, 2);
    // Another entry before it: a width.
    for (auto [number, size] : {std::pair(0x100u, 2),
                                {4u, 2},
                                {1u, 4},
                                {7u, 4},
                                {tag, 2},
                                {type, 2},
                                {count, 4},
                                {value, 2}})
      put(number, size);
    put(0, 2);
    put(0, 4); // no other folder
    return bytes;
  }
};
} // namespace

/// With EXIF data behind the first segment, and another before these.
static Bytes withExif(Bytes jpeg, const Bytes &exif) {
  Bytes segments = {0xff, 0xfe, 0, 4, 'a', 'b', 0xff, 0xe1};
  segments.push_back(uint8_t((exif.size() + 2) >> 8));
  segments.push_back(uint8_t(exif.size() + 2));
  segments.insert(segments.end(), exif.begin(), exif.end());
  jpeg.insert(jpeg.begin() + 2, segments.begin(), segments.end());
  return jpeg;
}

static unsigned orientationOf(const Exif &exif) {
  Bytes jpeg = withExif({0xff, 0xd8, 0xff, 0xda, 0, 2}, exif.segment());
  return exifOrientation(jpeg.data(), jpeg.size());
}

TEST(Exif, Orientations) {
  for (bool isLittle : {false, true})
    for (uint32_t value = 1; value <= 8; ++value) {
      Exif exif;
      exif.isLittle = isLittle;
      exif.value = value;
      EXPECT_EQ(orientationOf(exif), value) << isLittle;
    }
}

TEST(Exif, WhatIsMalformedSaysNothing) {
  auto with = [](auto change) {
    Exif exif;
    change(exif);
    return orientationOf(exif);
  };
  EXPECT_EQ(with([](Exif &) {}), 6u);
  EXPECT_EQ(with([](Exif &exif) { exif.value = 0; }), 1u);
  EXPECT_EQ(with([](Exif &exif) { exif.value = 9; }), 1u);
  EXPECT_EQ(with([](Exif &exif) { exif.type = 4; }), 1u);
  EXPECT_EQ(with([](Exif &exif) { exif.count = 2; }), 1u);
  EXPECT_EQ(with([](Exif &exif) { exif.tag = 0x113; }), 1u);
  EXPECT_EQ(with([](Exif &exif) { exif.magic = 43; }), 1u);
  EXPECT_EQ(with([](Exif &exif) { exif.folder = 0xfffffff0; }), 1u);
  EXPECT_EQ(with([](Exif &exif) { exif.entries = 1; }), 1u);
  // Those that there are count.
  EXPECT_EQ(with([](Exif &exif) { exif.entries = 0xffff; }), 6u);
}

/// In memory of just this size, so that AddressSanitizer sees each byte beyond.
TEST(Exif, CutAndChangedAnywhere) {
  Bytes whole =
      withExif({0xff, 0xd8, 0xff, 0xff, 0xda, 0, 2}, Exif().segment());
  for (size_t size = 0; size <= whole.size(); ++size) {
    Bytes cut(whole.begin(), whole.begin() + size);
    unsigned found = exifOrientation(cut.data(), cut.size());
    EXPECT_TRUE(found == 1 || found == 6) << size;
  }
  for (size_t i = 0; i < whole.size(); ++i)
    for (int value : {0, 1, 0x7f, 0xff}) {
      Bytes changed = whole;
      changed[i] = uint8_t(value);
      unsigned found = exifOrientation(changed.data(), changed.size());
      EXPECT_TRUE(found >= 1 && found <= 8) << i;
    }
}

#ifdef NNV12_HAVE_STB
namespace {
constexpr uint8_t corners[2][2][3] = {{{255, 0, 0}, {0, 255, 0}},
                                      {{0, 0, 255}, {255, 255, 255}}};

/// By EXIF: on which sides the stored picture's first row and first column are
/// when it is looked at.
enum Side { Top, Right, Bottom, Left };
constexpr Side sides[8][2] = {{Top, Left},     {Top, Right},  {Bottom, Right},
                              {Bottom, Left},  {Left, Top},   {Right, Top},
                              {Right, Bottom}, {Left, Bottom}};

/// The color in a corner of the picture as it is shown.
const uint8_t *expectedCorner(unsigned orientation, bool isBottom,
                              bool isRight) {
  auto [row, column] = sides[orientation - 1];
  // Whether the corner is on this side.
  auto isOn = [&](Side side) {
    return side == Top      ? !isBottom
           : side == Bottom ? isBottom
           : side == Left   ? !isRight
                            : isRight;
  };
  return corners[!isOn(row)][!isOn(column)];
}
} // namespace

TEST_F(ImageTest, PhotosAreHeldAsExifSays) {
  constexpr int width = 48, height = 32;
  Bytes pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      pixels.insert(pixels.end(), corners[y >= height / 2][x >= width / 2],
                    corners[y >= height / 2][x >= width / 2] + 3);
  Bytes jpeg;
  stbi_write_jpg_to_func(
      [](void *to, void *data, int size) {
        auto *bytes = static_cast<uint8_t *>(data);
        static_cast<Bytes *>(to)->insert(static_cast<Bytes *>(to)->end(), bytes,
                                         bytes + size);
      },
      &jpeg, width, height, 3, pixels.data(), 95);
  path = folder.file("photo.jpg");
  for (unsigned orientation = 1; orientation <= 8; ++orientation) {
    Exif exif;
    exif.value = orientation;
    Bytes photo = withExif(jpeg, exif.segment());
    writeFile(path, photo.data(), photo.size());
    bool isTurned = orientation >= 5;
    int64_t w = isTurned ? height : width, h = isTurned ? width : height;
    ImageOptions options;
    options.layout = "nhwc";
    Values found = read(NNV12_U8, {1, h, w, 3}, options);
    for (bool isBottom : {false, true})
      for (bool isRight : {false, true})
        for (int c = 0; c < 3; ++c) {
          int64_t y = isBottom ? h - 4 : 3, x = isRight ? w - 4 : 3;
          EXPECT_NEAR(found[size_t((y * w + x) * 3 + c)],
                      expectedCorner(orientation, isBottom, isRight)[c], 8)
              << orientation << " " << isBottom << isRight << c;
        }
  }
}
#endif
