// RUN: nnv12-opt %s --fuse-residual | FileCheck %s

// The layer moves below the residual that is defined after it.
// CHECK-LABEL: @residual
// CHECK: %[[R:.*]] = nn.unary %{{.*}} <exp>
// CHECK-NEXT: %[[C:.*]] = nn.matmul %{{.*}}, %{{.*}} residual %[[R]] {activation = #nn.fn<relu>}
// CHECK-NEXT: return %[[C]]
func.func @residual(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>, %y: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = nn.matmul %x, %w {activation = #nn.fn<relu>} : tensor<4x2xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %1 = nn.unary %y <exp> : tensor<4x3xf32> -> tensor<4x3xf32>
  %2 = nn.binary add %1, %0 : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}

// Of two layers the later one adds.
// CHECK-LABEL: @later
// CHECK-SAME: (%[[X:.*]]: tensor<4x2xf32>, %[[V:.*]]: tensor<2x3xf32>, %[[W:.*]]: tensor<2x3xf32>)
// CHECK: %[[A:.*]] = nn.matmul %[[X]], %[[V]] :
// CHECK-NEXT: %[[B:.*]] = nn.matmul %[[X]], %[[W]] residual %[[A]]
// CHECK-NEXT: return %[[B]]
func.func @later(%x: tensor<4x2xf32>, %v: tensor<2x3xf32>, %w: tensor<2x3xf32>) -> tensor<4x3xf32> {
  %0 = nn.matmul %x, %v : tensor<4x2xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %1 = nn.matmul %x, %w : tensor<4x2xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %2 = nn.binary add %1, %0 : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  return %2 : tensor<4x3xf32>
}

// Broadcasting, another user, the sum with itself, a second residual.
// CHECK-LABEL: @refused
// CHECK-COUNT-4: nn.binary add
func.func @refused(%x: tensor<4x2xf32>, %w: tensor<2x3xf32>, %row: tensor<3xf32>, %r: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>) {
  %0 = nn.matmul %x, %w : tensor<4x2xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %1 = nn.binary add %0, %row : tensor<4x3xf32>, tensor<3xf32> -> tensor<4x3xf32>
  %2 = nn.matmul %x, %w : tensor<4x2xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %3 = nn.binary add %2, %r : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  %4 = nn.matmul %x, %w : tensor<4x2xf32>, tensor<2x3xf32> -> tensor<4x3xf32>
  %5 = nn.binary add %4, %4 : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  %6 = nn.matmul %x, %w residual %r : tensor<4x2xf32>, tensor<2x3xf32> residual tensor<4x3xf32> -> tensor<4x3xf32>
  %7 = nn.binary add %6, %r : tensor<4x3xf32>, tensor<4x3xf32> -> tensor<4x3xf32>
  return %1, %2, %3, %5, %7 : tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3xf32>
}
