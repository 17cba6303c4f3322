// RUN: nnv12-opt %s --normalize-quantized --canonicalize --split-input-file | FileCheck %s

// What is quantised to i8 inside becomes ui8, and the flip of its sign cancels
// with the dequantize, below layers that move elements.
// CHECK-LABEL: @unsigned
// CHECK: %[[Z:.*]] = nn.constant dense<131> : tensor<ui8>
// CHECK: %[[Q:.*]] = nn.quantize %{{.*}} scale %[[S:.*]] zero %[[Z]] : tensor<1x2x2xf32>, tensor<f32>, tensor<ui8> -> tensor<1x2x2xui8>
// CHECK-NEXT: %[[R:.*]] = nn.reshape %[[Q]] : tensor<1x2x2xui8> -> tensor<4xui8>
// CHECK-NEXT: nn.dequantize %[[R]] scale %[[S]] zero %[[Z]]
func.func @unsigned(%x: tensor<1x2x2xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %z = nn.constant dense<3> : tensor<i8>
  %q = nn.quantize %x scale %s zero %z : tensor<1x2x2xf32>, tensor<f32>, tensor<i8> -> tensor<1x2x2xi8>
  %r = nn.reshape %q : tensor<1x2x2xi8> -> tensor<4xi8>
  %y = nn.dequantize %r scale %s zero %z : tensor<4xi8>, tensor<f32>, tensor<i8> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Results of the model keep their type; nothing is gained before them.
// CHECK-LABEL: @result
// CHECK: nn.quantize {{.*}} -> tensor<4xi8>
// CHECK-NEXT: return
func.func @result(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xi8> {
  %q = nn.quantize %x scale %s : tensor<4xf32>, tensor<f32> -> tensor<4xi8>
  return %q : tensor<4xi8>
}

// -----

// A computed zero point is flipped where the model runs. The padding of bytes,
// which was 0 of i8, becomes 128, and a max pool keeps the order of numbers.
// CHECK-LABEL: @flips
// CHECK: %[[BIT:.*]] = nn.constant dense<128> : tensor<ui8>
// CHECK: %[[Z:.*]] = nn.binary bitwise_xor %{{.*}}, %[[BIT]]
// CHECK: %[[Q:.*]] = nn.quantize %{{.*}} zero %[[Z]]
// CHECK: %[[P:.*]] = nn.pad constant %[[Q]] value %[[BIT]] low
// CHECK: %[[M:.*]] = nn.pool max %[[P]] {{.*}} -> tensor<1x2x3x3xui8>
// CHECK: nn.binary bitwise_xor %[[M]], %[[BIT]]
// CHECK: nn.bitcast {{.*}} -> tensor<1x2x3x3xi8>
func.func @flips(%x: tensor<1x2x4x4xf32>, %s: tensor<f32>, %z: tensor<i8>) -> tensor<1x2x3x3xi8> {
  %q = nn.quantize %x scale %s zero %z : tensor<1x2x4x4xf32>, tensor<f32>, tensor<i8> -> tensor<1x2x4x4xi8>
  %p = nn.pad constant %q low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<1x2x4x4xi8> -> tensor<1x2x6x6xi8>
  %m = nn.pool max %p kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x6x6xi8> -> tensor<1x2x3x3xi8>
  return %m : tensor<1x2x3x3xi8>
}

// -----

// Layers that move dequantised elements move bytes; padding with 0 is padding
// with the zero point.
// CHECK-LABEL: @moved
// CHECK-SAME: (%[[X:[^:]*]]: tensor<1x4x4x4xui8>
// CHECK: %[[T:.*]] = nn.transpose %[[X]] [0, 2, 3, 1]
// CHECK: %[[P:.*]] = nn.pad constant %[[T]] value %[[Z:[^ ]*]] low
// CHECK: %[[S:.*]] = nn.slice %[[P]]
// CHECK: %[[C:.*]] = nn.concat %[[S]], %[[S]] axis 3
// CHECK: %[[G:.*]] = nn.gather %[[C]]
// CHECK: nn.dequantize %[[G]] scale %{{.*}} zero %[[Z]] : tensor<1x3x4x8xui8>
func.func @moved(%x: tensor<1x4x4x4xui8>, %z: tensor<ui8>, %i: tensor<3xi64>) -> tensor<1x3x4x8xf32> {
  %s = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.dequantize %x scale %s zero %z : tensor<1x4x4x4xui8>, tensor<f32>, tensor<ui8> -> tensor<1x4x4x4xf32>
  %1 = nn.transpose %0 [0, 2, 3, 1] : tensor<1x4x4x4xf32> -> tensor<1x4x4x4xf32>
  %2 = nn.pad constant %1 low [0, 1, 0, 0] high [0, 0, 0, 0] : tensor<1x4x4x4xf32> -> tensor<1x5x4x4xf32>
  %3 = nn.slice %2 starts [0, 0, 0, 0] sizes [1, 4, 4, 4] steps [1, 1, 1, 1] : tensor<1x5x4x4xf32> -> tensor<1x4x4x4xf32>
  %4 = nn.concat %3, %3 axis 3 : tensor<1x4x4x4xf32>, tensor<1x4x4x4xf32> -> tensor<1x4x4x8xf32>
  %5 = nn.gather %4, %i axis 1 : tensor<1x4x4x8xf32>, tensor<3xi64> -> tensor<1x3x4x8xf32>
  return %5 : tensor<1x3x4x8xf32>
}

// -----

// Not where the scales differ, where a scale goes along an axis, or where the
// scale of a max pool may be negative.
// CHECK-LABEL: @not_moved
// CHECK: nn.concat {{.*}} -> tensor<1x2x8x4xf32>
// CHECK: nn.reshape {{.*}} -> tensor<32xf32>
// CHECK: nn.pool max {{.*}} -> tensor<1x2x2x2xf32>
func.func @not_moved(%x: tensor<1x2x4x4xui8>, %s: tensor<f32>, %t: tensor<f32>, %v: tensor<2x1x1xf32>) -> (tensor<1x2x8x4xf32>, tensor<32xf32>, tensor<1x2x2x2xf32>) {
  %0 = nn.dequantize %x scale %s : tensor<1x2x4x4xui8>, tensor<f32> -> tensor<1x2x4x4xf32>
  %1 = nn.dequantize %x scale %t : tensor<1x2x4x4xui8>, tensor<f32> -> tensor<1x2x4x4xf32>
  %2 = nn.concat %0, %1 axis 2 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32> -> tensor<1x2x8x4xf32>
  %3 = nn.dequantize %x scale %v : tensor<1x2x4x4xui8>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
  %4 = nn.reshape %3 : tensor<1x2x4x4xf32> -> tensor<32xf32>
  %n = nn.constant dense<-0.5> : tensor<f32>
  %5 = nn.dequantize %x scale %n : tensor<1x2x4x4xui8>, tensor<f32> -> tensor<1x2x4x4xf32>
  %6 = nn.pool max %5 kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xf32>
  return %2, %4, %6 : tensor<1x2x8x4xf32>, tensor<32xf32>, tensor<1x2x2x2xf32>
}

// -----

// Weights are transposed with the scales of their outputs.
// CHECK-LABEL: @weights
// CHECK-DAG: %[[W:.*]] = nn.constant dense<{{\[\[}}1, 3], [2, 4]]> : tensor<2x2xi8>
// CHECK-DAG: %[[S:.*]] = nn.constant dense<{{\[\[}}5.000000e-01, 2.500000e-01]]> : tensor<1x2xf32>
// CHECK: nn.dequantize %[[W]] scale %[[S]]
func.func @weights() -> tensor<2x2xf32> {
  %w = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %s = nn.constant dense<[[0.5], [0.25]]> : tensor<2x1xf32>
  %0 = nn.dequantize %w scale %s : tensor<2x2xi8>, tensor<2x1xf32> -> tensor<2x2xf32>
  %1 = nn.transpose %0 [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

// -----

// Bytes that are dequantised and quantised alike are the same bytes.
// CHECK-LABEL: @same
// CHECK-SAME: (%[[X:[^:]*]]: tensor<4xui8>)
// CHECK-NEXT: return %[[X]]
func.func @same(%x: tensor<4xui8>) -> tensor<4xui8> {
  %s = nn.constant dense<0.3> : tensor<f32>
  %z = nn.constant dense<7> : tensor<ui8>
  %0 = nn.dequantize %x scale %s zero %z : tensor<4xui8>, tensor<f32>, tensor<ui8> -> tensor<4xf32>
  %1 = nn.quantize %0 scale %s zero %z : tensor<4xf32>, tensor<f32>, tensor<ui8> -> tensor<4xui8>
  return %1 : tensor<4xui8>
}

// -----

// Not by another zero point, nor by a scale of which all products are infinite.
// CHECK-LABEL: @other
// CHECK-COUNT-2: nn.quantize
func.func @other(%x: tensor<4xui8>) -> (tensor<4xui8>, tensor<4xui8>) {
  %s = nn.constant dense<0.3> : tensor<f32>
  %z = nn.constant dense<7> : tensor<ui8>
  %0 = nn.dequantize %x scale %s zero %z : tensor<4xui8>, tensor<f32>, tensor<ui8> -> tensor<4xf32>
  %1 = nn.quantize %0 scale %s : tensor<4xf32>, tensor<f32> -> tensor<4xui8>
  %t = nn.constant dense<3.0e38> : tensor<f32>
  %2 = nn.dequantize %x scale %t : tensor<4xui8>, tensor<f32> -> tensor<4xf32>
  %3 = nn.quantize %2 scale %t : tensor<4xf32>, tensor<f32> -> tensor<4xui8>
  return %1, %3 : tensor<4xui8>, tensor<4xui8>
}

// -----

// A quantize comes next to the layer whose result it quantises.
// CHECK-LABEL: @next
// CHECK: %[[Y:.*]] = nn.matmul
// CHECK-NEXT: %[[Q:.*]] = nn.quantize %[[Y]]
// CHECK-NEXT: nn.reshape %[[Q]] : tensor<2x3xui8> -> tensor<6xui8>
func.func @next(%x: tensor<2x4xf32>, %w: tensor<4x3xf32>, %s: tensor<f32>) -> tensor<6xui8> {
  %0 = nn.matmul %x, %w : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  %1 = nn.reshape %0 : tensor<2x3xf32> -> tensor<6xf32>
  %2 = nn.quantize %1 scale %s : tensor<6xf32>, tensor<f32> -> tensor<6xui8>
  return %2 : tensor<6xui8>
}

// -----

// Scales of f16: no rounding to f16 around a layer that computes in f32, as
// widen-half leaves them.
// CHECK-LABEL: @half
// CHECK: %[[X:.*]] = nn.dequantize
// CHECK-NEXT: %[[Y:.*]] = nn.matmul %[[X]]
// CHECK-NEXT: nn.quantize %[[Y]] scale
func.func @half(%x: tensor<2x4xui8>, %w: tensor<4x3xf32>, %s: tensor<f32>) -> tensor<2x3xui8> {
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.dequantize %x scale %s : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.cast %0 : tensor<2x4xf32> -> tensor<2x4xf16>
  %2 = nn.cast %1 : tensor<2x4xf16> -> tensor<2x4xf32>
  %3 = nn.matmul %2, %w : tensor<2x4xf32>, tensor<4x3xf32> -> tensor<2x3xf32>
  %4 = nn.cast %3 : tensor<2x3xf32> -> tensor<2x3xf16>
  %5 = nn.cast %4 : tensor<2x3xf16> -> tensor<2x3xf32>
  %6 = nn.binary div %5, %s : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xf32>
  %7 = nn.cast %6 : tensor<2x3xf32> -> tensor<2x3xf16>
  %8 = nn.cast %7 : tensor<2x3xf16> -> tensor<2x3xf32>
  %9 = nn.quantize %8 scale %one : tensor<2x3xf32>, tensor<f32> -> tensor<2x3xui8>
  return %9 : tensor<2x3xui8>
}

// -----

// The quotient of a tensor that is one of f16 by itself is rounded.
// CHECK-LABEL: @half_input
// CHECK: nn.binary div
func.func @half_input(%x: tensor<4xf16>, %s: tensor<f32>) -> tensor<4xui8> {
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.cast %x : tensor<4xf16> -> tensor<4xf32>
  %1 = nn.binary div %0, %s : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %2 = nn.cast %1 : tensor<4xf32> -> tensor<4xf16>
  %3 = nn.cast %2 : tensor<4xf16> -> tensor<4xf32>
  %4 = nn.quantize %3 scale %one : tensor<4xf32>, tensor<f32> -> tensor<4xui8>
  return %4 : tensor<4xui8>
}

// -----

// A division by a power of two that recognize-functions has named.
// CHECK-LABEL: @half_affine
// CHECK: %[[S:.*]] = nn.constant dense<6.250000e-02> : tensor<f32>
// CHECK: %[[Y:.*]] = nn.unary %{{.*}} <tanh>
// CHECK-NEXT: nn.quantize %[[Y]] scale %[[S]]
func.func @half_affine(%x: tensor<4xf32>) -> tensor<4xui8> {
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.unary %x <tanh> : tensor<4xf32> -> tensor<4xf32>
  %1 = nn.cast %0 : tensor<4xf32> -> tensor<4xf16>
  %2 = nn.cast %1 : tensor<4xf16> -> tensor<4xf32>
  %3 = nn.unary %2 <affine [16.0, 0.0]> : tensor<4xf32> -> tensor<4xf32>
  %4 = nn.cast %3 : tensor<4xf32> -> tensor<4xf16>
  %5 = nn.cast %4 : tensor<4xf16> -> tensor<4xf32>
  %6 = nn.quantize %5 scale %one : tensor<4xf32>, tensor<f32> -> tensor<4xui8>
  return %6 : tensor<4xui8>
}
