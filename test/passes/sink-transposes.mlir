// RUN: nnv12-opt %s --sink-transposes | FileCheck %s

// A block of an NHWC model: every transpose meets its inverse.
// CHECK-LABEL: @nhwc_block
// CHECK-NOT: nn.transpose
// CHECK: return
func.func @nhwc_block(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %bias = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  %1 = nn.transpose %0 [0, 2, 3, 1] : tensor<1x2x4x4xf32> -> tensor<1x4x4x2xf32>
  %2 = nn.binary add %1, %bias : tensor<1x4x4x2xf32>, tensor<2xf32> -> tensor<1x4x4x2xf32>
  %3 = nn.unary %2 <relu> : tensor<1x4x4x2xf32> -> tensor<1x4x4x2xf32>
  %4 = nn.transpose %3 [0, 3, 1, 2] : tensor<1x4x4x2xf32> -> tensor<1x2x4x4xf32>
  %5 = nn.conv %4, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  %6 = nn.transpose %5 [0, 2, 3, 1] : tensor<1x2x4x4xf32> -> tensor<1x4x4x2xf32>
  %7 = nn.binary add %3, %6 : tensor<1x4x4x2xf32>, tensor<1x4x4x2xf32> -> tensor<1x4x4x2xf32>
  %8 = nn.transpose %7 [0, 3, 1, 2] : tensor<1x4x4x2xf32> -> tensor<1x2x4x4xf32>
  return %8 : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: @through
// CHECK-SAME: (%[[X:.*]]: tensor<1x2x4x5xf32>)
// CHECK-DAG: nn.concat %[[X]], %{{.*}} axis 1
// CHECK-DAG: nn.reduce mean %{{.*}} axes [2, 3] keep_dims false
// CHECK-DAG: nn.slice %{{.*}} starts [0, 0, 1, 2] sizes [1, 2, 3, 2] steps [1, 1, 1, 1]
// CHECK-DAG: nn.pad constant %{{.*}} low [0, 0, 1, 2] high [0, 0, 0, 0]
// CHECK-NOT: nn.transpose
func.func @through(%x: tensor<1x2x4x5xf32>) -> (tensor<1x3x4x5xf32>, tensor<1x2xf32>, tensor<1x2x3x2xf32>, tensor<1x2x5x7xf32>) {
  %c = nn.constant dense<1.0> : tensor<1x4x5x1xf32>
  %0 = nn.transpose %x [0, 2, 3, 1] : tensor<1x2x4x5xf32> -> tensor<1x4x5x2xf32>
  %1 = nn.concat %0, %c axis 3 : tensor<1x4x5x2xf32>, tensor<1x4x5x1xf32> -> tensor<1x4x5x3xf32>
  %2 = nn.transpose %1 [0, 3, 1, 2] : tensor<1x4x5x3xf32> -> tensor<1x3x4x5xf32>
  %3 = nn.transpose %x [0, 2, 3, 1] : tensor<1x2x4x5xf32> -> tensor<1x4x5x2xf32>
  %4 = nn.reduce mean %3 axes [1, 2] keep_dims false : tensor<1x4x5x2xf32> -> tensor<1x2xf32>
  %5 = nn.transpose %x [0, 2, 3, 1] : tensor<1x2x4x5xf32> -> tensor<1x4x5x2xf32>
  %6 = nn.slice %5 starts [0, 1, 2, 0] sizes [1, 3, 2, 2] steps [1, 1, 1, 1] : tensor<1x4x5x2xf32> -> tensor<1x3x2x2xf32>
  %7 = nn.transpose %6 [0, 3, 1, 2] : tensor<1x3x2x2xf32> -> tensor<1x2x3x2xf32>
  %8 = nn.transpose %x [0, 2, 3, 1] : tensor<1x2x4x5xf32> -> tensor<1x4x5x2xf32>
  %9 = nn.pad constant %8 low [0, 1, 2, 0] high [0, 0, 0, 0] : tensor<1x4x5x2xf32> -> tensor<1x5x7x2xf32>
  %10 = nn.transpose %9 [0, 3, 1, 2] : tensor<1x5x7x2xf32> -> tensor<1x2x5x7xf32>
  return %2, %4, %7, %10 : tensor<1x3x4x5xf32>, tensor<1x2xf32>, tensor<1x2x3x2xf32>, tensor<1x2x5x7xf32>
}

// CHECK-LABEL: @unit_dimensions
// CHECK-SAME: (%[[X:.*]]: tensor<1x8x1x1xf32>)
// CHECK-NEXT: %[[R:.*]] = nn.reshape %[[X]] : tensor<1x8x1x1xf32> -> tensor<1x1x1x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @unit_dimensions(%x: tensor<1x8x1x1xf32>) -> tensor<1x1x1x8xf32> {
  %0 = nn.transpose %x [0, 2, 3, 1] : tensor<1x8x1x1xf32> -> tensor<1x1x1x8xf32>
  return %0 : tensor<1x1x1x8xf32>
}

