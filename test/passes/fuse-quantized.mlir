// RUN: nnv12-opt %s --fuse-quantized --canonicalize --split-input-file | FileCheck %s

// As in QLinearConv: one factor (0.5 * 0.25) / 0.125, and the zero point in the
// bias, 10 - 3 * (1 + 2) and 20 - 3 * (3 + 4). The relu is what saturation
// does.
// CHECK-LABEL: @conv
// CHECK-SAME: (%[[X:[^:]*]]: tensor
// CHECK-DAG: %[[W:.*]] = nn.constant dense<{{.*}}> : tensor<2x2x1x1xi8>
// CHECK-DAG: %[[B:.*]] = nn.constant dense<[1, -1]> : tensor<2xi32>
// CHECK-DAG: %[[S:.*]] = nn.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-DAG: %[[P:.*]] = nn.constant dense<3> : tensor<ui8>
// CHECK-DAG: %[[Z:.*]] = nn.constant dense<0> : tensor<ui8>
// CHECK: %[[Y:.*]] = nn.qconv %[[X]], %[[W]] padding %[[P]] bias %[[B]] scale %[[S]] out_zero %[[Z]] strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {small_weights} : {{.*}} -> tensor<1x2x6x6xui8>
// CHECK-NEXT: return %[[Y]]
func.func @conv(%x: tensor<1x2x4x4xui8>) -> tensor<1x2x6x6xui8> {
  %sx = nn.constant dense<0.5> : tensor<f32>
  %zx = nn.constant dense<3> : tensor<ui8>
  %w = nn.constant dense<[[[[1]], [[2]]], [[[3]], [[4]]]]> : tensor<2x2x1x1xi8>
  %sw = nn.constant dense<[[[[0.25]]], [[[0.5]]]]> : tensor<2x1x1x1xf32>
  %b = nn.constant dense<[10, 20]> : tensor<2xi32>
  %sb = nn.constant dense<[0.125, 0.25]> : tensor<2xf32>
  %sy = nn.constant dense<0.125> : tensor<f32>
  %0 = nn.dequantize %x scale %sx zero %zx : tensor<1x2x4x4xui8>, tensor<f32>, tensor<ui8> -> tensor<1x2x4x4xf32>
  %1 = nn.dequantize %w scale %sw : tensor<2x2x1x1xi8>, tensor<2x1x1x1xf32> -> tensor<2x2x1x1xf32>
  %2 = nn.dequantize %b scale %sb : tensor<2xi32>, tensor<2xf32> -> tensor<2xf32>
  %3 = nn.conv %0, %1 bias %2 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> bias tensor<2xf32> -> tensor<1x2x6x6xf32>
  %4 = nn.unary %3 <relu> : tensor<1x2x6x6xf32> -> tensor<1x2x6x6xf32>
  %5 = nn.quantize %4 scale %sy : tensor<1x2x6x6xf32>, tensor<f32> -> tensor<1x2x6x6xui8>
  return %5 : tensor<1x2x6x6xui8>
}

// -----

