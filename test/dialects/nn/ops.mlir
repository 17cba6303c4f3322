// RUN: nnv12-opt %s | nnv12-opt | FileCheck %s
// Every layer in its written form, read, written and read again.

// CHECK-LABEL: func @constants
func.func @constants() -> (tensor<2xf32>, tensor<2x3xi1>, tensor<1x16x1x1xf32, #nn.layout<"aBcd16b">>) {
  // CHECK: nn.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %0 = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: nn.constant dense<true> : tensor<2x3xi1>
  %1 = nn.constant dense<true> : tensor<2x3xi1>
  // CHECK: nn.constant {{.*}} #nn.layout<"aBcd16b">>
  %2 = nn.constant dense<0.5> : tensor<1x16x1x1xf32> -> tensor<1x16x1x1xf32, #nn.layout<"aBcd16b">>
  return %0, %1, %2 : tensor<2xf32>, tensor<2x3xi1>, tensor<1x16x1x1xf32, #nn.layout<"aBcd16b">>
}

// CHECK-LABEL: func @elementwise
func.func @elementwise(%x: tensor<2x3xf32>, %y: tensor<3xf32>, %c: tensor<2x1xi1>) -> tensor<2x3xi8> {
  // CHECK: nn.unary %{{.*}} <leaky_relu [1.000000e-01]>
  %0 = nn.unary %x <leaky_relu [0.1]> : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK: nn.binary {{ ?}}sub %{{.*}}, %{{.*}} : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  %1 = nn.binary sub %0, %y : tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  // CHECK: nn.select
  %2 = nn.select %c, %1, %y : tensor<2x1xi1>, tensor<2x3xf32>, tensor<3xf32> -> tensor<2x3xf32>
  // CHECK: nn.cast %{{.*}} : tensor<2x3xf32> -> tensor<2x3xi8>
  %3 = nn.cast %2 : tensor<2x3xf32> -> tensor<2x3xi8>
  // CHECK: nn.bitcast %{{.*}} : tensor<2x3xi8> -> tensor<2x3xui8>
  %4 = nn.bitcast %3 : tensor<2x3xi8> -> tensor<2x3xui8>
  %5 = nn.bitcast %4 : tensor<2x3xui8> -> tensor<2x3xi8>
  return %5 : tensor<2x3xi8>
}

