// RUN: split-file %s %t
// RUN: nnv12-opt %t/model.mlir --plan-weights="target=x86-64-v4 threads=2" --schedule | FileCheck %s
// RUN: nnv12-opt %t/model.mlir --plan-weights="target=x86-64-v4 threads=2" --schedule --schedule | FileCheck %s
// RUN: nnv12-opt %t/model.mlir --plan-weights="target=x86-64-v4 threads=2" --schedule=parts=K+C | FileCheck %s --check-prefix=ONE
// RUN: nnv12-opt %t/model.mlir --plan-weights="target=x86-64-v4 threads=2" --schedule=lanes=0 | FileCheck %s --check-prefix=ONE
// RUN: sed 's/nn.layer = 1 : i64/&, nn.place = array<i64: 1, 1>/; s/nn.layer = 2 : i64/&, nn.place = array<i64: 1, 0>/' %t/model.mlir | nnv12-opt --plan-weights="target=x86-64-v4 threads=2" --schedule | FileCheck %s --check-prefix=PLACED
// RUN: sed 's/nn.layer = 1 : i64/&, nn.place = array<i64: 0, 4294967295>/; s/nn.layer = 2 : i64/&, nn.place = array<i64: 0, 0>/' %t/model.mlir | nnv12-opt --plan-weights="target=x86-64-v4 threads=2" --schedule | FileCheck %s --check-prefix=FIRST
// RUN: nnv12-opt %t/refused.mlir --split-input-file --schedule --verify-diagnostics
// RUN: not nnv12-opt %t/model.mlir --plan-weights=target=x86-64-v4 --schedule=profile=%t/none.json 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: {{.*}}none.json: {{.*}}

//--- model.mlir
#b = #nn.layout<"aBcd16b">
#w = #nn.layout<"ABcd16b16a">
// The execute lane first, with all executes in order; predicted times; what only the
// switch waits for is in the background. Queues name their operations by value,
// which the verifier holds against the rules.
// CHECK: plan.program "x86-64-v4" threads(2) cold({{[1-9][0-9]*}}) warm({{[1-9][0-9]*}})
// One layer is compressed: libzstd is loaded before, and a lane has its thread started.
// CHECK: %[[E0:.*]] = plan.execute 0 {{.*}}end = {{[1-9][0-9]*}} : i64, start = {{[1-9][0-9]*}} : i64
// CHECK: %[[E1:.*]] = plan.execute 1
// CHECK: %[[E2:.*]] = plan.execute 2
// CHECK: %[[T2:.*]] = plan.transform 2
// CHECK-NOT: start
// CHECK: plan.switch 2
// CHECK: %[[E3:.*]] = plan.execute 3
// CHECK: plan.lane execute on any queue({{.*}}%[[E0]], {{.*}}%[[E1]], {{.*}}%[[E2]], {{.*}}%[[E3]])
// What the search gives to a preparation lane stays there, though an execute waits for it.
// CHECK: plan.lane prepare on any queue(%{{[^)]+}})
// CHECK: plan.lane prepare on any queue({{.*}}) background(%[[T2]])
// CHECK-NOT: plan.lane execute

// Where the layers say so, no search: the second convolution's weights before those of
// the first; or before all executes, and of the first where it needs them at the latest.
// PLACED: %[[R1:.*]] = plan.read 1
// PLACED: %[[T1:.*]] = plan.transform 1 form("winograd
// PLACED: %[[R2:.*]] = plan.read 2
// PLACED: plan.lane execute
// PLACED: plan.lane prepare on any queue(%[[R2]], %[[R1]], {{.*}}, %[[T1]])
// FIRST: %[[E0:.*]] = plan.execute 0
// FIRST: %[[R1:.*]] = plan.read 1
// FIRST: %[[T1:.*]] = plan.transform 1 form("winograd
// FIRST: %[[E1:.*]] = plan.execute 1
// FIRST: %[[R2:.*]] = plan.read 2
// FIRST: plan.lane execute on any queue(%[[R2]], %[[E0]], %[[R1]], {{.*}}, %[[T1]], %[[E1]], {{.*}})

