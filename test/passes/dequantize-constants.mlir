// RUN: nnv12-opt %s --dequantize-constants | FileCheck %s
// RUN: nnv12-opt %s '--dequantize-constants=keep-weights=true' | FileCheck %s --check-prefix=KEPT

// CHECK-LABEL: @floats
// CHECK: nn.constant dense<[5.000000e-01, 1.000000e+00]> : tensor<2xf32>
// CHECK-NOT: nn.dequantize
func.func @floats(%x: tensor<2xf32>) -> tensor<2xf32> {
  %s = nn.constant dense<0.5> : tensor<f32>
  %q = nn.constant dense<[1, 2]> : tensor<2xi8>
  %0 = nn.dequantize %q scale %s : tensor<2xi8>, tensor<f32> -> tensor<2xf32>
  %1 = nn.binary add %x, %0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  return %1 : tensor<2xf32>
}

// KEPT-LABEL: @floats
// KEPT-NOT: nn.dequantize
// KEPT-LABEL: @weights
// KEPT: nn.dequantize
// KEPT: nn.matmul
// CHECK-LABEL: @weights
// CHECK-NOT: nn.dequantize
// CHECK: nn.matmul
func.func @weights(%x: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %s = nn.constant dense<0.5> : tensor<f32>
  %q = nn.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>
  %0 = nn.dequantize %q scale %s : tensor<2x2xi8>, tensor<f32> -> tensor<2x2xf32>
  %1 = nn.matmul %x, %0 : tensor<1x2xf32>, tensor<2x2xf32> -> tensor<1x2xf32>
  return %1 : tensor<1x2xf32>
}

// A computed scale makes no constant.
// CHECK-LABEL: @computed
// CHECK: nn.dequantize
func.func @computed(%s: tensor<f32>) -> tensor<2xf32> {
  %q = nn.constant dense<[1, 2]> : tensor<2xi8>
  %0 = nn.dequantize %q scale %s : tensor<2xi8>, tensor<f32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
