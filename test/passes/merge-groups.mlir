// RUN: nnv12-opt %s --merge-groups --split-input-file | FileCheck %s

// Two outputs of each group; the rows of the second group's follow its zeros.
// All groups become one where blocks of 16 channels cannot be filled.
// CHECK-LABEL: @weights
// CHECK{LITERAL}: dense<[[[[1]], [[2]], [[3]], [[0]], [[0]], [[0]]], [[[4]], [[5]], [[6]], [[0]], [[0]], [[0]]], [[[0]], [[0]], [[0]], [[7]], [[8]], [[9]]], [[[0]], [[0]], [[0]], [[10]], [[11]], [[12]]]]> : tensor<4x6x1x1xi8>
// CHECK: nn.qconv {{.*}} pads [0, 0], [0, 0] : tensor<1x6x2x2xui8>, tensor<4x6x1x1xi8>
func.func @weights(%x: tensor<1x6x2x2xui8>) -> tensor<1x4x2x2xi32> {
  %w = nn.constant dense<[[[[1]], [[2]], [[3]]], [[[4]], [[5]], [[6]]], [[[7]], [[8]], [[9]]], [[[10]], [[11]], [[12]]]]> : tensor<4x3x1x1xi8>
  %0 = nn.qconv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] {groups = 2 : i64} : tensor<1x6x2x2xui8>, tensor<4x3x1x1xi8> -> tensor<1x4x2x2xi32>
  return %0 : tensor<1x4x2x2xi32>
}

// -----

// As few as fill whole blocks, of input and output.
// CHECK-LABEL: @blocks
// CHECK: nn.qconv {{.*}} {groups = 8 : i64} : tensor<1x128x2x2xui8>, tensor<128x16x1x1xi8>
// CHECK: nn.qconv {{.*}} {groups = 2 : i64} : tensor<1x96x2x2xui8>, tensor<32x48x1x1xi8>
// CHECK: nn.conv {{.*}} {groups = 2 : i64} : tensor<1x96x2x2xf32>, tensor<96x48x1x1xf32>
func.func @blocks(%x: tensor<1x128x2x2xui8>, %y: tensor<1x96x2x2xui8>, %z: tensor<1x96x2x2xf32>)
    -> (tensor<1x128x2x2xi32>, tensor<1x32x2x2xi32>, tensor<1x96x2x2xf32>) {
  %v = nn.constant dense<1> : tensor<128x4x1x1xi8>
  %w = nn.constant dense<1> : tensor<32x24x1x1xi8>
  %u = nn.constant dense<1.0> : tensor<96x24x1x1xf32>
  %0 = nn.qconv %x, %v strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] {groups = 32 : i64} : tensor<1x128x2x2xui8>, tensor<128x4x1x1xi8> -> tensor<1x128x2x2xi32>
  %1 = nn.qconv %y, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] {groups = 4 : i64} : tensor<1x96x2x2xui8>, tensor<32x24x1x1xi8> -> tensor<1x32x2x2xi32>
  %2 = nn.conv %z, %u strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] {groups = 4 : i64} : tensor<1x96x2x2xf32>, tensor<96x24x1x1xf32> -> tensor<1x96x2x2xf32>
  return %0, %1, %2 : tensor<1x128x2x2xi32>, tensor<1x32x2x2xi32>, tensor<1x96x2x2xf32>
}

// -----

// Kernels take these: whole blocks, depthwise convolutions, and small groups of
// floats. Nothing is known of computed weights. Blocks of 16 channels would be
// 16 groups here, which is too many.
// CHECK-LABEL: @stay
// CHECK: nn.qconv {{.*}} {groups = 2 : i64}
// CHECK: nn.qconv {{.*}} {groups = 16 : i64}
// CHECK: nn.conv {{.*}} {groups = 4 : i64}
// CHECK: nn.qconv {{.*}} {groups = 8 : i64}
// CHECK: nn.conv {{.*}} {groups = 32 : i64}
func.func @stay(%x: tensor<1x32x2x2xui8>, %y: tensor<1x16x2x2xui8>, %z: tensor<1x32x2x2xf32>, %c: tensor<32x4x1x1xi8>)
    -> (tensor<1x32x2x2xi32>, tensor<1x16x2x2xi32>, tensor<1x32x2x2xf32>, tensor<1x32x2x2xi32>, tensor<1x96x2x2xf32>) {
  %v = nn.constant dense<1> : tensor<32x16x1x1xi8>
  %w = nn.constant dense<1> : tensor<16x1x1x1xi8>
  %u = nn.constant dense<1.0> : tensor<32x8x1x1xf32>
  %t = nn.constant dense<1.0> : tensor<96x1x1x1xf32>
  %0 = nn.qconv %x, %v strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] {groups = 2 : i64} : tensor<1x32x2x2xui8>, tensor<32x16x1x1xi8> -> tensor<1x32x2x2xi32>
  %1 = nn.qconv %y, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] {groups = 16 : i64} : tensor<1x16x2x2xui8>, tensor<16x1x1x1xi8> -> tensor<1x16x2x2xi32>
  %2 = nn.conv %z, %u strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] {groups = 4 : i64} : tensor<1x32x2x2xf32>, tensor<32x8x1x1xf32> -> tensor<1x32x2x2xf32>
  %3 = nn.qconv %x, %c strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] {groups = 8 : i64} : tensor<1x32x2x2xui8>, tensor<32x4x1x1xi8> -> tensor<1x32x2x2xi32>
  %4 = nn.conv %z, %t strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] {groups = 32 : i64} : tensor<1x32x2x2xf32>, tensor<96x1x1x1xf32> -> tensor<1x96x2x2xf32>
  return %0, %1, %2, %3, %4 : tensor<1x32x2x2xi32>, tensor<1x16x2x2xi32>, tensor<1x32x2x2xf32>, tensor<1x32x2x2xi32>, tensor<1x96x2x2xf32>
}

