// RUN: split-file %s %t
// RUN: nnv12-opt %t/model.mlir --assign-layouts --select-routines="target=x86-64-v4 threads=2" | FileCheck %s
// RUN: nnv12-opt %t/model.mlir --assign-layouts --select-routines="target=x86-64-v4 parts=none" | FileCheck %s --check-prefix=RAW
// RUN: nnv12-opt %t/model.mlir --assign-layouts --select-routines="target=x86-64-v4 threads=2 lanes=0" | FileCheck %s --check-prefix=ALONE
// RUN: nnv12-opt %t/model.mlir --assign-layouts --select-routines="target=x86-64-v4 parts=K" | FileCheck %s --check-prefix=RAW
// RUN: nnv12-opt %t/old.mlir --select-routines=target=x86-64-v4 | FileCheck %s --check-prefix=OLD
// RUN: nnv12-opt %t/equal.mlir --assign-layouts --fuse-elementwise --select-routines="target=x86-64-v4 parts=none" | FileCheck %s --check-prefix=EQUAL
// RUN: nnv12-opt %t/refused.mlir --split-input-file --select-routines=target=x86-64-v4 --verify-diagnostics
// RUN: not nnv12-opt %t/model.mlir --assign-layouts --select-routines=target=z80 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not nnv12-opt %t/model.mlir --assign-layouts --select-routines="target=x86-64-v4 profile=%t/none.json" 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not nnv12-opt %t/model.mlir --assign-layouts --select-routines="parts=P" 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: %python %S/Inputs/random_convs.py > %t/later.mlir
// RUN: sed 's/"firstTouchUsPerMB"/"preparedMB": 0, "mostPreparedMB": 0, &/; s/"readMBps": [0-9.]*/"readMBps": 60/; s/"zstdMBps": [0-9.]*/"zstdMBps": 1/' %source/compiler/device/profiles/meizu-16t.json > %t/frugal.json
// RUN: sed 's/"firstTouchUsPerMB"/"laterMsPerMB": 1000, &/' %t/frugal.json > %t/dear.json
// RUN: nnv12-opt %t/later.mlir --assign-layouts --select-routines="target=aarch64 profile=%t/frugal.json" > %t/cold
// RUN: nnv12-opt %t/later.mlir --assign-layouts --select-routines="target=aarch64 profile=%t/frugal.json mode=auto" > %t/auto
// RUN: FileCheck %s --check-prefix=AUTO < %t/auto
// RUN: sed 's/, nn.warm_routine = "[^"]*"//' %t/auto | diff %t/cold -
// RUN: nnv12-opt %t/later.mlir --assign-layouts --select-routines="target=aarch64 profile=%t/frugal.json mode=auto" | diff %t/auto -
// RUN: nnv12-opt %t/later.mlir --assign-layouts --select-routines="target=aarch64 profile=%t/dear.json mode=auto memory=most" | FileCheck %s --check-prefix=AUTO
// RUN: nnv12-opt %t/later.mlir --assign-layouts --select-routines="target=aarch64 profile=%t/frugal.json mode=auto memory=least" | FileCheck %s --check-prefix=LEAST
// RUN: nnv12-opt %t/later.mlir --assign-layouts --select-routines="target=aarch64 profile=%t/dear.json mode=auto" | FileCheck %s --check-prefix=DEAR
// TARGET: error: target: found 'z80', expected one of {{.*}}x86-64-v3
// FILE: error: {{.*}}none.json: {{.*}}
// PARTS: Cannot find option named 'P'

// Where storage is slow and memory dear, a first run has other routines than later ones.
// Afterwards they take over if that is worth their memory, and all else is as without. Where the file is mapped nothing can take over, and nothing is
// made of the weights.
// AUTO: nn.warm_routine = "conv.winograd
// DEAR-NOT: nn.warm_routine
// LEAST-NOT: nn.warm_routine
// LEAST-NOT: nn.storage = "raw
// LEAST-NOT: nn.storage = "packed+
// LEAST-NOT: nn.routine = "conv.winograd{{[^,]*}}, nn.storage = "packed"

