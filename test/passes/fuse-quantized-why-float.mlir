// RUN: nnv12-opt %s '--fuse-quantized=why-float=true' --split-input-file -verify-diagnostics | FileCheck %s

// Each of these stays a layer of floats.
// CHECK-LABEL: @float_input
// CHECK: nn.matmul
func.func @float_input(%x: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %s = nn.constant dense<0.5> : tensor<f32>
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %0 = nn.dequantize %w scale %s : tensor<4x2xi8>, tensor<f32> -> tensor<4x2xf32>
  // expected-remark @below {{stays float: its input is not quantised}}
  %1 = nn.matmul %x, %0 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

// -----

func.func @float_weights(%x: tensor<2x4xui8>, %w: tensor<4x2xf32>, %s: tensor<f32>) -> tensor<2x2xf32> {
  %0 = nn.dequantize %x scale %s : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  // expected-remark @below {{stays float: its weights are not quantised}}
  %1 = nn.matmul %0, %w : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

// -----

func.func @wide_input(%x: tensor<2x4xui16>, %s: tensor<f32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %0 = nn.dequantize %x scale %s : tensor<2x4xui16>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %s : tensor<4x2xi8>, tensor<f32> -> tensor<4x2xf32>
  // expected-remark @below {{stays float: its input has integers of type ui16, expected 8 bits}}
  %2 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

func.func @wide_weights(%x: tensor<2x4xui8>, %s: tensor<f32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<1> : tensor<4x2xi16>
  %0 = nn.dequantize %x scale %s : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %s : tensor<4x2xi16>, tensor<f32> -> tensor<4x2xf32>
  // expected-remark @below {{stays float: its weights have integers of type i16, expected at most 8 bits}}
  %2 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

func.func @many_scales(%x: tensor<2x4xui8>, %s: tensor<2x1xf32>, %t: tensor<f32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %0 = nn.dequantize %x scale %s : tensor<2x4xui8>, tensor<2x1xf32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %t : tensor<4x2xi8>, tensor<f32> -> tensor<4x2xf32>
  // expected-remark @below {{stays float: its input has 2 scales, expected one}}
  %2 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

func.func @blocks(%x: tensor<2x4xui8>, %s: tensor<f32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %t = nn.constant dense<[[0.5], [0.25], [1.0], [2.0]]> : tensor<4x1xf32>
  %0 = nn.dequantize %x scale %s : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %t : tensor<4x2xi8>, tensor<4x1xf32> -> tensor<4x2xf32>
  // expected-remark @below {{stays float: its weights have scales or zero points along other dimensions than the outputs}}
  %2 = nn.matmul %0, %1 : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

func.func @computed_weights(%x: tensor<1x1x4x4xui8>, %w: tensor<1x1x1x1xi8>, %s: tensor<f32>) -> tensor<1x1x4x4xf32> {
  %0 = nn.dequantize %x scale %s : tensor<1x1x4x4xui8>, tensor<f32> -> tensor<1x1x4x4xf32>
  %1 = nn.dequantize %w scale %s : tensor<1x1x1x1xi8>, tensor<f32> -> tensor<1x1x1x1xf32>
  // expected-remark @below {{stays float: its weights are computed}}
  %2 = nn.conv %0, %1 strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32> -> tensor<1x1x4x4xf32>
  return %2 : tensor<1x1x4x4xf32>
}

// -----

func.func @transposed(%x: tensor<1x1x4x4xui8>, %s: tensor<f32>) -> tensor<1x1x4x4xf32> {
  %w = nn.constant dense<1> : tensor<1x1x1x1xi8>
  %0 = nn.dequantize %x scale %s : tensor<1x1x4x4xui8>, tensor<f32> -> tensor<1x1x4x4xf32>
  %1 = nn.dequantize %w scale %s : tensor<1x1x1x1xi8>, tensor<f32> -> tensor<1x1x1x1xf32>
  // expected-remark @below {{stays float: transposed convolutions are not quantised}}
  %2 = nn.conv_transpose %0, %1 strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] output_padding [0, 0] : tensor<1x1x4x4xf32>, tensor<1x1x1x1xf32> -> tensor<1x1x4x4xf32>
  return %2 : tensor<1x1x4x4xf32>
}

// -----

func.func @long_sums(%x: tensor<1x66000xui8>, %s: tensor<f32>) -> tensor<1x1xf32> {
  %w = nn.constant dense<1> : tensor<66000x1xi8>
  %0 = nn.dequantize %x scale %s : tensor<1x66000xui8>, tensor<f32> -> tensor<1x66000xf32>
  %1 = nn.dequantize %w scale %s : tensor<66000x1xi8>, tensor<f32> -> tensor<66000x1xf32>
  // expected-remark @below {{stays float: its sums of 66000 products may leave 32 bits}}
  %2 = nn.matmul %0, %1 : tensor<1x66000xf32>, tensor<66000x1xf32> -> tensor<1x1xf32>
  return %2 : tensor<1x1xf32>
}

// -----

func.func @fused(%x: tensor<2x4xui8>, %s: tensor<f32>) -> tensor<2x2xf32> {
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %0 = nn.dequantize %x scale %s : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %s : tensor<4x2xi8>, tensor<f32> -> tensor<4x2xf32>
  // expected-remark @below {{stays float: it has a residual or an activation already}}
  %2 = nn.matmul %0, %1 {activation = #nn.fn<tanh>} : tensor<2x4xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}

// -----

// A bias on another grid than the sums is one of floats; the layer is not.
// CHECK-LABEL: @bias_scale
// CHECK: nn.qmatmul {{.*}} scale %{{.*}} shift
func.func @bias_scale(%x: tensor<2x4xui8>) -> tensor<2x2xf32> {
  %s = nn.constant dense<0.5> : tensor<f32>
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %b = nn.constant dense<[3, 5]> : tensor<2xi32>
  %t = nn.constant dense<0.251> : tensor<f32>
  %0 = nn.dequantize %x scale %s : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %s : tensor<4x2xi8>, tensor<f32> -> tensor<4x2xf32>
  %2 = nn.dequantize %b scale %t : tensor<2xi32>, tensor<f32> -> tensor<2xf32>
  // expected-remark @below {{its bias stays float: found a scale of 0.251, expected 0.25, the input's times the weights'}}
  %3 = nn.matmul %0, %1 bias %2 : tensor<2x4xf32>, tensor<4x2xf32> bias tensor<2xf32> -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @bias_zero
// CHECK: nn.qmatmul {{.*}} bias
func.func @bias_zero(%x: tensor<2x4xui8>) -> tensor<2x2xf32> {
  %s = nn.constant dense<0.5> : tensor<f32>
  %q = nn.constant dense<0.25> : tensor<f32>
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %b = nn.constant dense<[3, 5]> : tensor<2xi32>
  %z = nn.constant dense<1> : tensor<i32>
  %0 = nn.dequantize %x scale %s : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %s : tensor<4x2xi8>, tensor<f32> -> tensor<4x2xf32>
  %2 = nn.dequantize %b scale %q zero %z : tensor<2xi32>, tensor<f32>, tensor<i32> -> tensor<2xf32>
  // expected-remark @below {{its bias stays float: found a zero point of 1, expected 0}}
  %3 = nn.matmul %0, %1 bias %2 : tensor<2x4xf32>, tensor<4x2xf32> bias tensor<2xf32> -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @bias_large
// CHECK: nn.qmatmul {{.*}} shift
func.func @bias_large(%x: tensor<2x4xui8>) -> tensor<2x2xf32> {
  %s = nn.constant dense<0.5> : tensor<f32>
  %q = nn.constant dense<0.25> : tensor<f32>
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %b = nn.constant dense<[2147483647, 5]> : tensor<2xi32>
  %0 = nn.dequantize %x scale %s : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %s : tensor<4x2xi8>, tensor<f32> -> tensor<4x2xf32>
  %2 = nn.dequantize %b scale %q : tensor<2xi32>, tensor<f32> -> tensor<2xf32>
  // expected-remark @below {{its bias stays float: found 2.14748e+09, with which sums may leave 32 bits}}
  %3 = nn.matmul %0, %1 bias %2 : tensor<2x4xf32>, tensor<4x2xf32> bias tensor<2xf32> -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: @bias_computed
// CHECK: nn.qmatmul {{.*}} shift
func.func @bias_computed(%x: tensor<2x4xui8>, %s: tensor<f32>) -> tensor<2x2xf32> {
  %q = nn.constant dense<0.25> : tensor<f32>
  %w = nn.constant dense<1> : tensor<4x2xi8>
  %b = nn.constant dense<[3, 5]> : tensor<2xi32>
  %0 = nn.dequantize %x scale %s : tensor<2x4xui8>, tensor<f32> -> tensor<2x4xf32>
  %1 = nn.dequantize %w scale %q : tensor<4x2xi8>, tensor<f32> -> tensor<4x2xf32>
  %2 = nn.dequantize %b scale %q : tensor<2xi32>, tensor<f32> -> tensor<2xf32>
  // expected-remark @below {{its bias stays float: found a scale that is computed}}
  %3 = nn.matmul %0, %1 bias %2 : tensor<2x4xf32>, tensor<4x2xf32> bias tensor<2xf32> -> tensor<2x2xf32>
  return %3 : tensor<2x2xf32>
}