// Without P, or without lanes, there is the execute lane alone.
// ONE: plan.lane execute on any queue({{.*}}) background(
// ONE-NOT: plan.lane
func.func @main(%x: tensor<1x64x32x32xf32>) -> tensor<1x64x32x32xf32> {
  %w1 = nn.constant dense<0.1> : tensor<64x64x3x3xf32> -> tensor<64x64x3x3xf32, #w>
  %w2 = nn.constant dense<0.2> : tensor<64x64x3x3xf32> -> tensor<64x64x3x3xf32, #w>
  %0 = nn.adapt %x {nn.layer = 0 : i64, nn.routine = "element"} : tensor<1x64x32x32xf32> -> tensor<1x64x32x32xf32, #b>
  %1 = nn.conv %0, %w1 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 1 : i64, nn.routine = "conv.winograd4.nChw16c", nn.storage = "raw+zstd"} : tensor<1x64x32x32xf32, #b>, tensor<64x64x3x3xf32, #w> -> tensor<1x64x32x32xf32, #b>
  %2 = nn.conv %1, %w2 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 2 : i64, nn.routine = "conv.direct.nChw16c", nn.storage = "packed", nn.warm_routine = "conv.winograd4.nChw16c"} : tensor<1x64x32x32xf32, #b>, tensor<64x64x3x3xf32, #w> -> tensor<1x64x32x32xf32, #b>
  %3 = nn.adapt %2 {nn.layer = 3 : i64, nn.routine = "element"} : tensor<1x64x32x32xf32, #b> -> tensor<1x64x32x32xf32>
  return %3 : tensor<1x64x32x32xf32>
}

//--- refused.mlir
// expected-error @below {{found no plan.program, expected plan-weights to have run}}
module {
  func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
    %u = nn.unary %x <sin> {nn.layer = 0 : i64, nn.routine = "element"} : tensor<3x5xf32> -> tensor<3x5xf32>
    return %u : tensor<3x5xf32>
  }
}

// -----
// expected-error @below {{found no function @main}}
module {
}

// -----
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %u = nn.unary %x <sin> {nn.layer = 0 : i64, nn.routine = "element"} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}
plan.program "x86-64-v4" threads(1) {
  // expected-error @below {{found layer 1, but @main has 1}}
  %e = plan.execute 1 routine("element")
}

// -----
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %u = nn.unary %x <sin> {nn.layer = 0 : i64, nn.routine = "element"} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}
plan.program "x86-64-v4" threads(1) {
  // expected-error @below {{found routine 'pool', but the layer's nn.routine is 'element'}}
  %e = plan.execute 0 routine("pool")
}

// -----
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %u = nn.unary %x <sin> {nn.layer = 0 : i64, nn.routine = "element"} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}
// expected-error @below {{executes 0 layers, but @main has 1}}
plan.program "x86-64-v4" threads(1) {
}

// -----
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  // expected-error @below {{nn.place: found lane 99, but the device has}}
  %u = nn.unary %x <sin> {nn.layer = 0 : i64, nn.place = array<i64: 99, 0>, nn.routine = "element"} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}
plan.program "x86-64-v4" threads(1) {
  %e = plan.execute 0 routine("element")
}

// -----
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %u = nn.unary %x <sin> {nn.layer = 0 : i64, nn.routine = "element"} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}
// expected-error @below {{target: found 'z80', expected one of}}
plan.program "z80" threads(1) {
  %e = plan.execute 0 routine("element")
}

// -----
func.func @main(%x: tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>) -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">> {
  %w = nn.constant dense<0.1> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
  %1 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 0 : i64, nn.routine = "conv.direct.nChw16c", nn.storage = "packed"} : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
  return %1 : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
}
plan.program "x86-64-v4" threads(1) {
  %r = plan.read 0 operand(1) storage(packed, stored)
  // expected-error @below {{is for no execute, and layer 0 has no nn.warm_routine}}
  %t = plan.transform 0 form("winograd4") routine("conv.winograd4.nChw16c") after(%r)
  %e = plan.execute 0 routine("conv.direct.nChw16c") after(%r)
}

// -----
func.func @main(%x: tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>) -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">> {
  %w = nn.constant dense<0.1> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
  %1 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 0 : i64, nn.routine = "conv.direct.nChw16c", nn.storage = "packed", nn.warm_routine = "conv.winograd2.nChw16c"} : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
  return %1 : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
}
plan.program "x86-64-v4" threads(1) {
  %r = plan.read 0 operand(1) storage(packed, stored)
  // expected-error @below {{is for no execute, and the nn.warm_routine 'conv.winograd2.nChw16c' of layer 0 does not read it}}
  %t = plan.transform 0 form("winograd4") routine("conv.winograd4.nChw16c") after(%r)
  %e = plan.execute 0 routine("conv.direct.nChw16c") after(%r)
}