// -----

// Two of three groups fill blocks, the third one is a layer of its own. Each
// takes its part of each operand.
// CHECK-LABEL: @rest
// CHECK-SAME: %[[X:.*]]: tensor<1x72x2x2xf32>, %[[R:.*]]: tensor<1x72x3x3xf32>
// CHECK-DAG: %[[B:.*]] = nn.constant dense<5.000000e-01> : tensor<48xf32>
// CHECK-DAG: %[[D:.*]] = nn.constant dense<5.000000e-01> : tensor<24xf32>
// CHECK-DAG: %[[X0:.*]] = nn.slice %[[X]] starts [0, 0, 0, 0] sizes [1, 48, 2, 2] steps [1, 1, 1, 1]
// CHECK-DAG: %[[R0:.*]] = nn.slice %[[R]] starts [0, 0, 0, 0] sizes [1, 48, 3, 3] steps [1, 1, 1, 1]
// CHECK-DAG: %[[X1:.*]] = nn.slice %[[X]] starts [0, 48, 0, 0] sizes [1, 24, 2, 2] steps [1, 1, 1, 1]
// CHECK-DAG: %[[R1:.*]] = nn.slice %[[R]] starts [0, 48, 0, 0] sizes [1, 24, 3, 3] steps [1, 1, 1, 1]
// CHECK-DAG: %[[Y0:.*]] = nn.conv %[[X0]], %{{.*}} bias %[[B]] residual %[[R0]] strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x48x2x2xf32>, tensor<48x48x2x2xf32>
// CHECK-DAG: %[[Y1:.*]] = nn.conv %[[X1]], %{{.*}} bias %[[D]] residual %[[R1]] strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x24x2x2xf32>, tensor<24x24x2x2xf32>
// CHECK: nn.concat %[[Y0]], %[[Y1]] axis 1
func.func @rest(%x: tensor<1x72x2x2xf32>, %r: tensor<1x72x3x3xf32>) -> tensor<1x72x3x3xf32> {
  %w = nn.constant dense<1.0> : tensor<72x24x2x2xf32>
  %b = nn.constant dense<0.5> : tensor<72xf32>
  %0 = nn.conv %x, %w bias %b residual %r strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {groups = 3 : i64} : tensor<1x72x2x2xf32>, tensor<72x24x2x2xf32> bias tensor<72xf32> residual tensor<1x72x3x3xf32> -> tensor<1x72x3x3xf32>
  return %0 : tensor<1x72x3x3xf32>
}

// -----

// Rows of a transposed convolution's weights are inputs.
// CHECK-LABEL: @transposed
// CHECK{LITERAL}: dense<[[[[1.000000e+00]], [[2.000000e+00]], [[0.000000e+00]], [[0.000000e+00]]], [[[3.000000e+00]], [[4.000000e+00]], [[0.000000e+00]], [[0.000000e+00]]], [[[0.000000e+00]], [[0.000000e+00]], [[5.000000e+00]], [[6.000000e+00]]], [[[0.000000e+00]], [[0.000000e+00]], [[7.000000e+00]], [[8.000000e+00]]]]> : tensor<4x4x1x1xf32>
// CHECK: nn.conv_transpose {{.*}} : tensor<1x4x2x2xf32>, tensor<4x4x1x1xf32> -> tensor<1x4x2x2xf32>
func.func @transposed(%x: tensor<1x4x2x2xf32>) -> tensor<1x4x2x2xf32> {
  %w = nn.constant dense<[[[[1.0]], [[2.0]]], [[[3.0]], [[4.0]]], [[[5.0]], [[6.0]]], [[[7.0]], [[8.0]]]]> : tensor<4x2x1x1xf32>
  %0 = nn.conv_transpose %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] output_padding [0, 0] {groups = 2 : i64} : tensor<1x4x2x2xf32>, tensor<4x2x1x1xf32> -> tensor<1x4x2x2xf32>
  return %0 : tensor<1x4x2x2xf32>
}