// A relu that saturation does not do, since results below the zero point have
// numbers, and bounds in steps of the result; the upper one of relu6 at a scale
// of 6 / 255 goes.
// CHECK-LABEL: @clamps
// CHECK: nn.qconv {{.*}}{activation = #nn.fn<relu>{{.*}}}
// CHECK: nn.qconv {{.*}}{activation = #nn.fn<clip [0.000000e+00, 1.200000e+01]>{{.*}}}
// CHECK-NOT: activation
func.func @clamps(%x: tensor<1x1x4x4xui8>) -> (tensor<1x1x4x4xui8>, tensor<1x1x4x4xui8>, tensor<1x1x4x4xui8>) {
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %sixth = nn.constant dense<0.023529412> : tensor<f32>
  %z = nn.constant dense<9> : tensor<ui8>
  %w = nn.constant dense<1> : tensor<1x1x1x1xi8>
  %0 = nn.dequantize %x scale %one : tensor<1x1x4x4xui8>, tensor<f32> -> tensor<1x1x4x4xf32>
  %1 = nn.dequantize %w scale %one : tensor<1x1x1x1xi8>, tensor<f32> -> tensor<1x1x1x1xf32>
  %2 = nn.conv %0, %1 strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32> -> tensor<1x1x4x4xf32>
  %3 = nn.unary %2 <relu> : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %4 = nn.quantize %3 scale %half zero %z : tensor<1x1x4x4xf32>, tensor<f32>, tensor<ui8> -> tensor<1x1x4x4xui8>
  %5 = nn.conv %0, %1 strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32> -> tensor<1x1x4x4xf32>
  %6 = nn.unary %5 <clip [0.0, 6.0]> : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %7 = nn.quantize %6 scale %half zero %z : tensor<1x1x4x4xf32>, tensor<f32>, tensor<ui8> -> tensor<1x1x4x4xui8>
  %8 = nn.conv %0, %1 strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32> -> tensor<1x1x4x4xf32>
  %9 = nn.unary %8 <clip [0.0, 6.0]> : tensor<1x1x4x4xf32> -> tensor<1x1x4x4xf32>
  %10 = nn.quantize %9 scale %sixth : tensor<1x1x4x4xf32>, tensor<f32> -> tensor<1x1x4x4xui8>
  return %4, %7, %10 : tensor<1x1x4x4xui8>, tensor<1x1x4x4xui8>, tensor<1x1x4x4xui8>
}

// -----

// Another function computes in f32, and the division that is defined follows.
// CHECK-LABEL: @function
// CHECK: %[[O:.*]] = nn.constant dense<1.250000e-01> : tensor<f32>
// CHECK: nn.qmatmul {{.*}} scale %{{.*}} out_scale %[[O]] {activation = #nn.fn<sigmoid>{{.*}}} {{.*}} -> tensor<2x2xui8>
func.func @function(%x: tensor<2x4xui8>) -> tensor<2x2xui8> {
  %s = nn.constant dense<0.5> : tensor<f32>
  %sy = nn.constant dense<0.125> : tensor<f32>
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %0 = nn.dequantize %x scale %s : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %s : tensor<4x2xi8>, tensor<f32> -> tensor<4x2xf32>
  %2 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %3 = nn.unary %2 <sigmoid> : tensor<2x2xf32> -> tensor<2x2xf32>
  %4 = nn.quantize %3 scale %sy : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xui8>
  return %4 : tensor<2x2xui8>
}

// -----

