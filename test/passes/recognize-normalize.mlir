// RUN: nnv12-opt %s --recognize-normalize | FileCheck %s

// CHECK-LABEL: @layer_norm
// CHECK-SAME: (%[[X:[^:]*]]: tensor
// CHECK: %[[N:.*]] = nn.normalize %[[X]] axis 1 epsilon 1.000000e-05
// CHECK-NEXT: return %[[N]]
func.func @layer_norm(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = nn.reduce mean %x axes [1, 2] keep_dims true : tensor<2x3x4xf32> -> tensor<2x1x1xf32>
  %1 = nn.binary sub %x, %0 : tensor<2x3x4xf32>, tensor<2x1x1xf32> -> tensor<2x3x4xf32>
  %2 = nn.binary mul %1, %1 : tensor<2x3x4xf32>, tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  %3 = nn.reduce mean %2 axes [2, 1] keep_dims true : tensor<2x3x4xf32> -> tensor<2x1x1xf32>
  %4 = nn.unary %3 <affine [1.0, 1.0e-5]> : tensor<2x1x1xf32> -> tensor<2x1x1xf32>
  %5 = nn.unary %4 <sqrt> : tensor<2x1x1xf32> -> tensor<2x1x1xf32>
  %6 = nn.binary div %1, %5 : tensor<2x3x4xf32>, tensor<2x1x1xf32> -> tensor<2x3x4xf32>
  return %6 : tensor<2x3x4xf32>
}

// CHECK-LABEL: @reciprocal_root
// CHECK: nn.normalize
func.func @reciprocal_root(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = nn.reduce mean %x axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
  %1 = nn.binary sub %x, %0 : tensor<2x4xf32>, tensor<2x1xf32> -> tensor<2x4xf32>
  %2 = nn.binary mul %1, %1 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
  %3 = nn.reduce mean %2 axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
  %4 = nn.unary %3 <affine [1.0, 1.0e-5]> : tensor<2x1xf32> -> tensor<2x1xf32>
  %5 = nn.unary %4 <sqrt> : tensor<2x1xf32> -> tensor<2x1xf32>
  %6 = nn.unary %5 <reciprocal> : tensor<2x1xf32> -> tensor<2x1xf32>
  %7 = nn.binary mul %6, %1 : tensor<2x1xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
  return %7 : tensor<2x4xf32>
}

// Over leading dimensions; a sum of squares; the variance of something else.
// CHECK-LABEL: @refused
// CHECK-NOT: nn.normalize
func.func @refused(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = nn.reduce mean %x axes [0] keep_dims true : tensor<2x4xf32> -> tensor<1x4xf32>
  %1 = nn.binary sub %x, %0 : tensor<2x4xf32>, tensor<1x4xf32> -> tensor<2x4xf32>
  %2 = nn.binary mul %1, %1 : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
  %3 = nn.reduce mean %2 axes [0] keep_dims true : tensor<2x4xf32> -> tensor<1x4xf32>
  %4 = nn.unary %3 <sqrt> : tensor<1x4xf32> -> tensor<1x4xf32>
  %5 = nn.binary div %1, %4 : tensor<2x4xf32>, tensor<1x4xf32> -> tensor<2x4xf32>
  %6 = nn.reduce mean %x axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
  %7 = nn.binary sub %x, %6 : tensor<2x4xf32>, tensor<2x1xf32> -> tensor<2x4xf32>
  %8 = nn.binary mul %y, %y : tensor<2x4xf32>, tensor<2x4xf32> -> tensor<2x4xf32>
  %9 = nn.reduce mean %8 axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
  %10 = nn.unary %9 <sqrt> : tensor<2x1xf32> -> tensor<2x1xf32>
  %11 = nn.binary div %7, %10 : tensor<2x4xf32>, tensor<2x1xf32> -> tensor<2x4xf32>
  return %5, %11 : tensor<2x4xf32>, tensor<2x4xf32>
}
