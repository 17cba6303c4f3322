// RUN: split-file %s %t
// RUN: nnv12-opt %t/stages.mlir --plan-weights="target=x86-64-v4 threads=2" | FileCheck %s
// RUN: nnv12-opt %t/stages.mlir --plan-weights="target=x86-64-v4 threads=3" --plan-weights="target=x86-64-v4 threads=2" | FileCheck %s
// RUN: nnv12-opt %t/narrow.mlir --plan-weights="target=x86-64-v4 threads=2" | FileCheck %s --check-prefix=NARROW
// RUN: nnv12-opt %t/refused.mlir --split-input-file --plan-weights=target=x86-64-v4 --verify-diagnostics

//--- stages.mlir
#b = #nn.layout<"aBcd16b">
#w = #nn.layout<"ABcd16b16a">
// One program of the target, at the end, whatever was there.
// CHECK-NOT: plan.program
// CHECK: plan.program "x86-64-v4" threads(2) {
// CHECK-NEXT: plan.execute 0 routine("element"){{$}}

// Raw and compressed: read, decode, transform to packed, transform to the form.
// CHECK-NEXT: %[[R1:.*]] = plan.read 1 operand(1) storage(raw, zstd)
// CHECK-NEXT: %[[D1:.*]] = plan.decode 1 after(%[[R1]])
// CHECK-NEXT: %[[P1:.*]] = plan.transform 1 form("packed") routine("conv.winograd4.nChw16c") after(%[[D1]])
// CHECK-NEXT: %[[T1:.*]] = plan.transform 1 form("[[FORM:.*]]") routine("conv.winograd4.nChw16c") after(%[[P1]])
// CHECK-NEXT: plan.execute 1 routine("conv.winograd4.nChw16c") after(%[[T1]])

// Bypass.
// CHECK-NEXT: %[[R2:.*]] = plan.read 2 operand(1) storage(transformed, stored)
// CHECK-NEXT: plan.execute 2 routine("conv.winograd4.nChw16c") after(%[[R2]])

// Packed now, transformed for a routine that takes over.
// CHECK-NEXT: %[[R3:.*]] = plan.read 3 operand(1) storage(packed, stored)
// CHECK-NEXT: plan.execute 3 routine("conv.direct.nChw16c") after(%[[R3]])
// CHECK-NEXT: %[[T3:.*]] = plan.transform 3 form("[[FORM]]") routine("conv.winograd4.nChw16c") after(%[[R3]])
// CHECK-NEXT: plan.switch 3 routine("conv.winograd4.nChw16c") after(%[[T3]])

// Its constant is an earlier layer's.
// CHECK-NEXT: plan.execute 4 routine("conv.direct.nChw16c"){{$}}
// CHECK-NEXT: plan.execute 5 routine("element"){{$}}
// CHECK-NEXT: }
func.func @main(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32> {
  %w1 = nn.constant dense<0.1> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #w>
  %w2 = nn.constant dense<0.2> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #w>
  %w3 = nn.constant dense<0.3> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #w>
  %0 = nn.adapt %x {nn.layer = 0 : i64, nn.routine = "element"} : tensor<1x16x8x8xf32> -> tensor<1x16x8x8xf32, #b>
  %1 = nn.conv %0, %w1 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 1 : i64, nn.routine = "conv.winograd4.nChw16c", nn.storage = "raw+zstd"} : tensor<1x16x8x8xf32, #b>, tensor<16x16x3x3xf32, #w> -> tensor<1x16x8x8xf32, #b>
  %2 = nn.conv %1, %w2 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 2 : i64, nn.routine = "conv.winograd4.nChw16c", nn.storage = "transformed"} : tensor<1x16x8x8xf32, #b>, tensor<16x16x3x3xf32, #w> -> tensor<1x16x8x8xf32, #b>
  %3 = nn.conv %2, %w3 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 3 : i64, nn.routine = "conv.direct.nChw16c", nn.storage = "packed", nn.warm_routine = "conv.winograd4.nChw16c"} : tensor<1x16x8x8xf32, #b>, tensor<16x16x3x3xf32, #w> -> tensor<1x16x8x8xf32, #b>
  %4 = nn.conv %3, %w3 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 4 : i64, nn.routine = "conv.direct.nChw16c"} : tensor<1x16x8x8xf32, #b>, tensor<16x16x3x3xf32, #w> -> tensor<1x16x8x8xf32, #b>
  %5 = nn.adapt %4 {nn.layer = 5 : i64, nn.routine = "element"} : tensor<1x16x8x8xf32, #b> -> tensor<1x16x8x8xf32>
  return %5 : tensor<1x16x8x8xf32>
}

