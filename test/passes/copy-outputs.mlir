// RUN: nnv12-opt %s --copy-outputs | FileCheck %s

// A result that a layer computes is written right where the caller wants it.
// CHECK-LABEL: @direct
// CHECK: %[[Y:.*]] = nn.unary %{{.*}} <exp>
// CHECK-NEXT: return %[[Y]]
func.func @direct(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.unary %x <exp> : tensor<4xf32> -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// An argument, a constant, what is returned already.
// CHECK-LABEL: @copied
// CHECK: %[[C:.*]] = nn.constant
// CHECK: %[[Y:.*]] = nn.unary %[[X:.*]] <exp>
// CHECK: %[[A:.*]] = nn.unary %[[X]] <identity>
// CHECK: %[[B:.*]] = nn.unary %[[C]] <identity>
// CHECK: %[[D:.*]] = nn.unary %[[Y]] <identity>
// CHECK: return %[[A]], %[[B]], %[[Y]], %[[D]]
func.func @copied(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c = nn.constant dense<1.0> : tensor<4xf32>
  %0 = nn.unary %x <exp> : tensor<4xf32> -> tensor<4xf32>
  return %x, %c, %0, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// A part of another tensor; its whole, seen with another shape, is no part.
// CHECK-LABEL: @views
// CHECK: %[[S:.*]] = nn.slice
// CHECK: %[[R:.*]] = nn.reshape
// CHECK: %[[A:.*]] = nn.unary %[[S]] <identity>
// CHECK: return %[[A]], %[[R]]
func.func @views(%x: tensor<4x2xf32>) -> (tensor<1x2xf32>, tensor<8xf32>) {
  %0 = nn.unary %x <exp> : tensor<4x2xf32> -> tensor<4x2xf32>
  %1 = nn.unary %x <tanh> : tensor<4x2xf32> -> tensor<4x2xf32>
  %2 = nn.slice %0 starts [1, 0] sizes [1, 2] steps [1, 1] : tensor<4x2xf32> -> tensor<1x2xf32>
  %3 = nn.reshape %1 : tensor<4x2xf32> -> tensor<8xf32>
  return %2, %3 : tensor<1x2xf32>, tensor<8xf32>
}
