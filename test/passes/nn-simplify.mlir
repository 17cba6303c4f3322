// RUN: nnv12-opt %s --nn-simplify | FileCheck %s

// A residual block as PyTorch exports it: convolution, batch normalisation,
// activation, twice; then the sum.
// CHECK-LABEL: @residual_block
// CHECK-NOT: nn.binary
// CHECK: %[[A:.*]] = nn.conv %[[X:.*]], %{{.*}} bias %{{.*}} strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] {activation = #nn.fn<hard_swish [0.16666{{.*}}, 5.000000e-01]>}
// CHECK-NEXT: %[[B:.*]] = nn.conv %[[A]], %{{.*}} bias %{{.*}} residual %[[X]] {{.*}}{residual_activation = #nn.fn<relu>}
// CHECK-NEXT: return %[[B]]
func.func @residual_block(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %v = nn.constant dense<2.0> : tensor<2x2x1x1xf32>
  %scale = nn.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %shift = nn.constant dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %three = nn.constant dense<3.0> : tensor<f32>
  %six = nn.constant dense<6.0> : tensor<f32>
  %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  %1 = nn.binary mul %0, %scale : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
  %2 = nn.binary add %1, %shift : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
  %3 = nn.binary add %2, %three : tensor<1x2x4x4xf32>, tensor<f32> -> tensor<1x2x4x4xf32>
  %4 = nn.unary %3 <clip [0.0, 6.0]> : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %5 = nn.binary div %4, %six : tensor<1x2x4x4xf32>, tensor<f32> -> tensor<1x2x4x4xf32>
  %6 = nn.binary mul %2, %5 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %7 = nn.conv %6, %v strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  %8 = nn.binary mul %7, %scale : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
  %9 = nn.binary add %8, %shift : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
  %10 = nn.binary add %9, %x : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %11 = nn.unary %10 <relu> : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  return %11 : tensor<1x2x4x4xf32>
}
