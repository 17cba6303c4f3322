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