// CHECK-LABEL: func @small
func.func @small(%x: tensor<2xf32>) -> (tensor<2xf8E5M2>, tensor<2xf8E8M0FNU>, tensor<2xi4>, tensor<3xui2>, tensor<2xf4E2M1FN>) {
  // CHECK: nn.cast %{{.*}} {saturate = false} : tensor<2xf32> -> tensor<2xf8E5M2>
  %0 = nn.cast %x {saturate = false} : tensor<2xf32> -> tensor<2xf8E5M2>
  // CHECK: nn.cast %{{.*}} {rounding = #nn<rounding up>} : tensor<2xf32> -> tensor<2xf8E8M0FNU>
  %1 = nn.cast %x {saturate = true, rounding = #nn<rounding up>} : tensor<2xf32> -> tensor<2xf8E8M0FNU>
  // CHECK: nn.constant dense<[-8, 7]> : tensor<2xi4>
  %2 = nn.constant dense<[-8, 7]> : tensor<2xi4>
  // CHECK: nn.constant dense<[3, 0, 1]> : tensor<3xui2>
  %3 = nn.constant dense<[3, 0, 1]> : tensor<3xui2>
  // CHECK: nn.constant dense<[-6.000000e+00, 5.000000e-01]> : tensor<2xf4E2M1FN>
  %4 = nn.constant dense<[-6.0, 0.5]> : tensor<2xf4E2M1FN>
  return %0, %1, %2, %3, %4 : tensor<2xf8E5M2>, tensor<2xf8E8M0FNU>, tensor<2xi4>, tensor<3xui2>, tensor<2xf4E2M1FN>
}

// CHECK-LABEL: func @movement
func.func @movement(%x: tensor<2x3x4xf32>, %i: tensor<2xi64>, %v: tensor<f32>) -> tensor<2x9x4xf32> {
  // CHECK: nn.adapt {{.*}} -> tensor<2x3x4xf32, #nn.layout<"aBc16b">>
  %a = nn.adapt %x : tensor<2x3x4xf32> -> tensor<2x3x4xf32, #nn.layout<"aBc16b">>
  // CHECK: nn.transpose %{{.*}} [2, 0, 1]
  %t = nn.transpose %a [2, 0, 1] : tensor<2x3x4xf32, #nn.layout<"aBc16b">> -> tensor<4x2x3xf32>
  // CHECK: nn.reshape
  %r = nn.reshape %t : tensor<4x2x3xf32> -> tensor<2x3x4xf32>
  // CHECK: nn.slice %{{.*}} starts [1, 2, 0] sizes [1, 3, 4] steps [1, -1, 1]
  %s = nn.slice %r starts [1, 2, 0] sizes [1, 3, 4] steps [1, -1, 1] : tensor<2x3x4xf32> -> tensor<1x3x4xf32>
  // CHECK: nn.broadcast
  %b = nn.broadcast %s : tensor<1x3x4xf32> -> tensor<2x3x4xf32>
  // CHECK: nn.concat %{{.*}}, %{{.*}} axis 1
  %c = nn.concat %b, %r axis 1 : tensor<2x3x4xf32>, tensor<2x3x4xf32> -> tensor<2x6x4xf32>
  // CHECK: nn.pad {{ ?}}constant %{{.*}} value %{{.*}} low [0, 1, 0] high [0, 2, 0]
  %p = nn.pad constant %c value %v low [0, 1, 0] high [0, 2, 0] : tensor<2x6x4xf32>, tensor<f32> -> tensor<2x9x4xf32>
  // CHECK: nn.gather %{{.*}}, %{{.*}} axis 0
  %g = nn.gather %p, %i axis 0 : tensor<2x9x4xf32>, tensor<2xi64> -> tensor<2x9x4xf32>
  return %g : tensor<2x9x4xf32>
}

// CHECK-LABEL: func @indexed
func.func @indexed(%x: tensor<3x4xf32>, %i: tensor<2x4xi64>, %u: tensor<2x4xf32>, %n: tensor<2x1xi64>, %l: tensor<4xi32>)
    -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) {
  // CHECK: nn.gather_elements
  %0 = nn.gather_elements %x, %i axis 0 : tensor<3x4xf32>, tensor<2x4xi64> -> tensor<2x4xf32>
  // CHECK: nn.gather_nd
  %1 = nn.gather_nd %x, %n : tensor<3x4xf32>, tensor<2x1xi64> -> tensor<2x4xf32>
  // CHECK: nn.scatter_elements {{ ?}}add
  %2 = nn.scatter_elements add %x, %i, %u axis 0 : tensor<3x4xf32>, tensor<2x4xi64>, tensor<2x4xf32> -> tensor<3x4xf32>
  // CHECK: nn.scatter_nd {{ ?}}none
  %3 = nn.scatter_nd none %x, %n, %u : tensor<3x4xf32>, tensor<2x1xi64>, tensor<2x4xf32> -> tensor<3x4xf32>
  // CHECK: nn.reverse_sequence
  %4 = nn.reverse_sequence %x, %l batch 1 time 0 : tensor<3x4xf32>, tensor<4xi32> -> tensor<3x4xf32>
  return %0, %1, %2, %3, %4 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>
}

// CHECK-LABEL: func @axes
func.func @axes(%x: tensor<3x4xf32>) -> (tensor<3x1xf32>, tensor<3xi64>, tensor<3x4xf32>, tensor<3x2xf32>, tensor<3x2xi64>, tensor<3x4xf32>, tensor<3x4xf32>) {
  // CHECK: nn.reduce {{ ?}}mean %{{.*}} axes [1] keep_dims true
  %0 = nn.reduce mean %x axes [1] keep_dims true : tensor<3x4xf32> -> tensor<3x1xf32>
  // CHECK: nn.arg_reduce {{ ?}}max
  %1 = nn.arg_reduce max %x axis 1 keep_dims false select_last true : tensor<3x4xf32> -> tensor<3xi64>
  // CHECK: nn.cumsum
  %2 = nn.cumsum %x axis 1 exclusive false reverse true : tensor<3x4xf32> -> tensor<3x4xf32>
  // CHECK: nn.cumsum %{{.*}} axis 0 exclusive true reverse false {product = true}
  %7 = nn.cumsum %2 axis 0 exclusive true reverse false {product = true} : tensor<3x4xf32> -> tensor<3x4xf32>
  // CHECK: nn.topk
  %3, %4 = nn.topk %x k 2 axis 1 largest true : tensor<3x4xf32> -> tensor<3x2xf32>, tensor<3x2xi64>
  // CHECK: nn.softmax
  %5 = nn.softmax %x axis 1 {log = true} : tensor<3x4xf32> -> tensor<3x4xf32>
  // CHECK: nn.normalize
  %6 = nn.normalize %x axis 1 epsilon 1.0e-5 : tensor<3x4xf32> -> tensor<3x4xf32>
  return %0, %1, %7, %3, %4, %5, %6 : tensor<3x1xf32>, tensor<3xi64>, tensor<3x4xf32>, tensor<3x2xf32>, tensor<3x2xi64>, tensor<3x4xf32>, tensor<3x4xf32>
}

