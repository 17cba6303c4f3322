//===- SquareSumTest.cpp --------------------------------------------------===//
#include "runtime/video/SquareSum.h"
#include "test/unit/runtime/VideoTensor.h"

#include <cmath>

using namespace nnv12;
using namespace nnv12::test;
using runtime::SquareSumJob;

namespace {

const artifact::KernelFn sumKernel = runtime::sumSquares;

TEST(SquareSumTest, SumsAllValues) {
  Draws draws(1);
  for (int i = 0; i < 300; ++i) {
    VideoPlane plane = {static_cast<uint32_t>(draws.from(1, 2)),
                        static_cast<uint32_t>(draws.from(1, 9)),
                        static_cast<uint32_t>(draws.from(1, 70))};
    auto channels = static_cast<uint32_t>(draws.from(1, 20));
    static constexpr uint32_t blocks[] = {1, 4, 8, 16};
    PixelLayout layout = drawLayout(
        draws, plane, channels,
        draws.oneOf(3) ? channels : blocks[draws.from(0, 3)], sizeof(float));
    // Gaps, and channels that fill up, are NaN.
    std::vector<float> values(bytesOf(layout) / sizeof(float), std::nanf(""));
    double expected = 0;
    for (uint64_t row = 0; row < plane.numRows(); ++row)
      for (uint32_t col = 0; col < plane.cols; ++col)
        for (uint32_t channel = 0; channel < channels; ++channel) {
          auto value = static_cast<float>(draws.from(-1000, 1000));
          values[offsetOf(layout, row, col, channel) / sizeof value] = value;
          expected += double(value) * value;
        }
    std::vector<double> rows(plane.numRows(), std::nan(""));
    SquareSumJob job = {layout, values.data(), rows.data()};
    runInPieces(draws, sumKernel, &job, plane.numRows());
    ASSERT_EQ(runtime::meanSquareOf(job),
              expected / (double(plane.numPixels()) * channels));
  }
}

/// The same bits in any pieces.
TEST(SquareSumTest, DoesNotDependOnPieces) {
  Draws draws(2);
  PixelLayout layout = {{1, 13, 37},     5,           1,      4,
                        13 * 37 * 5 * 4, 13 * 37 * 4, 37 * 4, 4};
  std::vector<float> values(13 * 37 * 5);
  for (float &value : values)
    value = 1.0f / static_cast<float>(draws.from(1, 1 << 20));
  std::vector<double> rows(13);
  SquareSumJob job = {layout, values.data(), rows.data()};
  void *const operands[] = {&job};
  sumKernel(operands, 0, 13, nullptr);
  const double whole = runtime::meanSquareOf(job);
  for (int i = 0; i < 20; ++i) {
    rows.assign(13, 0);
    runInPieces(draws, sumKernel, &job, 13);
    EXPECT_EQ(runtime::meanSquareOf(job), whole);
  }
}

TEST(SquareSumTest, HoldsLargeValues) {
  float values[2] = {3e38f, 1e-30f};
  double row;
  SquareSumJob job = {{{1, 1, 2}, 1, 1, 4, 8, 8, 8, 4}, values, &row};
  void *const operands[] = {&job};
  sumKernel(operands, 0, 1, nullptr);
  EXPECT_NEAR(runtime::meanSquareOf(job) / 4.5e76, 1, 1e-6);
}

TEST(VarianceTest, IsThatOfTheValues) {
  Draws draws(3);
  for (int i = 0; i < 100; ++i) {
    auto count = static_cast<size_t>(draws.from(1, 300));
    std::vector<float> floats(count);
    std::vector<uint8_t> bytes(count);
    double offset = draws.oneOf(2) ? 0 : 1e6, sums[2] = {}, squares[2] = {};
    for (size_t k = 0; k < count; ++k) {
      floats[k] = static_cast<float>(offset + double(draws.from(-100, 100)));
      bytes[k] = draws.byte();
      sums[0] += floats[k] / double(count);
      sums[1] += bytes[k] / double(count);
    }
    for (size_t k = 0; k < count; ++k) {
      squares[0] += std::pow(floats[k] - sums[0], 2) / double(count);
      squares[1] += std::pow(bytes[k] - sums[1], 2) / double(count);
    }
    ASSERT_NEAR(runtime::varianceOf(floats.data(), count), squares[0], 1e-6);
    ASSERT_NEAR(runtime::varianceOf(bytes.data(), count), squares[1], 1e-6);
  }
}

TEST(VarianceTest, OfFewOrFaultyValues) {
  EXPECT_EQ(runtime::varianceOf(static_cast<float *>(nullptr), 0), 0);
  float values[] = {0.1f, 0.1f, 0.1f, 0.1f, 0.1f};
  EXPECT_EQ(runtime::varianceOf(values, 5), 0);
  values[3] = std::nanf("");
  EXPECT_TRUE(std::isnan(runtime::varianceOf(values, 5)));
  values[3] = INFINITY;
  EXPECT_TRUE(std::isnan(runtime::varianceOf(values, 5)));
}

} // namespace