// CHECK-LABEL: @matmul
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>, %[[Y:.*]]: tensor<2x5x3xf32>)
// CHECK-NEXT: nn.matmul %[[X]], %[[Y]] {transpose_lhs = true, transpose_rhs = true}
func.func @matmul(%x: tensor<2x3x4xf32>, %y: tensor<2x5x3xf32>) -> tensor<2x4x5xf32> {
  %0 = nn.transpose %x [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  %1 = nn.transpose %y [0, 2, 1] : tensor<2x5x3xf32> -> tensor<2x3x5xf32>
  %2 = nn.matmul %0, %1 : tensor<2x4x3xf32>, tensor<2x3x5xf32> -> tensor<2x4x5xf32>
  return %2 : tensor<2x4x5xf32>
}

// A squeeze goes below the bias and the activation, which so follow the layer.
// CHECK-LABEL: @squeeze
// CHECK: nn.matmul
// CHECK-NEXT: nn.binary add {{.*}} : tensor<1x4x8xf32>, tensor<1x1x8xf32>
// CHECK-NEXT: nn.unary {{.*}} : tensor<1x4x8xf32>
// CHECK-NEXT: nn.reshape {{.*}} : tensor<1x4x8xf32> -> tensor<4x8xf32>
func.func @squeeze(%x: tensor<1x4x2xf32>, %w: tensor<2x8xf32>) -> tensor<4x8xf32> {
  %bias = nn.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %0 = nn.matmul %x, %w : tensor<1x4x2xf32>, tensor<2x8xf32> -> tensor<1x4x8xf32>
  %1 = nn.reshape %0 : tensor<1x4x8xf32> -> tensor<4x8xf32>
  %2 = nn.binary add %1, %bias : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  %3 = nn.unary %2 <relu> : tensor<4x8xf32> -> tensor<4x8xf32>
  return %3 : tensor<4x8xf32>
}

// Transposes meet through a dimension of size one.
// CHECK-LABEL: @unsqueeze_between
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK-NEXT: %[[R:.*]] = nn.reshape %[[X]] : tensor<2x3x4xf32> -> tensor<2x3x1x4xf32>
// CHECK-NEXT: return %[[R]]
func.func @unsqueeze_between(%x: tensor<2x3x4xf32>) -> tensor<2x3x1x4xf32> {
  %0 = nn.transpose %x [0, 2, 1] : tensor<2x3x4xf32> -> tensor<2x4x3xf32>
  %1 = nn.reshape %0 : tensor<2x4x3xf32> -> tensor<2x1x4x3xf32>
  %2 = nn.transpose %1 [0, 3, 1, 2] : tensor<2x1x4x3xf32> -> tensor<2x3x1x4xf32>
  return %2 : tensor<2x3x1x4xf32>
}

// Different permutations, an operand that is not transposed, a channel shuffle.
// CHECK-LABEL: @refused
// CHECK-COUNT-4: nn.transpose
func.func @refused(%x: tensor<4x4x4xf32>, %y: tensor<4x4x4xf32>, %z: tensor<1x4x4x4xf32>) -> (tensor<4x4x4xf32>, tensor<4x4x4xf32>, tensor<1x4x4x4xf32>) {
  %0 = nn.transpose %x [0, 2, 1] : tensor<4x4x4xf32> -> tensor<4x4x4xf32>
  %1 = nn.transpose %y [1, 0, 2] : tensor<4x4x4xf32> -> tensor<4x4x4xf32>
  %2 = nn.binary mul %0, %1 : tensor<4x4x4xf32>, tensor<4x4x4xf32> -> tensor<4x4x4xf32>
  %3 = nn.transpose %x [2, 0, 1] : tensor<4x4x4xf32> -> tensor<4x4x4xf32>
  %4 = nn.binary mul %3, %y : tensor<4x4x4xf32>, tensor<4x4x4xf32> -> tensor<4x4x4xf32>
  %5 = nn.reshape %z : tensor<1x4x4x4xf32> -> tensor<1x2x2x4x4xf32>
  %6 = nn.transpose %5 [0, 2, 1, 3, 4] : tensor<1x2x2x4x4xf32> -> tensor<1x2x2x4x4xf32>
  %7 = nn.reshape %6 : tensor<1x2x2x4x4xf32> -> tensor<1x4x4x4xf32>
  return %2, %4, %7 : tensor<4x4x4xf32>, tensor<4x4x4xf32>, tensor<1x4x4x4xf32>
}

// Through what quantises all elements alike.
// CHECK-LABEL: @quantised
// CHECK-SAME: (%[[X:[^:]*]]: tensor<1x4x2x3xf32>
// CHECK: %[[Q:.*]] = nn.quantize %[[X]]
// CHECK: %[[Y:.*]] = nn.dequantize %[[Q]]
// CHECK-NEXT: return %[[Y]]
func.func @quantised(%x: tensor<1x4x2x3xf32>, %s: tensor<f32>, %z: tensor<ui8>) -> tensor<1x4x2x3xf32> {
  %0 = nn.transpose %x [0, 2, 3, 1] : tensor<1x4x2x3xf32> -> tensor<1x2x3x4xf32>
  %1 = nn.quantize %0 scale %s zero %z : tensor<1x2x3x4xf32>, tensor<f32>, tensor<ui8> -> tensor<1x2x3x4xui8>
  %2 = nn.dequantize %1 scale %s zero %z : tensor<1x2x3x4xui8>, tensor<f32>, tensor<ui8> -> tensor<1x2x3x4xf32>
  %3 = nn.transpose %2 [0, 3, 1, 2] : tensor<1x2x3x4xf32> -> tensor<1x4x2x3xf32>
  return %3 : tensor<1x4x2x3xf32>
}

// CHECK-LABEL: @quantised_along
// CHECK: nn.transpose
// CHECK-NEXT: nn.quantize
func.func @quantised_along(%x: tensor<4x2xf32>, %s: tensor<4xf32>) -> tensor<2x4xui8> {
  %0 = nn.transpose %x [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
  %1 = nn.quantize %0 scale %s : tensor<2x4xf32>, tensor<4xf32> -> tensor<2x4xui8>
  return %1 : tensor<2x4xui8>
}

// Channels are shuffled in pictures whose rows and columns stay apart.
// CHECK-LABEL: @shuffle
// CHECK: nn.reshape %{{.*}} -> tensor<3x2x4x5xf32>
// CHECK: nn.transpose %{{.*}} [1, 0, 2, 3] : tensor<3x2x4x5xf32> -> tensor<2x3x4x5xf32>
// CHECK: nn.reshape %{{.*}} -> tensor<2x1x3x4x5xf32>
// CHECK: return
func.func @shuffle(%x: tensor<1x6x4x5xf32>) -> tensor<2x1x3x4x5xf32> {
  %0 = nn.reshape %x : tensor<1x6x4x5xf32> -> tensor<3x2x20xf32>
  %1 = nn.transpose %0 [1, 0, 2] : tensor<3x2x20xf32> -> tensor<2x3x20xf32>
  %2 = nn.reshape %1 : tensor<2x3x20xf32> -> tensor<2x1x3x4x5xf32>
  return %2 : tensor<2x1x3x4x5xf32>
}

// Other rows and columns come out.
// CHECK-LABEL: @no_shuffle
// CHECK: nn.transpose %{{.*}} [1, 0, 2] : tensor<3x2x20xf32>
func.func @no_shuffle(%x: tensor<1x6x4x5xf32>) -> tensor<2x3x5x4xf32> {
  %0 = nn.reshape %x : tensor<1x6x4x5xf32> -> tensor<3x2x20xf32>
  %1 = nn.transpose %0 [1, 0, 2] : tensor<3x2x20xf32> -> tensor<2x3x20xf32>
  %2 = nn.reshape %1 : tensor<2x3x20xf32> -> tensor<2x3x5x4xf32>
  return %2 : tensor<2x3x5x4xf32>
}