// CHECK-LABEL: func @linear
func.func @linear(%x: tensor<1x4x8x8xf32>, %w: tensor<4x4x3x3xf32>, %b: tensor<4xf32>, %m: tensor<8x5xf32>) -> tensor<1x4x16x5xf32> {
  // CHECK: nn.conv %{{.*}}, %{{.*}} bias %{{.*}} residual %{{.*}} strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {activation = #nn.fn<relu>}
  %0 = nn.conv %x, %w bias %b residual %x strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {activation = #nn.fn<relu>}
    : tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32> bias tensor<4xf32> residual tensor<1x4x8x8xf32> -> tensor<1x4x8x8xf32>
  // CHECK: nn.conv_transpose
  %1 = nn.conv_transpose %0, %w strides [2, 2] dilations [1, 1] pads [1, 1], [1, 1] output_padding [1, 1]
    : tensor<1x4x8x8xf32>, tensor<4x4x3x3xf32> -> tensor<1x4x16x16xf32>
  // CHECK: nn.pool {{ ?}}max %{{.*}} kernel [1, 2] strides [1, 2]
  %2 = nn.pool max %1 kernel [1, 2] strides [1, 2] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x4x16x16xf32> -> tensor<1x4x16x8xf32>
  // CHECK: nn.matmul
  %3 = nn.matmul %2, %m : tensor<1x4x16x8xf32>, tensor<8x5xf32> -> tensor<1x4x16x5xf32>
  return %3 : tensor<1x4x16x5xf32>
}

// CHECK-LABEL: func @sampling
func.func @sampling(%x: tensor<1x2x4x4xf32>, %g: tensor<1x3x3x2xf32>, %r: tensor<2x4xf32>, %i: tensor<2xi64>) -> (tensor<1x2x3x3xf32>, tensor<2x2x2x2xf32>, tensor<1x2x2x2xi64>) {
  // CHECK: nn.resize {{ ?}}linear
  %0 = nn.resize linear %x scales [1.0, 1.0, 2.0, 2.0] coordinates half_pixel nearest floor : tensor<1x2x4x4xf32> -> tensor<1x2x8x8xf32>
  // CHECK: nn.grid_sample {{ ?}}linear
  %1 = nn.grid_sample linear %0, %g padding "border" align_corners false : tensor<1x2x8x8xf32>, tensor<1x3x3x2xf32> -> tensor<1x2x3x3xf32>
  // CHECK: nn.roi_align {{ ?}}average
  %2 = nn.roi_align average %x, %r, %i {output_height = 2 : i64, output_width = 2 : i64, sampling_ratio = 1 : i64, spatial_scale = 1.0 : f64, half_pixel = true} : tensor<1x2x4x4xf32>, tensor<2x4xf32>, tensor<2xi64> -> tensor<2x2x2x2xf32>
  // CHECK: nn.max_pool_indices
  %3 = nn.max_pool_indices %x kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x2x2xi64>
  return %1, %2, %3 : tensor<1x2x3x3xf32>, tensor<2x2x2x2xf32>, tensor<1x2x2x2xi64>
}

// CHECK-LABEL: func @recurrent
func.func @recurrent(%gates: tensor<5x2x12xf32>, %r: tensor<12x3xf32>, %h: tensor<2x3xf32>) -> tensor<5x2x3xf32> {
  // CHECK: "nn.recurrent"
  %0:3 = "nn.recurrent"(%gates, %r, %h, %h) {kind = #nn<recurrent_kind lstm>, activations = [#nn.fn<sigmoid>, #nn.fn<tanh>, #nn.fn<tanh>], reverse = false, operandSegmentSizes = array<i32: 1, 1, 0, 1, 1, 0, 0>}
    : (tensor<5x2x12xf32>, tensor<12x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return %0#0 : tensor<5x2x3xf32>
}

// CHECK-LABEL: func @fuse
func.func @fuse(%x: tensor<2x3xf32>, %y: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: nn.fuse (%[[A:.*]] = %arg0, %[[B:.*]] = %arg1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {
  // CHECK: nn.yield
  %0 = nn.fuse (%a = %x, %b = %y) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32> {
    %1 = nn.binary add %a, %b : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
    nn.yield %1 : tensor<2x3xf32>
  }
  return %0 : tensor<2x3xf32>
}
