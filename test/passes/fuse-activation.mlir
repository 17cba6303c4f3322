// RUN: nnv12-opt %s --fuse-activation | FileCheck %s
// RUN: nnv12-opt %s --fuse-activation=second | FileCheck %s --check-prefix=SECOND

// CHECK-LABEL: @activation
// CHECK: %[[C:.*]] = nn.conv {{.*}}activation = #nn.fn<clip [0.000000e+00, 6.000000e+00]>
// CHECK-NEXT: return %[[C]]
func.func @activation(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  %1 = nn.unary %0 <clip [0.0, 6.0]> : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: @after_residual
// CHECK: %[[C:.*]] = nn.matmul {{.*}}residual_activation = #nn.fn<relu>
// CHECK-NEXT: return %[[C]]
func.func @after_residual(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>, %r: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = nn.matmul %x, %w residual %r : tensor<4x2xf32>, tensor<2x3xf32> residual tensor<4x3xf32> -> tensor<4x3xf32>
  %1 = nn.unary %0 <relu> : tensor<4x3xf32> -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// SECOND-LABEL: @refused
// SECOND: nn.matmul {{.*}}activation = #nn.fn<sigmoid>, residual_activation = #nn.fn<tanh>
// SECOND-NOT: nn.unary %{{.*}} <tanh>
// SECOND: return

// A second function, another user, another type.
// CHECK-LABEL: @refused
// CHECK: nn.unary %{{.*}} <tanh>
// CHECK: nn.unary %{{.*}} <relu>
// CHECK: nn.unary %{{.*}} <is_nan>
func.func @refused(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xi1>) {
  %0 = nn.matmul %x, %w {activation = #nn.fn<sigmoid>} : tensor<4x2xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %1 = nn.unary %0 <tanh> : tensor<4x3xf32> -> tensor<4x3xf32>
  %2 = nn.matmul %x, %w : tensor<4x2xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %3 = nn.unary %2 <relu> : tensor<4x3xf32> -> tensor<4x3xf32>
  %4 = nn.matmul %x, %w : tensor<4x2xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %5 = nn.unary %4 <is_nan> : tensor<4x3xf32> -> tensor<4x3xi1>
  return %1, %2, %3, %5 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xi1>
}

// The padding of 17 channels in blocks of 16 must stay finite.
// CHECK-LABEL: @infinite_at_zero
// CHECK-NOT: activation
// CHECK: nn.unary %{{.*}} <log>
// CHECK: nn.unary %{{.*}} <reciprocal>
// CHECK: return
func.func @infinite_at_zero(%x: tensor<1x2x4x4xf32>, %w: tensor<17x2x1x1xf32>, %u: tensor<2x17x1x1xf32>) -> (tensor<1x17x4x4xf32>, tensor<1x17x4x4xf32>) {
  %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32>, tensor<17x2x1x1xf32> -> tensor<1x17x4x4xf32>
  %1 = nn.unary %0 <log> : tensor<1x17x4x4xf32> -> tensor<1x17x4x4xf32>
  %2 = nn.conv_transpose %x, %u strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] output_padding [0, 0] : tensor<1x2x4x4xf32>, tensor<2x17x1x1xf32> -> tensor<1x17x4x4xf32>
  %3 = nn.unary %2 <reciprocal> : tensor<1x17x4x4xf32> -> tensor<1x17x4x4xf32>
  return %1, %3 : tensor<1x17x4x4xf32>, tensor<1x17x4x4xf32>
}

// A product of matrices has no such padding.
// CHECK-LABEL: @dense
// CHECK: nn.matmul {{.*}}activation = #nn.fn<log>
func.func @dense(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>) -> tensor<4x3xf32> {
  %0 = nn.matmul %x, %w : tensor<4x2xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %1 = nn.unary %0 <log> : tensor<4x3xf32> -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}
