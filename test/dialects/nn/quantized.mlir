// RUN: nnv12-opt --canonicalize %s | nnv12-opt | FileCheck %s

// CHECK-LABEL: @conversions
func.func @conversions(%x: tensor<1x4xf32>, %s: tensor<f32>, %z: tensor<ui8>) -> tensor<1x4xf32> {
  // CHECK: nn.quantize %{{.*}} scale %{{.*}} zero %{{.*}} : tensor<1x4xf32>, tensor<f32>, tensor<ui8> -> tensor<1x4xui8>
  %q = nn.quantize %x scale %s zero %z : tensor<1x4xf32>, tensor<f32>, tensor<ui8> -> tensor<1x4xui8>
  // CHECK: nn.dequantize %{{.*}} scale %{{.*}} zero %{{.*}} : tensor<1x4xui8>, tensor<f32>, tensor<ui8> -> tensor<1x4xf32>
  %y = nn.dequantize %q scale %s zero %z : tensor<1x4xui8>, tensor<f32>, tensor<ui8> -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// Constants are quantised at once, and dequantised by a pass.
// CHECK-LABEL: @constants
func.func @constants() -> (tensor<6xi8>, tensor<2xf32>) {
  %x = nn.constant dense<[0.25, 0.75, 1.25, -70.0, 1.0e9, 0x7fc00000]> : tensor<6xf32>
  %s = nn.constant dense<0.5> : tensor<f32>
  %z = nn.constant dense<3> : tensor<i8>
  // CHECK: dense<[3, 5, 5, -128, 127, 0]> : tensor<6xi8>
  %q = nn.quantize %x scale %s zero %z : tensor<6xf32>, tensor<f32>, tensor<i8> -> tensor<6xi8>
  %w = nn.constant dense<[-128, 127]> : tensor<2xi8>
  // CHECK: nn.dequantize
  %y = nn.dequantize %w scale %s zero %z : tensor<2xi8>, tensor<f32>, tensor<i8> -> tensor<2xf32>
  return %q, %y : tensor<6xi8>, tensor<2xf32>
}

// CHECK-LABEL: @products
func.func @products(%x: tensor<1x4x5x5xui8>, %w: tensor<8x4x3x3xi8>, %p: tensor<ui8>, %b: tensor<8xi32>, %s: tensor<8xf32>, %o: tensor<f32>,
                    %m: tensor<2x3x4xui8>, %n: tensor<8x4xi8>) -> (tensor<1x8x5x5xui8>, tensor<2x3x8xi32>) {
  // CHECK: nn.qconv %{{.*}}, %{{.*}} padding %{{.*}} bias %{{.*}} scale %{{.*}} shift %{{.*}} out_scale %{{.*}} out_zero
  %0 = nn.qconv %x, %w padding %p bias %b scale %s shift %s out_scale %o out_zero %p strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {activation = #nn.fn<relu>}
    : tensor<1x4x5x5xui8>, tensor<8x4x3x3xi8> padding tensor<ui8> bias tensor<8xi32> scale tensor<8xf32> shift tensor<8xf32> out_scale tensor<f32> out_zero tensor<ui8> -> tensor<1x8x5x5xui8>
  // CHECK: nn.qmatmul %{{.*}}, %{{.*}} {transpose_rhs = true} : tensor<2x3x4xui8>, tensor<8x4xi8> -> tensor<2x3x8xi32>
  %1 = nn.qmatmul %m, %n {transpose_rhs = true} : tensor<2x3x4xui8>, tensor<8x4xi8> -> tensor<2x3x8xi32>
  return %0, %1 : tensor<1x8x5x5xui8>, tensor<2x3x8xi32>
}

// CHECK-LABEL: @rest
func.func @rest(%x: tensor<3x4xui8>, %w: tensor<4x8xi8>, %s: tensor<8xf32>, %r: tensor<3x8xui8>, %q: tensor<3x8xf32>, %z: tensor<ui8>, %f: tensor<f32>) -> (tensor<3x8xui8>, tensor<3x8xf32>) {
  // CHECK: nn.qmatmul %{{.*}}, %{{.*}} residual %{{.*}} scale %{{.*}} out_zero %{{.*}} step %{{.*}} offset %{{.*}} residual_scale %{{.*}} residual_zero %{{.*}} final_scale %{{.*}} final_zero %{{.*}} {final_activation = #nn.fn<relu>
  %0 = nn.qmatmul %x, %w residual %r scale %s out_zero %z step %s offset %s residual_scale %f residual_zero %z final_scale %f final_zero %z {final_activation = #nn.fn<relu>}
    : tensor<3x4xui8>, tensor<4x8xi8> residual tensor<3x8xui8> scale tensor<8xf32> out_zero tensor<ui8> step tensor<8xf32> offset tensor<8xf32> residual_scale tensor<f32> residual_zero tensor<ui8> final_scale tensor<f32> final_zero tensor<ui8> -> tensor<3x8xui8>
  // CHECK: nn.qmatmul %{{.*}}, %{{.*}} residual %{{.*}} scale %{{.*}} out_scale %{{.*}} out_zero %{{.*}} step %{{.*}} residual_scale %{{.*}} -> tensor<3x8xf32>
  %1 = nn.qmatmul %x, %w residual %q scale %s out_scale %f out_zero %z step %s residual_scale %f
    : tensor<3x4xui8>, tensor<4x8xi8> residual tensor<3x8xf32> scale tensor<8xf32> out_scale tensor<f32> out_zero tensor<ui8> step tensor<8xf32> residual_scale tensor<f32> -> tensor<3x8xf32>
  return %0, %1 : tensor<3x8xui8>, tensor<3x8xf32>
}