// A result with more uses is f32; a bias that is added behind the product is a
// shift where it is no integer in steps of the sums.
// CHECK-LABEL: @shift
// CHECK-DAG: %[[S:.*]] = nn.constant dense<2.500000e-01> : tensor<2xf32>
// CHECK-DAG: %[[T:.*]] = nn.constant dense<[1.000000e-01, 2.000000e-01]> : tensor<2xf32>
// CHECK-DAG: %[[B:.*]] = nn.constant dense<[2, -3]> : tensor<2xi32>
// CHECK: nn.qmatmul %{{.*}}, %{{.*}} scale %[[S]] shift %[[T]] {{.*}} -> tensor<2x2xf32>
// CHECK: nn.qmatmul %{{.*}}, %{{.*}} bias %[[B]] scale %[[S]] {{.*}} -> tensor<2x2xf32>
func.func @shift(%x: tensor<2x4xui8>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %s = nn.constant dense<0.5> : tensor<f32>
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %b = nn.constant dense<[0.1, 0.2]> : tensor<2xf32>
  %c = nn.constant dense<[[0.5, -0.75]]> : tensor<1x2xf32>
  %0 = nn.dequantize %x scale %s : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %s : tensor<4x2xi8>, tensor<f32> -> tensor<4x2xf32>
  %2 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %3 = nn.binary add %2, %b : tensor<2x2xf32>, tensor<2xf32> -> tensor<2x2xf32>
  %4 = nn.matmul %0, %1 bias %c : tensor<2x4xf32>, tensor<4x2xf32> bias tensor<1x2xf32> -> tensor<2x2xf32>
  return %3, %4 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// Two computed factors with zero points: sums of rows and columns are products
// with ones. The left one, which is transposed, is so as bytes.
// CHECK-LABEL: @computed
// CHECK: %[[T:.*]] = nn.transpose %{{.*}} [1, 0] : tensor<4x2xui8>
// CHECK: nn.qmatmul %{{.*}}, %[[W:[^ ]*]] {{.*}}transpose_rhs = true} : tensor<1x4xui8>, tensor<3x4xi8> -> tensor<1x3xi32>
// CHECK: %[[SUMS:.*]] = nn.qmatmul %[[T]], %{{.*}} : tensor<2x4xui8>, tensor<4x1xi8> -> tensor<2x1xi32>
// CHECK: %[[ROWS:.*]] = nn.binary mul %[[SUMS]]
// CHECK: nn.qmatmul %[[T]], %[[W]] bias %{{.*}} rows %[[ROWS]] scale %{{.*}} {{.*}}transpose_rhs = true} : {{.*}} -> tensor<2x3xf32>
func.func @computed(%x: tensor<4x2xui8>, %y: tensor<3x4xui8>, %s: tensor<f32>, %z: tensor<ui8>) -> tensor<2x3xf32> {
  %0 = nn.dequantize %x scale %s zero %z : tensor<4x2xui8>, tensor<f32>, tensor<ui8> -> tensor<4x2xf32>
  %1 = nn.dequantize %y scale %s zero %z : tensor<3x4xui8>, tensor<f32>, tensor<ui8> -> tensor<3x4xf32>
  %2 = nn.matmul %0, %1 {transpose_lhs = true, transpose_rhs = true} : tensor<4x2xf32>, tensor<3x4xf32> -> tensor<2x3xf32>
  return %2 : tensor<2x3xf32>
}

// -----

// Sums of the model's own integers: bias, scale, shift and function as they are
// spelled, a computed scale too, and a quantize with its division.
// CHECK-LABEL: @integers
// CHECK: %[[V:.*]] = nn.broadcast %{{.*}} : tensor<1xf32> -> tensor<2xf32>
// CHECK: nn.qmatmul %{{.*}}, %{{.*}} bias %{{.*}} scale %[[V]] shift %{{.*}} out_scale %{{.*}} out_zero %{{.*}} {activation = #nn.fn<relu>{{.*}}} {{.*}} -> tensor<2x2xui8>
func.func @integers(%x: tensor<2x4xui8>, %s: tensor<f32>, %t: tensor<f32>, %z: tensor<ui8>) -> tensor<2x2xui8> {
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %b = nn.constant dense<[1, 2]> : tensor<2xi32>
  %c = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = nn.qmatmul %x, %w : tensor<2x4xui8>, tensor<4x2xi8> -> tensor<2x2xi32>
  %1 = nn.binary add %0, %b : tensor<2x2xi32>, tensor<2xi32> -> tensor<2x2xi32>
  %2 = nn.cast %1 : tensor<2x2xi32> -> tensor<2x2xf32>
  %3 = nn.binary mul %2, %s : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xf32>
  %4 = nn.binary add %3, %c : tensor<2x2xf32>, tensor<2xf32> -> tensor<2x2xf32>
  %5 = nn.unary %4 <relu> : tensor<2x2xf32> -> tensor<2x2xf32>
  %6 = nn.quantize %5 scale %t zero %z : tensor<2x2xf32>, tensor<f32>, tensor<ui8> -> tensor<2x2xui8>
  return %6 : tensor<2x2xui8>
}

// -----

// A scale that recognize-functions has made an affine.
// CHECK-LABEL: @affine
// CHECK: nn.qmatmul %{{.*}}, %{{.*}} scale %{{.*}} -> tensor<2x2xui8>
func.func @affine(%x: tensor<2x4xui8>) -> tensor<2x2xui8> {
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.qmatmul %x, %w : tensor<2x4xui8>, tensor<4x2xi8> -> tensor<2x2xi32>
  %1 = nn.cast %0 : tensor<2x2xi32> -> tensor<2x2xf32>
  %2 = nn.unary %1 <affine [0.5, 0.0]> : tensor<2x2xf32> -> tensor<2x2xf32>
  %3 = nn.quantize %2 scale %one : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xui8>
  return %3 : tensor<2x2xui8>
}

// -----

// A scale a row is no vector of the outputs; a sum with two uses stays i32.
// CHECK-LABEL: @rows
// CHECK-COUNT-2: nn.qmatmul {{.*}} -> tensor<2x2xi32>
func.func @rows(%x: tensor<2x4xui8>, %s: tensor<2x1xf32>, %t: tensor<f32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xi32>) {
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %0 = nn.qmatmul %x, %w : tensor<2x4xui8>, tensor<4x2xi8> -> tensor<2x2xi32>
  %1 = nn.cast %0 : tensor<2x2xi32> -> tensor<2x2xf32>
  %2 = nn.binary mul %1, %s : tensor<2x2xf32>, tensor<2x1xf32> -> tensor<2x2xf32>
  %3 = nn.qmatmul %x, %w : tensor<2x4xui8>, tensor<4x2xi8> -> tensor<2x2xi32>
  %4 = nn.cast %3 : tensor<2x2xi32> -> tensor<2x2xf32>
  %5 = nn.binary mul %4, %t : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xf32>
  return %2, %5, %3 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xi32>
}

// -----

// Weights of u8 are i8 where they fit, less their zero points.
// CHECK-LABEL: @unsigned_weights
// CHECK: nn.constant dense<{{\[\[}}-28, 56], [127, -1]]> : tensor<2x2xi8>
// CHECK: nn.qmatmul {{.*}} -> tensor<2x2xf32>
func.func @unsigned_weights(%x: tensor<2x2xui8>) -> tensor<2x2xf32> {
  %s = nn.constant dense<0.5> : tensor<f32>
  %w = nn.constant dense<[[100, 255], [255, 198]]> : tensor<2x2xui8>
  %z = nn.constant dense<[128, 199]> : tensor<2xui8>
  %0 = nn.dequantize %x scale %s : tensor<2x2xui8>, tensor<f32> -> tensor<2x2xf32>
  %1 = nn.dequantize %w scale %s zero %z : tensor<2x2xui8>, tensor<f32>, tensor<2xui8> -> tensor<2x2xf32>
  %2 = nn.matmul %0, %1 : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

// Where they do not fit, sums of windows times the zero points are subtracted;
// each group has its own.
// CHECK-LABEL: @weight_zeros
// CHECK: nn.constant dense<{{.*}}> : tensor<4x1x1x1xi8>
// CHECK: %[[SUMS:.*]] = nn.qconv %{{.*}}, %{{.*}} strides {{.*}} {groups = 2 : i64{{.*}}} : tensor<1x2x4x4xui8>, tensor<2x1x1x1xi8> -> tensor<1x2x4x4xi32>
// CHECK: nn.broadcast {{.*}} -> tensor<1x2x2x4x4xi32>
// CHECK: nn.qconv {{.*}} -> tensor<1x4x4x4xi32>
// CHECK: nn.binary sub
func.func @weight_zeros(%x: tensor<1x2x4x4xui8>) -> tensor<1x4x4x4xf32> {
  %s = nn.constant dense<0.5> : tensor<f32>
  %w = nn.constant dense<[[[[0]]], [[[255]]], [[[1]]], [[[2]]]]> : tensor<4x1x1x1xui8>
  %z = nn.constant dense<[[[[1]]], [[[2]]], [[[3]]], [[[4]]]]> : tensor<4x1x1x1xui8>
  %0 = nn.dequantize %x scale %s : tensor<1x2x4x4xui8>, tensor<f32> -> tensor<1x2x4x4xf32>
  %1 = nn.dequantize %w scale %s zero %z : tensor<4x1x1x1xui8>, tensor<f32>, tensor<4x1x1x1xui8> -> tensor<4x1x1x1xf32>
  %2 = nn.conv %0, %1 strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] {groups = 2 : i64} : tensor<1x2x4x4xf32>, tensor<4x1x1x1xf32> -> tensor<1x4x4x4xf32>
  return %2 : tensor<1x4x4x4xf32>
}

// -----

// i8, as results of a model are, is ui8 with its sign flipped.
// CHECK-LABEL: @signed
// CHECK-DAG: %[[Z:.*]] = nn.constant dense<128> : tensor<ui8>
// CHECK: %[[Y:.*]] = nn.qmatmul %{{.*}}, %{{.*}} scale %{{.*}} out_zero %[[Z]] {{.*}} -> tensor<2x2xui8>
// CHECK: %[[F:.*]] = nn.binary bitwise_xor %[[Y]], %[[Z]]
// CHECK: nn.bitcast %[[F]] : tensor<2x2xui8> -> tensor<2x2xi8>
func.func @signed(%x: tensor<2x4xui8>, %s: tensor<2xf32>) -> tensor<2x2xi8> {
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.qmatmul %x, %w : tensor<2x4xui8>, tensor<4x2xi8> -> tensor<2x2xi32>
  %1 = nn.cast %0 : tensor<2x2xi32> -> tensor<2x2xf32>
  %2 = nn.binary mul %1, %s : tensor<2x2xf32>, tensor<2xf32> -> tensor<2x2xf32>
  %3 = nn.quantize %2 scale %one : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xi8>
  return %3 : tensor<2x2xi8>
}

// -----

// Weights within [-64, 64] are marked, so that kernels may sum two products in
// 16 bits; 65 is beyond.
// CHECK-LABEL: @seven
// CHECK: nn.qmatmul {{.*}} {small_weights} :
// CHECK: nn.qmatmul {{.*}}, %{{[^ ]*}} : tensor<2x2xui8>
func.func @seven(%x: tensor<2x2xui8>) -> (tensor<2x2xi32>, tensor<2x2xi32>) {
  %v = nn.constant dense<[[-64, 64], [1, 2]]> : tensor<2x2xi8>
  %w = nn.constant dense<[[-64, 65], [1, 2]]> : tensor<2x2xi8>
  %0 = nn.qmatmul %x, %v : tensor<2x2xui8>, tensor<2x2xi8> -> tensor<2x2xi32>
  %1 = nn.qmatmul %x, %w : tensor<2x2xui8>, tensor<2x2xi8> -> tensor<2x2xi32>
  return %0, %1 : tensor<2x2xi32>, tensor<2x2xi32>
}

// -----

// A sum of two dequantised tensors that is quantised is a residual of the
// product that makes one of them: 0.5 / 0.25 and 1 / 0.25 of its steps. The
// relu is what saturation does. What is added as a float is not rounded before.
// CHECK-LABEL: @residual
// CHECK-SAME: %[[X:.*]]: tensor<2x4xui8>, %[[R:.*]]: tensor<2x2xui8>, %[[I:.*]]: tensor<2x2xi8>
// CHECK-DAG: %[[Z:.*]] = nn.constant dense<7> : tensor<ui8>
// CHECK-DAG: %[[TWO:.*]] = nn.constant dense<2.000000e+00> : tensor<2xf32>
// CHECK-DAG: %[[FOURS:.*]] = nn.constant dense<4.000000e+00> : tensor<2xf32>
// CHECK-DAG: %[[FOUR:.*]] = nn.constant dense<4.000000e+00> : tensor<f32>
// CHECK-DAG: %[[SIGN:.*]] = nn.constant dense<128> : tensor<ui8>
// CHECK-DAG: %[[M:.*]] = nn.constant dense<135> : tensor<ui8>
// CHECK: %[[Y:.*]] = nn.qmatmul %[[X]], %{{.*}} residual %[[R]] scale %{{.*}} out_zero %[[Z]] step %[[TWO]] residual_scale %[[FOUR]] {{.*}} -> tensor<2x2xui8>
// CHECK: %[[B:.*]] = nn.bitcast %[[I]]
// CHECK: %[[F:.*]] = nn.binary bitwise_xor %[[B]], %[[SIGN]]
// CHECK: %[[T:.*]] = nn.qmatmul %[[X]], %{{.*}} residual %[[F]] scale %{{.*}} step %[[FOURS]] residual_scale %[[FOUR]] residual_zero %[[M]] final_zero %[[SIGN]] {{.*}} -> tensor<2x2xui8>
// CHECK: %[[G:.*]] = nn.binary bitwise_xor %[[T]]
// CHECK: nn.bitcast %[[G]]
func.func @residual(%x: tensor<2x4xui8>, %r: tensor<2x2xui8>, %i: tensor<2x2xi8>) -> (tensor<2x2xui8>, tensor<2x2xi8>) {
  %quarter = nn.constant dense<0.25> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %z = nn.constant dense<7> : tensor<ui8>
  %zi = nn.constant dense<7> : tensor<i8>
  %none = nn.constant dense<0> : tensor<i8>
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %0 = nn.dequantize %x scale %one : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %one : tensor<4x2xi8>, tensor<f32> -> tensor<4x2xf32>
  %2 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %3 = nn.quantize %2 scale %half zero %z : tensor<2x2xf32>, tensor<f32>, tensor<ui8> -> tensor<2x2xui8>
  %4 = nn.dequantize %3 scale %half zero %z : tensor<2x2xui8>, tensor<f32>, tensor<ui8> -> tensor<2x2xf32>
  %5 = nn.dequantize %r scale %one : tensor<2x2xui8>, tensor<f32> -> tensor<2x2xf32>
  %6 = nn.binary add %5, %4 : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %7 = nn.unary %6 <relu> : tensor<2x2xf32> -> tensor<2x2xf32>
  %8 = nn.quantize %7 scale %quarter : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xui8>
  %9 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %10 = nn.dequantize %i scale %one zero %zi : tensor<2x2xi8>, tensor<f32>, tensor<i8> -> tensor<2x2xf32>
  %11 = nn.binary add %9, %10 : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %12 = nn.quantize %11 scale %quarter zero %none : tensor<2x2xf32>, tensor<f32>, tensor<i8> -> tensor<2x2xi8>
  return %8, %12 : tensor<2x2xui8>, tensor<2x2xi8>
}

// -----

// A batch normalisation behind the rounding: 0.5 * [2, 3] / 0.25 and [4, 5] /
// 0.25 in steps of the result. Behind another function than a clamp numbers
// count in their own units, and are divided. Without a quantize they are f32.
// CHECK-LABEL: @normalised
// CHECK-DAG: %[[STEP:.*]] = nn.constant dense<[4.000000e+00, 6.000000e+00]> : tensor<2xf32>
// CHECK-DAG: %[[OFFSET:.*]] = nn.constant dense<[1.600000e+01, 2.000000e+01]> : tensor<2xf32>
// CHECK-DAG: %[[HALVES:.*]] = nn.constant dense<5.000000e-01> : tensor<2xf32>
// CHECK-DAG: %[[QUARTER:.*]] = nn.constant dense<2.500000e-01> : tensor<f32>
// CHECK: nn.qmatmul {{.*}} out_zero %{{.*}} step %[[STEP]] offset %[[OFFSET]] final_zero %{{.*}} {final_activation = #nn.fn<relu>{{.*}} -> tensor<2x2xui8>
// CHECK: nn.qmatmul {{.*}} step %[[HALVES]] final_scale %[[QUARTER]] {final_activation = #nn.fn<sigmoid>{{.*}} -> tensor<2x2xui8>
// CHECK: nn.qmatmul {{.*}} step %[[HALVES]] {final_activation = #nn.fn<sigmoid>{{.*}} -> tensor<2x2xf32>
// CHECK-NEXT: return
func.func @normalised(%x: tensor<2x4xui8>) -> (tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xf32>) {
  %quarter = nn.constant dense<0.25> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %z = nn.constant dense<7> : tensor<ui8>
  %a = nn.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %b = nn.constant dense<[[4.0, 5.0]]> : tensor<1x2xf32>
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %0 = nn.dequantize %x scale %one : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %one : tensor<4x2xi8>, tensor<f32> -> tensor<4x2xf32>
  %2 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %3 = nn.quantize %2 scale %half zero %z : tensor<2x2xf32>, tensor<f32>, tensor<ui8> -> tensor<2x2xui8>
  %4 = nn.dequantize %3 scale %half zero %z : tensor<2x2xui8>, tensor<f32>, tensor<ui8> -> tensor<2x2xf32>
  %5 = nn.binary mul %4, %a : tensor<2x2xf32>, tensor<2xf32> -> tensor<2x2xf32>
  %6 = nn.binary add %5, %b : tensor<2x2xf32>, tensor<1x2xf32> -> tensor<2x2xf32>
  %7 = nn.unary %6 <relu> : tensor<2x2xf32> -> tensor<2x2xf32>
  %8 = nn.quantize %7 scale %quarter zero %z : tensor<2x2xf32>, tensor<f32>, tensor<ui8> -> tensor<2x2xui8>
  %9 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %10 = nn.quantize %9 scale %half zero %z : tensor<2x2xf32>, tensor<f32>, tensor<ui8> -> tensor<2x2xui8>
  %11 = nn.dequantize %10 scale %half zero %z : tensor<2x2xui8>, tensor<f32>, tensor<ui8> -> tensor<2x2xf32>
  %12 = nn.unary %11 <sigmoid> : tensor<2x2xf32> -> tensor<2x2xf32>
  %13 = nn.quantize %12 scale %quarter : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xui8>
  %14 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %15 = nn.quantize %14 scale %half zero %z : tensor<2x2xf32>, tensor<f32>, tensor<ui8> -> tensor<2x2xui8>
  %16 = nn.dequantize %15 scale %half zero %z : tensor<2x2xui8>, tensor<f32>, tensor<ui8> -> tensor<2x2xf32>
  %17 = nn.unary %16 <sigmoid> : tensor<2x2xf32> -> tensor<2x2xf32>
  return %8, %13, %17 : tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xf32>
}

// -----

// Nothing goes on: a product's result with two uses, numbers that count from
// another zero point than the product's, a tensor that broadcasts, scales that
// are computed, a computed factor, floats that another kernel reads anyway.
// CHECK-LABEL: @stop
// CHECK-NOT: step
// CHECK: return
func.func @stop(%x: tensor<2x4xui8>, %r: tensor<2x2xui8>, %c: tensor<2x1xui8>, %s: tensor<f32>, %f: tensor<2xf32>, %g: tensor<2x2xf32>)
    -> (tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xf32>, tensor<2x2xf32>) {
  %one = nn.constant dense<1.0> : tensor<f32>
  %z = nn.constant dense<7> : tensor<ui8>
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %0 = nn.dequantize %x scale %one : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %one : tensor<4x2xi8>, tensor<f32> -> tensor<4x2xf32>
  %residual = nn.dequantize %r scale %one : tensor<2x2xui8>, tensor<f32> -> tensor<2x2xf32>
  %2 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %3 = nn.quantize %2 scale %one : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xui8>
  %4 = nn.dequantize %3 scale %one : tensor<2x2xui8>, tensor<f32> -> tensor<2x2xf32>
  %5 = nn.binary add %4, %residual : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %6 = nn.quantize %5 scale %one : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xui8>
  %7 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %8 = nn.quantize %7 scale %one : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xui8>
  %9 = nn.dequantize %8 scale %one zero %z : tensor<2x2xui8>, tensor<f32>, tensor<ui8> -> tensor<2x2xf32>
  %10 = nn.binary add %9, %residual : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %11 = nn.quantize %10 scale %one : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xui8>
  %12 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %13 = nn.dequantize %c scale %one : tensor<2x1xui8>, tensor<f32> -> tensor<2x1xf32>
  %14 = nn.binary add %12, %13 : tensor<2x2xf32>, tensor<2x1xf32> -> tensor<2x2xf32>
  %15 = nn.quantize %14 scale %one : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xui8>
  %16 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %17 = nn.binary add %16, %residual : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  %18 = nn.quantize %17 scale %s : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xui8>
  %19 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %20 = nn.quantize %19 scale %one : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xui8>
  %21 = nn.dequantize %20 scale %one : tensor<2x2xui8>, tensor<f32> -> tensor<2x2xf32>
  %22 = nn.binary mul %21, %f : tensor<2x2xf32>, tensor<2xf32> -> tensor<2x2xf32>
  %23 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  %24 = nn.quantize %23 scale %one : tensor<2x2xf32>, tensor<f32> -> tensor<2x2xui8>
  %25 = nn.dequantize %24 scale %one : tensor<2x2xui8>, tensor<f32> -> tensor<2x2xf32>
  %26 = nn.unary %25 <sigmoid> : tensor<2x2xf32> -> tensor<2x2xf32>
  %27 = nn.binary mul %26, %g : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<2x2xf32>
  return %3, %6, %11, %15, %18, %22, %27 : tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xui8>, tensor<2x2xf32>, tensor<2x2xf32>
}
