// RUN: nnv12-opt %s --spell-round-trips | FileCheck %s
// RUN: nnv12-opt %s --spell-round-trips --canonicalize | FileCheck %s --check-prefix=CLEAN

// CHECK-LABEL: @bytes
// CHECK: %[[X:.*]] = nn.binary div %arg0, %[[S:.*]] :
// CHECK: %[[R:.*]] = nn.unary %[[X]] <round>
// CHECK: %[[C:.*]] = nn.unary %[[R]] <clip [-1.280000e+02, 1.270000e+02]>
// CHECK: nn.binary mul %[[C]], %[[S]]
// CLEAN-LABEL: @bytes
// CLEAN-NOT: nn.quantize
// CLEAN: return
func.func @bytes(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %s = nn.constant dense<0.5> : tensor<f32>
  %z = nn.constant dense<128> : tensor<ui8>
  %0 = nn.quantize %x scale %s zero %z : tensor<2x3xf32>, tensor<f32>, tensor<ui8> -> tensor<2x3xui8>
  %1 = nn.dequantize %0 scale %s zero %z : tensor<2x3xui8>, tensor<f32>, tensor<ui8> -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// Without a zero point, and with another scale behind it.
// CHECK-LABEL: @signed
// CHECK: nn.unary {{.*}} <clip [-1.280000e+02, 1.270000e+02]>
// CHECK: nn.binary mul {{.*}}, %arg2
func.func @signed(%x: tensor<3xf32>, %s: tensor<f32>, %t: tensor<f32>) -> tensor<3xf32> {
  %0 = nn.quantize %x scale %s : tensor<3xf32>, tensor<f32> -> tensor<3xi8>
  %1 = nn.dequantize %0 scale %t : tensor<3xi8>, tensor<f32> -> tensor<3xf32>
  return %1 : tensor<3xf32>
}

// The zero point is computed; or there are two.
// CHECK-LABEL: @others
// CHECK-COUNT-2: nn.dequantize
func.func @others(%x: tensor<3xf32>, %s: tensor<f32>, %z: tensor<i8>) -> (tensor<3xf32>, tensor<3xf32>) {
  %o = nn.constant dense<1> : tensor<i8>
  %0 = nn.quantize %x scale %s zero %z : tensor<3xf32>, tensor<f32>, tensor<i8> -> tensor<3xi8>
  %1 = nn.dequantize %0 scale %s zero %z : tensor<3xi8>, tensor<f32>, tensor<i8> -> tensor<3xf32>
  %2 = nn.dequantize %0 scale %s zero %o : tensor<3xi8>, tensor<f32>, tensor<i8> -> tensor<3xf32>
  return %1, %2 : tensor<3xf32>, tensor<3xf32>
}
