// RUN: nnv12-opt %s --raise-rank | FileCheck %s

// CHECK-LABEL: @chain
// CHECK: %[[X:.*]] = nn.reshape %{{.*}} : tensor<1x2x8xf32> -> tensor<1x2x1x8xf32>
// CHECK: %[[R:.*]] = nn.reshape %{{.*}} : tensor<1x2x6xf32> -> tensor<1x2x1x6xf32>
// CHECK: %[[C:.*]] = nn.conv %[[X]], %{{.*}} residual %[[R]] strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] {activation = #nn.fn<relu>, groups = 2 : i64} : tensor<1x2x1x8xf32>, tensor<2x1x1x3xf32> residual tensor<1x2x1x6xf32> -> tensor<1x2x1x6xf32>
// CHECK: %[[P:.*]] = nn.pool max %[[C]] kernel [1, 2] strides [1, 2] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x1x6xf32> -> tensor<1x2x1x3xf32>
// CHECK: %[[T:.*]] = nn.conv_transpose %[[P]], %{{.*}} output_padding [0, 1]
// CHECK: nn.reshape %[[T]] : tensor<1x2x1x6xf32> -> tensor<1x2x6xf32>
func.func @chain(%x: tensor<1x2x8xf32>, %r: tensor<1x2x6xf32>) -> tensor<1x2x6xf32> {
  %w = nn.constant dense<1.0> : tensor<2x1x3xf32>
  %v = nn.constant dense<1.0> : tensor<2x2x1xf32>
  %0 = nn.conv %x, %w residual %r strides [1] dilations [1] pads [0], [0] {groups = 2 : i64, activation = #nn.fn<relu>} : tensor<1x2x8xf32>, tensor<2x1x3xf32> residual tensor<1x2x6xf32> -> tensor<1x2x6xf32>
  %1 = nn.pool max %0 kernel [2] strides [2] dilations [1] pads [0], [0] : tensor<1x2x6xf32> -> tensor<1x2x3xf32>
  %2 = nn.conv_transpose %1, %v strides [2] dilations [1] pads [0], [0] output_padding [1] : tensor<1x2x3xf32>, tensor<2x2x1xf32> -> tensor<1x2x6xf32>
  return %2 : tensor<1x2x6xf32>
}

// CHECK-LABEL: @two_stay_two
// CHECK-NOT: nn.reshape
func.func @two_stay_two(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x4x4xf32> {
  %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  return %0 : tensor<1x2x4x4xf32>
}

// CHECK-LABEL: @bytes
// CHECK: nn.qconv %{{.*}}, %{{.*}} padding %{{.*}} strides [1, 2] dilations [1, 1] pads [0, 1], [0, 1] : tensor<1x2x1x8xui8>, tensor<4x2x1x3xi8>
func.func @bytes(%x: tensor<1x2x8xui8>, %w: tensor<4x2x3xi8>, %z: tensor<ui8>) -> tensor<1x4x4xi32> {
  %0 = nn.qconv %x, %w padding %z strides [2] dilations [1] pads [1], [1] : tensor<1x2x8xui8>, tensor<4x2x3xi8> padding tensor<ui8> -> tensor<1x4x4xi32>
  return %0 : tensor<1x4x4xi32>
}
