// RUN: nnv12-opt %s --trim-window | FileCheck %s

// Rows 24 away are outside; columns 4 away are not.
// CHECK-LABEL: @rows
// CHECK: %[[W:.*]] = nn.slice %arg1 starts [0, 0, 1, 0] sizes [2, 2, 1, 3] steps [1, 1, 1, 1]
// CHECK: nn.conv %arg0, %[[W]] strides [1, 1] dilations [1, 4] pads [0, 4], [0, 4]
func.func @rows(%x: tensor<1x2x20x20xf32>, %w: tensor<2x2x3x3xf32>) -> tensor<1x2x20x20xf32> {
  %0 = nn.conv %x, %w strides [1, 1] dilations [24, 4] pads [24, 4], [24, 4] : tensor<1x2x20x20xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x20x20xf32>
  return %0 : tensor<1x2x20x20xf32>
}

// Constants are cut when the pass is done.
// CHECK-LABEL: @constant
// CHECK: %[[W:.*]] = nn.constant dense<{{.*}}3.000000e+00{{.*}}> : tensor<1x1x1xf32>
// CHECK: nn.conv %arg0, %[[W]] strides [1] dilations [1] pads [0], [0]
func.func @constant(%x: tensor<1x1x5xf32>) -> tensor<1x1x5xf32> {
  %w = nn.constant dense<[[[1.0, 2.0, 3.0, 4.0, 5.0]]]> : tensor<1x1x5xf32>
  %0 = nn.conv %x, %w strides [1] dilations [5] pads [10], [10] : tensor<1x1x5xf32>, tensor<1x1x5xf32> -> tensor<1x1x5xf32>
  return %0 : tensor<1x1x5xf32>
}

// Uneven padding, and a stride: output 1 of 2 is the one that tap 0 is for.
// CHECK-LABEL: @uneven
// CHECK: nn.slice %arg1 starts [0, 0, 0, 1] sizes [1, 1, 2, 2]
// CHECK: nn.conv {{.*}} strides [1, 2] dilations [6, 4] pads [5, 0], [0, 3]
func.func @uneven(%x: tensor<1x1x6x4xf32>, %w: tensor<1x1x3x3xf32>) -> tensor<1x1x5x2xf32> {
  %0 = nn.conv %x, %w strides [1, 2] dilations [6, 4] pads [5, 4], [6, 3] : tensor<1x1x6x4xf32>, tensor<1x1x3x3xf32> -> tensor<1x1x5x2xf32>
  return %0 : tensor<1x1x5x2xf32>
}

// All taps meet something; and where the padding is less than a step between
// taps there would be elements that no tap reads.
// CHECK-LABEL: @used
// CHECK-COUNT-2: nn.conv %{{.*}}, %arg{{[12]}}
// CHECK-NOT: nn.slice
func.func @used(%x: tensor<1x2x20x20xf32>, %w: tensor<2x2x3x3xf32>, %v: tensor<2x2x3x3xf32>) -> (tensor<1x2x20x20xf32>, tensor<1x2x1x18xf32>) {
  %0 = nn.conv %x, %w strides [1, 1] dilations [19, 1] pads [19, 1], [19, 1] : tensor<1x2x20x20xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x20x20xf32>
  %1 = nn.conv %x, %v strides [40, 1] dilations [12, 1] pads [5, 0], [0, 0] : tensor<1x2x20x20xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x1x18xf32>
  return %0, %1 : tensor<1x2x20x20xf32>, tensor<1x2x1x18xf32>
}
