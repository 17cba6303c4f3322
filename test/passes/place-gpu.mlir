// RUN: split-file %s %t
// RUN: nnv12-opt %t/model.mlir --plan-weights="target=x86-64-v4 threads=1" --place-gpu=force | FileCheck %s
// Again, and before schedule: the stages stay, the old overlay goes.
// RUN: nnv12-opt %t/model.mlir --plan-weights="target=x86-64-v4 threads=1" --place-gpu=force --place-gpu=force --schedule | FileCheck %s --check-prefixes=CHECK,LANES
// RUN: nnv12-opt %t/model.mlir --plan-weights="target=x86-64-v4 threads=1" --place-gpu="profile=%t/fast.json" | FileCheck %s --check-prefix=FAST
// RUN: nnv12-opt %t/model.mlir --plan-weights="target=x86-64-v4 threads=1" --place-gpu="profile=%t/slow-start.json" | FileCheck %s --check-prefix=LATER
// RUN: nnv12-opt %t/model.mlir --plan-weights="target=x86-64-v4 threads=1" --place-gpu 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: nnv12-opt %t/compared.mlir --plan-weights="target=x86-64-v4 threads=1" --place-gpu=force 2>&1 | FileCheck %s --check-prefix=COMPARED
// RUN: nnv12-opt %t/refused.mlir --split-input-file --place-gpu --verify-diagnostics
// RUN: not nnv12-opt %t/model.mlir --plan-weights="target=x86-64-v4 threads=1" --place-gpu=target=opengl 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: GPU target: found 'opengl', expected vulkan1.1, or that with features

//--- model.mlir
#b = #nn.layout<"aBcd16b">
#w = #nn.layout<"ABcd16b16a">
// Everything in one stretch, which the first inference takes, too. The two convolutions share
// a pipeline, and weights are uploaded once the CPU's preparations have made them.
// CHECK: plan.program "x86-64-v4" threads(1)
// CHECK: plan.execute 0
// CHECK: %[[R1:.*]] = plan.read 1
// CHECK: %[[T1:.*]] = plan.transform 1 form("packed")
// CHECK: plan.execute 1
// CHECK: %[[R2:.*]] = plan.read 2
// CHECK: plan.execute 2
// CHECK: plan.execute 3
// CHECK: plan.gpu "vulkan1.1" profile("ordinary GPU") start(at_open) cold({{[0-9]+}}) warm({{[0-9]+}}) {
// CHECK-NEXT: %[[D:.*]] = plan.device {end = {{[0-9]+}} : i64, start = {{[0-9]+}} : i64}
// CHECK-NEXT: %[[P0:.*]] = plan.pipeline ["[[IN:gpu.element [0-9a-f]+]]"] after(%[[D]])
// CHECK-NEXT: %[[P2:.*]] = plan.pipeline ["[[OUT:gpu.element [0-9a-f]+]]"] after(%[[D]])
// CHECK-NEXT: %[[P1:.*]] = plan.pipeline ["[[CONV:gpu.conv.direct.16x4]]"] after(%[[D]])
// CHECK-NEXT: %[[U1:.*]] = plan.upload 1 after(%[[D]], %[[T1]])
// CHECK-NEXT: %[[U2:.*]] = plan.upload 2 after(%[[D]], %[[R2]])
// CHECK-NEXT: %[[C:.*]] = plan.record 0 after(%[[D]], %[[P0]], %[[P1]], %[[P2]])
// CHECK-NEXT: plan.stretch layers(0, 4) after(%[[C]], %[[U1]], %[[U2]]) cold warm predicted({{[0-9]+}}) {
// CHECK-NEXT: plan.dispatch 0 routine("gpu.element") kernels(["[[IN]]"]) predicted([{{[0-9]+}}])
// CHECK-NEXT: plan.dispatch 1 routine("gpu.conv.direct.16x4") kernels(["[[CONV]]"])
// CHECK-NEXT: plan.dispatch 2 routine("gpu.conv.direct.16x4") kernels(["[[CONV]]"])
// CHECK-NEXT: plan.dispatch 3 routine("gpu.element") kernels(["[[OUT]]"])
// CHECK-NEXT: }
// CHECK-NEXT: plan.gpu_lane queue(%[[D]], %[[P0]], %[[P2]], %[[C]])
// CHECK-NEXT: plan.gpu_lane queue(%[[P1]], %[[U1]], %[[U2]])
// CHECK: }
// LANES: plan.lane execute
// CHECK-NOT: plan.gpu

// A GPU that is soon ready takes over from the first inference; one that takes long to start
// from the second.
// FAST: plan.gpu "vulkan1.1" profile("fast") start(at_open)
// FAST: plan.stretch layers({{.*}}) {{.*}}cold
// LATER: plan.gpu "vulkan1.1" profile("slow to start") start(after_first)
// LATER: plan.stretch layers({{.*}}) {{.*}}warm

