// RUN: nnv12-opt %s --widen-half --canonicalize --cse | FileCheck %s

// Two layers: f32 between them, casts at both ends.
// CHECK-LABEL: func @chain
// CHECK: %[[X:.*]] = nn.cast %arg0 : tensor<2x3xf16> -> tensor<2x3xf32>
// CHECK-NEXT: %[[A:.*]] = nn.unary %[[X]] {{.*}} : tensor<2x3xf32> -> tensor<2x3xf32>
// CHECK-NEXT: %[[B:.*]] = nn.binary {{ ?}}add %[[A]], %[[X]]
// CHECK-NEXT: %[[Y:.*]] = nn.cast %[[B]] : tensor<2x3xf32> -> tensor<2x3xf16>
// CHECK-NEXT: return %[[Y]]
func.func @chain(%x: tensor<2x3xf16>) -> tensor<2x3xf16> {
  %0 = nn.unary %x <exp> : tensor<2x3xf16> -> tensor<2x3xf16>
  %1 = nn.binary add %0, %x : tensor<2x3xf16>, tensor<2x3xf16> -> tensor<2x3xf16>
  return %1 : tensor<2x3xf16>
}

// Constant weights are widened now.
// CHECK-LABEL: func @weights
// CHECK: nn.constant dense<5.000000e-01> : tensor<3x4xf32>
// CHECK: nn.matmul {{.*}} : tensor<2x3xf32>, tensor<3x4xf32> -> tensor<2x4xf32>
func.func @weights(%x: tensor<2x3xbf16>) -> tensor<2x4xbf16> {
  %w = nn.constant dense<0.5> : tensor<3x4xbf16>
  %0 = nn.matmul %x, %w : tensor<2x3xbf16>, tensor<3x4xbf16> -> tensor<2x4xbf16>
  return %0 : tensor<2x4xbf16>
}

// A cast that the model asks for stays, and so does what is no float.
// CHECK-LABEL: func @casts
// CHECK: nn.cast %arg0 : tensor<2xf32> -> tensor<2xf16>
// CHECK-NEXT: nn.cast %{{.*}} : tensor<2xf16> -> tensor<2xi32>
// CHECK-NEXT: nn.binary {{ ?}}add {{.*}}i32
func.func @casts(%x: tensor<2xf32>) -> tensor<2xi32> {
  %0 = nn.cast %x : tensor<2xf32> -> tensor<2xf16>
  %1 = nn.cast %0 : tensor<2xf16> -> tensor<2xi32>
  %2 = nn.binary add %1, %1 : tensor<2xi32>, tensor<2xi32> -> tensor<2xi32>
  return %2 : tensor<2xi32>
}
