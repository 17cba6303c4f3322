// RUN: nnv12-opt %s --fuse-pad | FileCheck %s

// CHECK-LABEL: @conv
// CHECK-SAME: (%[[X:[^:]*]]: tensor
// CHECK: %[[C:.*]] = nn.conv %[[X]], {{.*}} pads [1, 3], [3, 2]
// CHECK-NEXT: return %[[C]]
func.func @conv(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x3x3xf32>) -> tensor<1x2x6x7xf32> {
  %0 = nn.pad constant %x low [0, 0, 0, 2] high [0, 0, 2, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x6x7xf32>
  %1 = nn.conv %0, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x2x6x7xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x6x7xf32>
  return %1 : tensor<1x2x6x7xf32>
}

// Zeros beside numbers that are zero or more, and -inf beside any.
// CHECK-LABEL: @max_pool
// CHECK-NOT: nn.pad
// CHECK: return
func.func @max_pool(%x: tensor<1x2x4x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) {
  %inf = nn.constant dense<0xFF800000> : tensor<f32>
  %0 = nn.unary %x <relu> : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %1 = nn.pad constant %0 low [0, 0, 0, 0] high [0, 0, 1, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x5x5xf32>
  %2 = nn.pool max %1 kernel [3, 3] strides [2, 2] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x5x5xf32> -> tensor<1x2x2x2xf32>
  %3 = nn.pad constant %x value %inf low [0, 0, 0, 0] high [0, 0, 1, 1] : tensor<1x2x4x4xf32>, tensor<f32> -> tensor<1x2x5x5xf32>
  %4 = nn.pool max %3 kernel [3, 3] strides [2, 2] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x5x5xf32> -> tensor<1x2x2x2xf32>
  return %2, %4 : tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>
}

// CHECK-LABEL: @average_pool
// CHECK: nn.pool average %{{.*}} pads [1, 1], [1, 1] {count_include_pad = true, counted_pads_high = array<i64: 1, 1>}
func.func @average_pool(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %0 = nn.pad constant %x low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x6x6xf32>
  %1 = nn.pool average %0 kernel [3, 3] strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x6x6xf32> -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// Padding of another value, of channels, by reflection; zeros that a max pool
// would see; an average that must not count its own padding.
// CHECK-LABEL: @refused
// CHECK-COUNT-5: nn.pad
func.func @refused(%x: tensor<1x2x4x4xf32>, %w: tensor<2x2x3x3xf32>, %v: tensor<2x3x3x3xf32>) -> (tensor<1x2x3x3xf32>, tensor<1x2x2x2xf32>, tensor<1x2x3x3xf32>, tensor<1x2x2x2xf32>, tensor<1x2x5x5xf32>) {
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.pad constant %x value %one low [0, 0, 0, 0] high [0, 0, 1, 1] : tensor<1x2x4x4xf32>, tensor<f32> -> tensor<1x2x5x5xf32>
  %1 = nn.conv %0, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x5x5xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x3x3xf32>
  %2 = nn.pad constant %x low [0, 1, 0, 0] high [0, 0, 0, 0] : tensor<1x2x4x4xf32> -> tensor<1x3x4x4xf32>
  %3 = nn.conv %2, %v strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x3x4x4xf32>, tensor<2x3x3x3xf32> -> tensor<1x2x2x2xf32>
  %4 = nn.pad reflect %x low [0, 0, 0, 0] high [0, 0, 1, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x5x5xf32>
  %5 = nn.conv %4, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x5x5xf32>, tensor<2x2x3x3xf32> -> tensor<1x2x3x3xf32>
  %6 = nn.pad constant %x low [0, 0, 0, 0] high [0, 0, 1, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x5x5xf32>
  %7 = nn.pool max %6 kernel [3, 3] strides [2, 2] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x5x5xf32> -> tensor<1x2x2x2xf32>
  %8 = nn.pool average %6 kernel [3, 3] strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x2x5x5xf32> -> tensor<1x2x5x5xf32>
  %9 = nn.pad constant %x low [0, 0, 0, 0] high [0, 0, 1, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x5x5xf32>
  %10 = nn.pool average %9 kernel [3, 3] strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x2x5x5xf32> -> tensor<1x2x5x5xf32>
  return %1, %3, %5, %7, %10 : tensor<1x2x3x3xf32>, tensor<1x2x2x2xf32>, tensor<1x2x3x3xf32>, tensor<1x2x2x2xf32>, tensor<1x2x5x5xf32>
}

// A clip whose bounds cross gives the upper one, here below zero; without elements
// only the padding is in a window.
// CHECK-LABEL: @max_pool_refused
// CHECK-COUNT-2: nn.pad
func.func @max_pool_refused(%x: tensor<1x2x4x4xf32>, %e: tensor<1x2x0x4xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x1x5xf32>) {
  %0 = nn.unary %x <clip [0.0, -1.0]> : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %1 = nn.pad constant %0 low [0, 0, 0, 0] high [0, 0, 1, 1] : tensor<1x2x4x4xf32> -> tensor<1x2x5x5xf32>
  %2 = nn.pool max %1 kernel [3, 3] strides [2, 2] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x5x5xf32> -> tensor<1x2x2x2xf32>
  %3 = nn.unary %e <relu> : tensor<1x2x0x4xf32> -> tensor<1x2x0x4xf32>
  %4 = nn.pad constant %3 low [0, 0, 1, 1] high [0, 0, 1, 1] : tensor<1x2x0x4xf32> -> tensor<1x2x2x6xf32>
  %5 = nn.pool max %4 kernel [2, 2] strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x2x6xf32> -> tensor<1x2x1x5xf32>
  return %2, %5 : tensor<1x2x2x2xf32>, tensor<1x2x1x5xf32>
}

// Bytes are padded with any number, with the one that the layer pads with
// already, if it does.
// CHECK-LABEL: @bytes
// CHECK: nn.qconv %{{[^ ]*}}, %{{[^ ]*}} padding %{{.*}} pads [1, 1], [2, 1] : tensor<1x2x4x4xui8>
// CHECK: %[[P:.*]] = nn.pad
// CHECK: nn.qconv %[[P]]
func.func @bytes(%x: tensor<1x2x4x4xui8>, %w: tensor<2x2x3x3xi8>) -> (tensor<1x2x5x4xi32>, tensor<1x2x5x4xi32>) {
  %z = nn.constant dense<7> : tensor<ui8>
  %o = nn.constant dense<8> : tensor<ui8>
  %0 = nn.pad constant %x value %z low [0, 0, 0, 0] high [0, 0, 1, 0] : tensor<1x2x4x4xui8>, tensor<ui8> -> tensor<1x2x5x4xui8>
  %1 = nn.qconv %0, %w padding %z strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x2x5x4xui8>, tensor<2x2x3x3xi8> padding tensor<ui8> -> tensor<1x2x5x4xi32>
  %2 = nn.pad constant %x value %o low [0, 0, 0, 0] high [0, 0, 1, 0] : tensor<1x2x4x4xui8>, tensor<ui8> -> tensor<1x2x5x4xui8>
  %3 = nn.qconv %2, %w padding %z strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x2x5x4xui8>, tensor<2x2x3x3xi8> padding tensor<ui8> -> tensor<1x2x5x4xi32>
  return %1, %3 : tensor<1x2x5x4xi32>, tensor<1x2x5x4xi32>
}
