//===- SmallModels.h - A model with many forms of memory --------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_VERIFY_SMALLMODELS_H
#define NNV12_TEST_UNIT_COMPILER_VERIFY_SMALLMODELS_H

namespace nnv12::test {

/// Sums in parts that a second step adds up, residuals, a slice of an output,
/// a concatenation, a bias, panels of a product.
inline constexpr char everyForm[] = R"(
func.func @main(%x: tensor<1x32x16x16xf32>) -> (tensor<1x128x16x16xf32>, tensor<1x16xf32>) {
  %w0 = nn.constant dense<0.01> : tensor<64x32x3x3xf32> -> tensor<64x32x3x3xf32>
  %b0 = nn.constant dense<0.2> : tensor<64xf32> -> tensor<64xf32>
  %w1 = nn.constant dense<0.03> : tensor<64x64x3x3xf32> -> tensor<64x64x3x3xf32>
  %w2 = nn.constant dense<0.05> : tensor<64x64x1x1xf32> -> tensor<64x64x1x1xf32>
  %w3 = nn.constant dense<0.07> : tensor<512x16xf32> -> tensor<512x16xf32>
  %0 = nn.conv %x, %w0 bias %b0 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
      : tensor<1x32x16x16xf32>, tensor<64x32x3x3xf32> bias tensor<64xf32> -> tensor<1x64x16x16xf32> loc("conv0")
  %1 = nn.conv %0, %w1 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]
      : tensor<1x64x16x16xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x16x16xf32> loc("conv1")
  %2 = nn.conv %1, %w2 strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0]
      : tensor<1x64x16x16xf32>, tensor<64x64x1x1xf32> -> tensor<1x64x16x16xf32> loc("conv2")
  %3 = nn.binary add %2, %0 : tensor<1x64x16x16xf32>, tensor<1x64x16x16xf32> -> tensor<1x64x16x16xf32> loc("sum")
  %4 = nn.concat %3, %1 axis 1 : tensor<1x64x16x16xf32>, tensor<1x64x16x16xf32> -> tensor<1x128x16x16xf32> loc("join")
  %5 = nn.softmax %4 axis 3 : tensor<1x128x16x16xf32> -> tensor<1x128x16x16xf32> loc("soft")
  %6 = nn.slice %5 starts [0, 64, 0, 0] sizes [1, 2, 16, 16] steps [1, 1, 1, 1]
      : tensor<1x128x16x16xf32> -> tensor<1x2x16x16xf32>
  %7 = nn.reshape %6 : tensor<1x2x16x16xf32> -> tensor<1x512xf32>
  %8 = nn.matmul %7, %w3 : tensor<1x512xf32>, tensor<512x16xf32> -> tensor<1x16xf32> loc("product")
  %9 = nn.unary %8 <exp> : tensor<1x16xf32> -> tensor<1x16xf32> loc("exp")
  return %5, %9 : tensor<1x128x16x16xf32>, tensor<1x16xf32>
}
)";

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_VERIFY_SMALLMODELS_H
