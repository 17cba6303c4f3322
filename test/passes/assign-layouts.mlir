// RUN: nnv12-opt %s --assign-layouts | FileCheck %s

// A convolution works in blocks of 16 channels, its weights are packed, the
// model's input and output stay dense.
// CHECK-LABEL: func @conv
// CHECK-DAG: %[[W:.*]] = nn.constant {{.*}} -> tensor<32x16x1x1xf32, #nn.layout<"ABcd16b16a">>
// CHECK-DAG: %[[X:.*]] = nn.adapt %arg0 : tensor<1x16x8x8xf32> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
// CHECK: %[[Y:.*]] = nn.conv %[[X]], %[[W]]
// CHECK: %[[Z:.*]] = nn.adapt %[[Y]] : {{.*}} -> tensor<1x32x8x8xf32>
// CHECK: return %[[Z]]
func.func @conv(%x: tensor<1x16x8x8xf32>) -> tensor<1x32x8x8xf32> {
  %w = nn.constant dense<0.5> : tensor<32x16x1x1xf32>
  %y = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x16x8x8xf32>, tensor<32x16x1x1xf32> -> tensor<1x32x8x8xf32>
  return %y : tensor<1x32x8x8xf32>
}

// Element-wise layers between convolutions stay in blocks, and so does a
// per-channel constant; a second use shares the adapt.
// CHECK-LABEL: func @chain
// CHECK: nn.adapt %arg0
// CHECK-NOT: nn.adapt
// CHECK: nn.conv
// CHECK: nn.binary mul {{.*}} : tensor<1x32x8x8xf32, #nn.layout<"aBcd16b">>, tensor<1x32x1x1xf32, #nn.layout<"aBcd16b">> -> tensor<1x32x8x8xf32, #nn.layout<"aBcd16b">>
// CHECK: nn.unary {{.*}} -> tensor<1x32x8x8xf32, #nn.layout<"aBcd16b">>
// CHECK: nn.adapt
// CHECK-NEXT: return
func.func @chain(%x: tensor<1x32x8x8xf32>) -> tensor<1x32x8x8xf32> {
  %w = nn.constant dense<0.5> : tensor<32x32x1x1xf32>
  %s = nn.constant dense<2.0> : tensor<1x32x1x1xf32>
  %y = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x32x8x8xf32>, tensor<32x32x1x1xf32> -> tensor<1x32x8x8xf32>
  %m = nn.binary mul %y, %s : tensor<1x32x8x8xf32>, tensor<1x32x1x1xf32> -> tensor<1x32x8x8xf32>
  %u = nn.unary %m <sin> : tensor<1x32x8x8xf32> -> tensor<1x32x8x8xf32>
  return %u : tensor<1x32x8x8xf32>
}

// A model without hot layers stays dense.
// CHECK-LABEL: func @dense
// CHECK-NOT: layout
// CHECK: return
func.func @dense(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %u = nn.unary %x <exp> : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}
