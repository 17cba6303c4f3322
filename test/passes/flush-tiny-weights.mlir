// RUN: nnv12-opt %s --flush-tiny-weights | FileCheck %s
// RUN: nnv12-opt %s --flush-tiny-weights=threshold=1e-3 | FileCheck %s --check-prefix=LARGE

// CHECK-LABEL: @weights
// CHECK-DAG: dense<{{\[}}[1.000000e+00, 0.000000e+00], [0.000000e+00, 9.99999974E-5]]>
// CHECK-DAG: dense<2.000000e-38> : tensor<f32>
// LARGE-DAG: dense<{{\[}}[1.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00]]>
// LARGE-DAG: dense<2.000000e-38> : tensor<f32>
func.func @weights(%x: tensor<4x2xf32>) -> tensor<4x2xf32> {
  %w = nn.constant dense<[[1.0, 1.0e-40], [-1.0e-31, 1.0e-4]]> : tensor<2x2xf32>
  %guard = nn.constant dense<2.0e-38> : tensor<f32>
  %0 = nn.matmul %x, %w : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
  %1 = nn.binary add %0, %guard : tensor<4x2xf32>, tensor<f32> -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// Used elsewhere too, the constant stays.
// CHECK-LABEL: @shared
// CHECK: nn.constant dense<{{.*}}e-41
func.func @shared(%x: tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2x2xf32>) {
  %w = nn.constant dense<[[1.0, 1.0e-40], [1.0, 1.0]]> : tensor<2x2xf32>
  %0 = nn.matmul %x, %w : tensor<4x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>
  %1 = nn.unary %w <reciprocal> : tensor<2x2xf32> -> tensor<2x2xf32>
  return %0, %1 : tensor<4x2xf32>, tensor<2x2xf32>
}

// The weights of one layer are a summand of another: they stay.
// CHECK-LABEL: @summand
// CHECK: nn.constant dense<{{.*}}E-32
func.func @summand(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %w = nn.constant dense<[[1.0, 1.0e-31], [1.0, 1.0]]> : tensor<2x2xf32>
  %0 = nn.matmul %x, %w : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %1 = nn.matmul %x, %y residual %w : tensor<2x2xf32>, tensor<2x2xf32> residual tensor<2x2xf32> -> tensor<2x2xf32>
  return %0, %1 : tensor<2x2xf32>, tensor<2x2xf32>
}