// Two small convolutions are not worth the hand-over to an ordinary one.
// NONE: remark: CPU only: ordinary GPU would take over nothing that it is faster at
// NONE-NOT: plan.gpu
func.func @main(%x: tensor<1x64x32x32xf32>) -> tensor<1x64x32x32xf32> {
  %w1 = nn.constant dense<0.1> : tensor<64x64x3x3xf32> -> tensor<64x64x3x3xf32, #w>
  %w2 = nn.constant dense<0.2> : tensor<64x64x3x3xf32> -> tensor<64x64x3x3xf32, #w>
  %0 = nn.adapt %x {nn.layer = 0 : i64, nn.routine = "element"} : tensor<1x64x32x32xf32> -> tensor<1x64x32x32xf32, #b>
  %1 = nn.conv %0, %w1 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 1 : i64, nn.routine = "conv.direct.nChw16c", nn.storage = "raw"} : tensor<1x64x32x32xf32, #b>, tensor<64x64x3x3xf32, #w> -> tensor<1x64x32x32xf32, #b>
  %2 = nn.conv %1, %w2 strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] {nn.layer = 2 : i64, nn.routine = "conv.direct.nChw16c", nn.storage = "packed"} : tensor<1x64x32x32xf32, #b>, tensor<64x64x3x3xf32, #w> -> tensor<1x64x32x32xf32, #b>
  %3 = nn.adapt %2 {nn.layer = 3 : i64, nn.routine = "element"} : tensor<1x64x32x32xf32, #b> -> tensor<1x64x32x32xf32>
  return %3 : tensor<1x64x32x32xf32>
}

//--- compared.mlir
// What a comparison depends on stays with the CPUs, so that a result does not hang on how
// a GPU rounds.
// COMPARED: plan.execute 2
// COMPARED: plan.stretch layers(2, 1)
// COMPARED-NOT: plan.stretch
func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xi1>, tensor<64x64xf32>) {
  %a = nn.unary %x <exp> {nn.layer = 0 : i64, nn.routine = "element"} : tensor<64x64xf32> -> tensor<64x64xf32>
  %c = nn.binary equal %a, %y {nn.layer = 1 : i64, nn.routine = "element"} : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xi1>
  %b = nn.unary %y <exp> {nn.layer = 2 : i64, nn.routine = "element"} : tensor<64x64xf32> -> tensor<64x64xf32>
  return %c, %b : tensor<64x64xi1>, tensor<64x64xf32>
}

//--- fast.json
{"version": 2, "name": "test", "architecture": "x86-64", "target": "x86-64-v4", "measured": false, "cores": {"big": {"name": "slow", "count": 2, "gflops": 1, "memoryGBps": 10}}, "storage": {"readMBps": 1000, "readLatencyUs": 10, "mapUsPerMB": 60}, "memory": {"firstTouchUsPerMB": 60}, "codecs": {"zstdMBps": 1}, "interference": {"execute": 1, "prepare": 1}, "threadScaling": 0.9, "efficiency": {"": {"compute": 0.5, "memory": 0.5, "overheadUs": 1}},
 "gpu": {"name": "fast", "api": "vulkan1.1", "kind": "unified", "measured": false, "units": 8, "groupsPerUnit": 8, "gflops": 1000, "memoryGBps": 50, "startMs": 1, "pipelineMs": 1, "uploadGBps": 10, "submitUs": 10, "syncUs": 10, "dispatchUs": 2}}

//--- slow-start.json
{"version": 2, "name": "test", "architecture": "x86-64", "target": "x86-64-v4", "measured": false, "cores": {"big": {"name": "slow", "count": 2, "gflops": 1, "memoryGBps": 10}}, "storage": {"readMBps": 1000, "readLatencyUs": 10, "mapUsPerMB": 60}, "memory": {"firstTouchUsPerMB": 60}, "codecs": {"zstdMBps": 1}, "interference": {"execute": 1, "prepare": 1}, "threadScaling": 0.9, "efficiency": {"": {"compute": 0.5, "memory": 0.5, "overheadUs": 1}},
 "gpu": {"name": "slow to start", "api": "vulkan1.1", "kind": "unified", "measured": false, "units": 8, "groupsPerUnit": 8, "gflops": 1000, "memoryGBps": 50, "startMs": 10000, "pipelineMs": 1, "uploadGBps": 10, "submitUs": 10, "syncUs": 10, "dispatchUs": 2}}

//--- refused.mlir
// expected-error @below {{found no plan.program, expected plan-weights to have run}}
module {
  func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
    %u = nn.unary %x <sin> {nn.layer = 0 : i64, nn.routine = "element"} : tensor<3x5xf32> -> tensor<3x5xf32>
    return %u : tensor<3x5xf32>
  }
}

// -----
func.func @main(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  // expected-error @below {{has no nn.layer, number 0, expected select-routines to have run}}
  %u = nn.unary %x <sin> : tensor<3x5xf32> -> tensor<3x5xf32>
  return %u : tensor<3x5xf32>
}
plan.program "x86-64-v4" threads(1) {
  %e0 = plan.execute 0 routine("element")
}