//--- narrow.mlir
#b = #nn.layout<"aBcd16b">
#w = #nn.layout<"ABcd16b16a">
// Packed weights in fewer bits are widened, perhaps after a decode, and other forms
// made of what comes of it.
// NARROW: %[[R0:.*]] = plan.read 0 operand(1) storage(packed, stored) narrow(q8)
// NARROW-NEXT: %[[P0:.*]] = plan.transform 0 form("packed") routine("conv.direct.nChw16c") after(%[[R0]])
// NARROW-NEXT: plan.execute 0 routine("conv.direct.nChw16c") after(%[[P0]])
// NARROW-NEXT: %[[T0:.*]] = plan.transform 0 form("winograd4") routine("conv.winograd4.nChw16c") after(%[[P0]])
// NARROW-NEXT: plan.switch 0 routine("conv.winograd4.nChw16c") after(%[[T0]])
// NARROW-NEXT: %[[R1:.*]] = plan.read 1 operand(1) storage(packed, zstd) narrow(f16)
// NARROW-NEXT: %[[D1:.*]] = plan.decode 1 after(%[[R1]])
// NARROW-NEXT: %[[P1:.*]] = plan.transform 1 form("packed") routine("conv.winograd4.nChw16c") after(%[[D1]])
// NARROW-NEXT: %[[T1:.*]] = plan.transform 1 form("winograd4") routine("conv.winograd4.nChw16c") after(%[[P1]])
// NARROW-NEXT: plan.execute 1 routine("conv.winograd4.nChw16c") after(%[[T1]])
func.func @main(%x: tensor<1x16x8x8xf32, #b>) -> tensor<1x16x8x8xf32, #b> {
  %w0 = nn.constant dense<0.1> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #w>
  %w1 = nn.constant dense<0.5> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #w>
  %0 = nn.conv %x, %w0 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 0 : i64, nn.routine = "conv.direct.nChw16c", nn.storage = "packed+q8", nn.warm_routine = "conv.winograd4.nChw16c"} : tensor<1x16x8x8xf32, #b>, tensor<16x16x3x3xf32, #w> -> tensor<1x16x8x8xf32, #b>
  %1 = nn.conv %0, %w1 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 1 : i64, nn.routine = "conv.winograd4.nChw16c", nn.storage = "packed+f16+zstd"} : tensor<1x16x8x8xf32, #b>, tensor<16x16x3x3xf32, #w> -> tensor<1x16x8x8xf32, #b>
  return %1 : tensor<1x16x8x8xf32, #b>
}

//--- refused.mlir
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  // expected-error @below {{has no nn.layer, number 0, expected select-routines to have run}}
  %u = nn.unary %x <sin> : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}

// -----
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  // expected-error @below {{has another nn.layer than its number in execution order, 0, expected select-routines to have run}}
  %u = nn.unary %x <sin> {nn.layer = 1 : i64, nn.routine = "element"} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}

// -----
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  // expected-error @below {{has no nn.routine, expected select-routines to have run}}
  %u = nn.unary %x <sin> {nn.layer = 0 : i64} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}

// -----
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  // expected-error @below {{nn.routine: found 'quantum', expected the name of a routine}}
  %u = nn.unary %x <sin> {nn.layer = 0 : i64, nn.routine = "quantum"} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}

// -----
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  // expected-error @below {{nn.routine: found 'conv.direct.nChw16c', which does not compute this layer in its layouts}}
  %u = nn.unary %x <sin> {nn.layer = 0 : i64, nn.routine = "conv.direct.nChw16c"} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}

// -----
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  // expected-error @below {{nn.warm_routine: found 'quantum', expected the name of a routine}}
  %u = nn.unary %x <sin> {nn.layer = 0 : i64, nn.routine = "element", nn.warm_routine = "quantum"} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}

// -----
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  // expected-error @below {{nn.place: found array<i64: 1, -1>, expected array<i64: LANE, INDEX>}}
  %u = nn.unary %x <sin> {nn.layer = 0 : i64, nn.place = array<i64: 1, -1>, nn.routine = "element"} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}

