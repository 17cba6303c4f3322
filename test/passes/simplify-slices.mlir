// RUN: nnv12-opt %s --simplify-slices | FileCheck %s

// CHECK-LABEL: @gather
// CHECK-SAME: (%[[X:.*]]: tensor<4x3xf32>)
// CHECK-DAG: %[[A:.*]] = nn.slice %[[X]] starts [0, 2] sizes [4, 1] steps [1, 1]
// CHECK-DAG: nn.reshape %[[A]] : tensor<4x1xf32> -> tensor<4xf32>
// CHECK-DAG: nn.slice %[[X]] starts [3, 0] sizes [2, 3] steps [-2, 1]
func.func @gather(%x: tensor<4x3xf32>) -> (tensor<4xf32>, tensor<2x3xf32>) {
  %last = nn.constant dense<-1> : tensor<i64>
  %down = nn.constant dense<[3, 1]> : tensor<2xi32>
  %0 = nn.gather %x, %last axis 1 : tensor<4x3xf32>, tensor<i64> -> tensor<4xf32>
  %1 = nn.gather %x, %down axis 0 : tensor<4x3xf32>, tensor<2xi32> -> tensor<2x3xf32>
  return %0, %1 : tensor<4xf32>, tensor<2x3xf32>
}

// CHECK-LABEL: @slice_of_concat
// CHECK-SAME: (%[[A:.*]]: tensor<2xf32>, %[[B:.*]]: tensor<3xf32>, %[[C:.*]]: tensor<4xf32>)
// CHECK-DAG: %[[S:.*]] = nn.slice %[[B]] starts [2] sizes [2] steps [-2]
// CHECK-DAG: %[[D:.*]] = nn.concat %[[A]], %[[B]] axis 0
// CHECK: return %[[S]], %[[D]], %[[C]]
func.func @slice_of_concat(%a: tensor<2xf32>, %b: tensor<3xf32>, %c: tensor<4xf32>) -> (tensor<2xf32>, tensor<5xf32>, tensor<4xf32>) {
  %0 = nn.concat %a, %b, %c axis 0 : tensor<2xf32>, tensor<3xf32>, tensor<4xf32> -> tensor<9xf32>
  %1 = nn.slice %0 starts [4] sizes [2] steps [-2] : tensor<9xf32> -> tensor<2xf32>
  %2 = nn.slice %0 starts [0] sizes [5] steps [1] : tensor<9xf32> -> tensor<5xf32>
  %3 = nn.slice %0 starts [5] sizes [4] steps [1] : tensor<9xf32> -> tensor<4xf32>
  return %1, %2, %3 : tensor<2xf32>, tensor<5xf32>, tensor<4xf32>
}

// CHECK-LABEL: @concat
// CHECK-SAME: (%[[A:.*]]: tensor<2xf32>, %[[B:.*]]: tensor<5xf32>)
// CHECK-NEXT: %[[S:.*]] = nn.slice %[[B]] starts [1] sizes [4] steps [1]
// CHECK-NEXT: %[[C:.*]] = nn.concat %[[A]], %[[A]], %[[S]] axis 0
// CHECK-NEXT: return %[[C]]
func.func @concat(%a: tensor<2xf32>, %b: tensor<5xf32>) -> tensor<8xf32> {
  %0 = nn.slice %b starts [1] sizes [1] steps [1] : tensor<5xf32> -> tensor<1xf32>
  %1 = nn.slice %b starts [2] sizes [3] steps [1] : tensor<5xf32> -> tensor<3xf32>
  %2 = nn.concat %0, %1 axis 0 : tensor<1xf32>, tensor<3xf32> -> tensor<4xf32>
  %3 = nn.concat %a, %2 axis 0 : tensor<2xf32>, tensor<4xf32> -> tensor<6xf32>
  %4 = nn.concat %a, %3 axis 0 : tensor<2xf32>, tensor<6xf32> -> tensor<8xf32>
  return %4 : tensor<8xf32>
}

// CHECK-LABEL: @identities
// CHECK-SAME: (%[[X:[^:]*]]: tensor
// CHECK-NEXT: return %[[X]]
func.func @identities(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %0 = nn.resize linear %x scales [1.0, 1.0, 1.0, 1.0] coordinates half_pixel nearest floor : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %1 = nn.pool average %0 kernel [1, 1] strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  return %1 : tensor<1x2x4x4xf32>
}

// Unevenly spaced; a slice that cuts two operands; concats that others see.
// CHECK-LABEL: @refused
// CHECK-DAG: nn.gather
// CHECK-DAG: nn.slice
// CHECK-DAG: %[[C:.*]] = nn.concat %arg1, %arg0
// CHECK-DAG: nn.concat %[[C]], %arg0
func.func @refused(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) -> (tensor<3x3xf32>, tensor<4x3xf32>, tensor<8x3xf32>, tensor<12x3xf32>) {
  %uneven = nn.constant dense<[0, 1, 3]> : tensor<3xi64>
  %0 = nn.gather %x, %uneven axis 0 : tensor<4x3xf32>, tensor<3xi64> -> tensor<3x3xf32>
  %1 = nn.concat %y, %x axis 0 : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<8x3xf32>
  %2 = nn.slice %1 starts [2, 0] sizes [4, 3] steps [1, 1] : tensor<8x3xf32> -> tensor<4x3xf32>
  %3 = nn.concat %1, %x axis 0 : tensor<8x3xf32>, tensor<4x3xf32> -> tensor<12x3xf32>
  return %0, %2, %1, %3 : tensor<3x3xf32>, tensor<4x3xf32>, tensor<8x3xf32>, tensor<12x3xf32>
}
