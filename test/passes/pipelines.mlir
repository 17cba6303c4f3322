// The pipelines one after another are the way that nnv12c goes: the plan is the
// same.
// RUN: nnv12-opt %s --nn-simplify --nn-layout --plan-model="target=x86-64-v4 threads=1" -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: nnv12c %s --emit plan --target x86-64-v4 --threads 1 -o - | diff -B %t.mlir -

// CHECK: func.func @main
// CHECK: nn.conv {{.*}}activation = #nn.fn<relu>
// CHECK: plan.program "x86-64-v4" threads(1)
// CHECK: plan.read
// CHECK: plan.execute
// CHECK: plan.lane execute
func.func @main(%x: tensor<1x32x8x8xf32> {nn.name = "x"}) -> (tensor<1x32x8x8xf32> {nn.name = "y"}) {
  %w = nn.constant dense<1.0> : tensor<32x32x1x1xf32>
  %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x32x8x8xf32>, tensor<32x32x1x1xf32> -> tensor<1x32x8x8xf32>
  %1 = nn.unary %0 <relu> : tensor<1x32x8x8xf32> -> tensor<1x32x8x8xf32>
  return %1 : tensor<1x32x8x8xf32>
}
