// RUN: nnv12-opt %s --fuse-elementwise | FileCheck %s
// RUN: nnv12-opt %s --fuse-elementwise=max-layers=2 | FileCheck %s --check-prefix=TWO

// A chain is one kernel; a splat constant is an immediate of it.
// CHECK-LABEL: func @chain
// CHECK: %[[F:.*]] = nn.fuse (%[[A:.*]] = %arg0, %[[B:.*]] = %arg1)
// CHECK-DAG: %[[C:.*]] = nn.constant
// CHECK-DAG: %[[E:.*]] = nn.unary %[[A]]
// CHECK: %[[M:.*]] = nn.binary mul %[[E]], %[[C]]
// CHECK: %[[S:.*]] = nn.binary add %[[M]], %[[B]]
// CHECK: nn.yield %[[S]]
// CHECK: return %[[F]]
// TWO-LABEL: func @chain
// TWO: nn.unary
// TWO: nn.fuse
func.func @chain(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %c = nn.constant dense<2.0> : tensor<f32>
  %e = nn.unary %x <exp> : tensor<4x8xf32> -> tensor<4x8xf32>
  %m = nn.binary mul %e, %c : tensor<4x8xf32>, tensor<f32> -> tensor<4x8xf32>
  %s = nn.binary add %m, %y : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}

// What is used twice is stored.
// CHECK-LABEL: func @shared
// CHECK: %[[E:.*]] = nn.unary %arg0
// CHECK: return %{{.*}}, %[[E]]
func.func @shared(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = nn.unary %x <exp> : tensor<4x8xf32> -> tensor<4x8xf32>
  %s = nn.binary add %e, %x : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %s, %e : tensor<4x8xf32>, tensor<4x8xf32>
}

// What is broadcast would be computed again for every element.
// CHECK-LABEL: func @broadcast
// CHECK: nn.unary %arg0
// CHECK-NEXT: nn.binary add
func.func @broadcast(%x: tensor<8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = nn.unary %x <exp> : tensor<8xf32> -> tensor<8xf32>
  %s = nn.binary add %e, %y : tensor<8xf32>, tensor<4x8xf32> -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}

// A dense reshape at the edge is a view and stays outside.
// CHECK-LABEL: func @view
// CHECK: %[[R:.*]] = nn.reshape %arg0
// CHECK: nn.fuse (%{{.*}} = %[[R]])
func.func @view(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %r = nn.reshape %x : tensor<4x8xf32> -> tensor<8x4xf32>
  %e = nn.unary %r <exp> : tensor<8x4xf32> -> tensor<8x4xf32>
  %s = nn.unary %e <neg> : tensor<8x4xf32> -> tensor<8x4xf32>
  return %s : tensor<8x4xf32>
}