//--- model.mlir
// Layers are numbered in execution order, constants and views are not; each gets a
// routine, and a storage form and the place of its preparation where it has constants
// that no earlier layer reads.
// CHECK: nn.adapt {{.*}}nn.layer = 0 : i64, nn.routine = "element"}
// CHECK-NOT: nn.constant {{.*}}nn.layer
// CHECK: nn.conv {{.*}}nn.layer = 1 : i64, nn.place = array<i64: {{[0-9]+, [0-9]+}}>, nn.routine = "conv.{{.*}}", nn.storage = "{{raw|packed|transformed}}
// CHECK: nn.conv {{.*}}nn.layer = 2 : i64, nn.routine = "conv.{{[^,]*}}"}
// CHECK: nn.reshape {{.*}}nn.layer = 3 : i64, nn.routine = "element"}
// CHECK-NEXT: nn.reshape %{{[0-9]+}} :
// CHECK-NEXT: nn.reshape %{{[0-9]+}} :
// CHECK-NEXT: nn.matmul {{.*}}nn.layer = 4 : i64, nn.place = array<i64: {{[0-9]+, [0-9]+}}>, nn.routine = "matmul.{{.*}}", nn.storage = "{{raw|packed}}

// The execute lane does all where there is no other.
// ALONE-COUNT-2: nn.place = array<i64: 0, {{[0-9]+}}>
// ALONE-NOT: nn.place = array<i64: 1

// Without C weights are as in the model, for want of another layout too.
// RAW-COUNT-2: nn.storage = "raw"
func.func @main(%x: tensor<1x16x8x8xf32>) -> tensor<1x20xf32> {
  %w = nn.constant dense<0.5> : tensor<16x16x3x3xf32>
  %v = nn.constant dense<0.5> : tensor<1024x20xf32>
  %y = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32> -> tensor<1x16x8x8xf32>
  %z = nn.conv %y, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x16x8x8xf32>, tensor<16x16x3x3xf32> -> tensor<1x16x8x8xf32>
  %r = nn.reshape %z : tensor<1x16x8x8xf32> -> tensor<1x1024xf32>
  %f = nn.reshape %r : tensor<1x1024xf32> -> tensor<1x1x1024xf32>
  %g = nn.reshape %f : tensor<1x1x1024xf32> -> tensor<1x1024xf32>
  %m = nn.matmul %g, %v : tensor<1x1024xf32>, tensor<1024x20xf32> -> tensor<1x20xf32>
  return %m : tensor<1x20xf32>
}

//--- equal.mlir
// Rounding decides whether floats are equal: what such a comparison depends on is
// computed by the preferred routine; another layer of that shape is not.
// EQUAL: nn.conv {{.*}}nn.routine = "conv.direct.nChw16c"
// EQUAL: nn.conv {{.*}}nn.routine = "conv.winograd{{.}}.nChw16c"
func.func @main(%x: tensor<1x64x56x56xf32>) -> (tensor<1x64x56x56xi1>, tensor<1x64x56x56xf32>) {
  %w = nn.constant dense<0.5> : tensor<64x64x3x3xf32>
  %v = nn.constant dense<0.25> : tensor<64x64x3x3xf32>
  %y = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  %e = nn.binary equal %y, %x : tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32> -> tensor<1x64x56x56xi1>
  %z = nn.conv %x, %v strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  return %e, %z : tensor<1x64x56x56xi1>, tensor<1x64x56x56xf32>
}

//--- old.mlir
// What an earlier run wrote is replaced.
// OLD: nn.unary %arg0 <sin> {nn.layer = 0 : i64, nn.routine = "element"}
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %u = nn.unary %x <sin> {nn.layer = 7 : i64, nn.place = array<i64: 1, 2>, nn.routine = "none", nn.storage = "packed", nn.warm_routine = "x"} : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}

//--- refused.mlir
// expected-error @below {{found no function @main}}
module {
  func.func @other() { return }
}
