// RUN: nnv12-opt %s --nn-layout --select-layouts="target=x86-64-v4 threads=1" | FileCheck %s
// RUN: nnv12-opt %s --nn-layout | FileCheck %s --check-prefix=FIRST
// RUN: nnv12-opt %s --nn-layout --select-layouts="target=x86-64-v4 solver=first" > %t.first
// RUN: nnv12-opt %s --nn-layout | diff %t.first -
// RUN: nnv12-opt %s --nn-layout --select-layouts="target=x86-64-v4 solver=greedy" | FileCheck %s --check-prefix=GREEDY
// RUN: nnv12-opt %s --nn-layout --select-layouts="target=x86-64-v4 solver=uniform" | FileCheck %s --check-prefix=UNIFORM
// RUN: nnv12-opt %s --nn-layout --select-layouts="target=x86-64-v4 solver=random seed=1" > %t.random
// RUN: nnv12-opt %s --nn-layout --select-layouts="target=x86-64-v4 solver=random seed=1" | diff %t.random -
// RUN: not nnv12-opt %s --nn-layout --select-layouts=target=z80 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not nnv12-opt %s --nn-layout --select-layouts="profile=%t.none.json" 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not nnv12-opt %s --nn-layout --select-layouts=solver=best 2>&1 | FileCheck %s --check-prefix=SOLVER

// TARGET: target: found 'z80', expected
// FILE: none.json: 
// SOLVER: best

// What is read in two ways is made in one and adapted by a layer of its own
// where the first routine decides: blocks, as the convolution makes them. The
// net makes the first result dense, and needs no adapt.
// FIRST: nn.unary {{.*}} <sin> : tensor<1x16x64x64xf32, #nn.layout<"aBcd16b">> -> tensor<1x16x64x64xf32, #nn.layout<"aBcd16b">>
// FIRST: nn.adapt
// CHECK: nn.conv {{.*}} -> tensor<1x16x64x64xf32, #nn.layout<"aBcd16b">>
// CHECK-NEXT: %[[T:.*]] = nn.unary {{.*}} <sin> : tensor<1x16x64x64xf32, #nn.layout<"aBcd16b">> -> tensor<1x16x64x64xf32>
// CHECK-NOT: nn.adapt
// CHECK: return
// Greedily the first reader finds what costs nothing.
// GREEDY: nn.unary {{.*}} <sin> : tensor<1x16x64x64xf32, #nn.layout<"aBcd16b">> -> tensor<1x16x64x64xf32, #nn.layout<"aBcd16b">>
// GREEDY: nn.adapt
// One layout for all but the convolution is dense.
// UNIFORM: nn.conv
// UNIFORM-NEXT: nn.adapt
// UNIFORM-NEXT: nn.unary {{.*}} <sin> : tensor<1x16x64x64xf32> -> tensor<1x16x64x64xf32>
// UNIFORM-NOT: nn.adapt
// UNIFORM: return
func.func @main(%x: tensor<1x16x64x64xf32>) -> (tensor<1x16x64x64xf32>, tensor<1x16x64x64xf32>) {
  %w = nn.constant dense<0.5> : tensor<16x16x1x1xf32>
  %y = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x16x64x64xf32>, tensor<16x16x1x1xf32> -> tensor<1x16x64x64xf32>
  %t = nn.unary %y <sin> : tensor<1x16x64x64xf32> -> tensor<1x16x64x64xf32>
  %u = nn.unary %t <cos> : tensor<1x16x64x64xf32> -> tensor<1x16x64x64xf32>
  return %t, %u : tensor<1x16x64x64xf32>, tensor<1x16x64x64xf32>
}