// -----
func.func @main(%x: tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>) -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">> {
  %w = nn.constant dense<0.1> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
  // expected-error @below {{nn.storage: found nothing, expected raw, packed, packed+q8, packed+f16 or transformed, or one of them with +zstd}}
  %1 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 0 : i64, nn.routine = "conv.direct.nChw16c"} : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
  return %1 : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
}

// -----
func.func @main(%x: tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>) -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">> {
  %w = nn.constant dense<0.1> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
  // expected-error @below {{nn.storage: found 'packed+lz4', expected raw, packed, packed+q8, packed+f16 or transformed, or one of them with +zstd}}
  %1 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 0 : i64, nn.routine = "conv.direct.nChw16c", nn.storage = "packed+lz4"} : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
  return %1 : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
}

// -----
func.func @main(%x: tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>) -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">> {
  %w = nn.constant dense<0.1> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
  // expected-error @below {{nn.storage: found 'packed+f16', but not all weights are exactly f16}}
  %1 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 0 : i64, nn.routine = "conv.direct.nChw16c", nn.storage = "packed+f16"} : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
  return %1 : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
}

// -----
func.func @main(%x: tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>) -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">> {
  %w = nn.constant dense<0.1> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
  // expected-error @below {{nn.storage: found 'transformed', but conv.direct.nChw16c reads packed weights}}
  %1 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 0 : i64, nn.routine = "conv.direct.nChw16c", nn.storage = "transformed"} : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
  return %1 : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
}

// -----
func.func @main(%x: tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>) -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">> {
  %w = nn.constant dense<0.1> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
  // expected-error @below {{nn.warm_routine: found 'conv.direct.nChw16c', whose weights cannot be made from those of conv.winograd4.nChw16c}}
  %1 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 0 : i64, nn.routine = "conv.winograd4.nChw16c", nn.storage = "transformed", nn.warm_routine = "conv.direct.nChw16c"} : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
  return %1 : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
}

// -----
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %c = nn.constant dense<0.1> : tensor<3x5xf32>
  // expected-error @below {{nn.storage: found 'raw', but the weights' layout is dense: expected packed}}
  %u = nn.binary add %x, %c {nn.layer = 0 : i64, nn.routine = "element", nn.storage = "raw"} : tensor<3x5xf32>, tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}

// -----
// expected-error @below {{found no function @main}}
module {
  func.func @other() { return }
}

// -----
func.func @main(%x: tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>) -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">> {
  %w = nn.constant dense<0.1> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
  %1 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 0 : i64, nn.routine = "conv.direct.nChw16c", nn.storage = "packed"} : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
  // expected-error @below {{nn.routine: found 'conv.winograd4.nChw16c', which reads operand 1 in form 'winograd4', expected it to be the layer's main weights}}
  %2 = nn.conv %1, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 1 : i64, nn.routine = "conv.winograd4.nChw16c"} : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
  return %2 : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
}

// -----
func.func @main(%x: tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>) -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">> {
  %w = nn.constant dense<0.1> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
  %1 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 0 : i64, nn.routine = "conv.direct.nChw16c", nn.storage = "packed"} : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
  // expected-error @below {{nn.warm_routine: found 'conv.winograd4.nChw16c', which reads operand 1 in form 'winograd4', expected it to be the layer's main weights}}
  %2 = nn.conv %1, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 1 : i64, nn.routine = "conv.direct.nChw16c", nn.warm_routine = "conv.winograd4.nChw16c"} : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
  return %2 : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
}

// -----
func.func @main(%x: tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>) -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">> {
  %w = nn.constant dense<0.1> : tensor<16x16x3x3xf32> -> tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">>
  // expected-error @below {{nn.storage: found 'transformed', but a later layer reads the weights as packed}}
  %1 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 0 : i64, nn.routine = "conv.winograd4.nChw16c", nn.storage = "transformed"} : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
  %2 = nn.conv %1, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 1 : i64, nn.routine = "conv.direct.nChw16c"} : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>, tensor<16x16x3x3xf32, #nn.layout<"ABcd16b16a">> -> tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
  return %2 : tensor<1x16x8x8xf32, #nn.layout<"aBcd16b">>
}
