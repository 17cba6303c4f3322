// RUN: split-file %s %t
// RUN: nnv12-opt %t/model.mlir --assign-layouts --plan-model="target=x86-64-v4 threads=2" | FileCheck %s
// RUN: nnv12-opt %t/model.mlir --assign-layouts --plan-model="target=x86-64-v4 parts=none" | tee %t/none | FileCheck %s --check-prefix=RAW
// RUN: FileCheck %s --check-prefix=ONE < %t/none
// RUN: nnv12-opt %t/model.mlir --assign-layouts --plan-model="target=x86-64-v4 threads=2 lanes=0" | FileCheck %s --check-prefix=ONE
// RUN: nnv12-opt %t/model.mlir --assign-layouts --plan-model="target=x86-64-v4 threads=2 parts=K+C" | FileCheck %s --check-prefix=ONE
// RUN: nnv12-opt %t/model.mlir --assign-layouts --plan-model="target=x86-64-v4 parts=K" | FileCheck %s --check-prefix=RAW
// RUN: nnv12-opt %t/model.mlir --assign-layouts --plan-model="target=x86-64-v4 threads=3" --plan-model="target=x86-64-v4 threads=2" | FileCheck %s
// RUN: nnv12-opt %t/model.mlir --assign-layouts --plan-model="target=aarch64 threads=3" --plan-model="target=x86-64-v4 threads=2" | FileCheck %s --check-prefix=BOTH
// RUN: nnv12-opt %t/equal.mlir --assign-layouts --fuse-elementwise --plan-model="target=x86-64-v4 parts=none" | FileCheck %s --check-prefix=EQUAL
// RUN: nnv12-opt %t/refused.mlir --split-input-file --plan-model=target=x86-64-v4 --verify-diagnostics
// RUN: not nnv12-opt %t/model.mlir --assign-layouts --plan-model=target=z80 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not nnv12-opt %t/model.mlir --assign-layouts --plan-model="target=x86-64-v4 profile=%t/none.json" 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not nnv12-opt %t/model.mlir --assign-layouts --plan-model="parts=P" 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: not nnv12-opt %t/model.mlir --assign-layouts --plan-model="target=x86-64-v4 gpu=opengl" 2>&1 | FileCheck %s --check-prefix=GPU
// TARGET: error: target: found 'z80', expected one of {{.*}}x86-64-v3
// FILE: error: {{.*}}none.json: {{.*}}
// PARTS: Cannot find option named 'P'
// GPU: error: GPU target: found 'opengl', expected vulkan1.1, or that with features

// Later routines.
// RUN: %python %S/Inputs/random_convs.py > %t/later.mlir
// RUN: sed 's/"firstTouchUsPerMB"/"preparedMB": 0, "mostPreparedMB": 0, &/; s/"readMBps": [0-9.]*/"readMBps": 60/; s/"zstdMBps": [0-9.]*/"zstdMBps": 1/' %source/compiler/device/profiles/meizu-16t.json > %t/frugal.json
// RUN: sed 's/"firstTouchUsPerMB"/"laterMsPerMB": 1000, &/' %t/frugal.json > %t/dear.json
// RUN: nnv12-opt %t/later.mlir --assign-layouts --plan-model="target=aarch64 profile=%t/frugal.json" > %t/cold
// RUN: nnv12-opt %t/later.mlir --assign-layouts --plan-model="target=aarch64 profile=%t/frugal.json mode=auto" > %t/auto
// RUN: FileCheck %s --check-prefix=AUTO < %t/auto
// RUN: grep -o "plan.read [^%]*\|plan.execute [0-9]* routine([^)]*)" %t/cold > %t/cold.first
// RUN: grep -o "plan.read [^%]*\|plan.execute [0-9]* routine([^)]*)" %t/auto | diff %t/cold.first -
// RUN: nnv12-opt %t/later.mlir --assign-layouts --plan-model="target=aarch64 profile=%t/frugal.json mode=auto" | diff %t/auto -
// RUN: nnv12-opt %t/later.mlir --assign-layouts --plan-model="target=aarch64 profile=%t/dear.json mode=auto memory=most" | FileCheck %s --check-prefix=AUTO
// RUN: nnv12-opt %t/later.mlir --assign-layouts --plan-model="target=aarch64 profile=%t/frugal.json mode=auto memory=least" | FileCheck %s --check-prefix=LEAST
// RUN: nnv12-opt %t/later.mlir --assign-layouts --plan-model="target=aarch64 profile=%t/dear.json mode=auto" | FileCheck %s --check-prefix=DEAR

// A GPU.
// RUN: nnv12-opt %t/gpu.mlir --assign-layouts --plan-model="target=x86-64-v4 threads=1 parts=K gpu=vulkan1.1 gpu-force" | FileCheck %s --check-prefix=FORCE
// RUN: nnv12-opt %t/gpu.mlir --assign-layouts --plan-model="target=x86-64-v4 threads=1 gpu=vulkan1.1 profile=%t/fast.json" | FileCheck %s --check-prefix=FAST
// RUN: nnv12-opt %t/gpu.mlir --assign-layouts --plan-model="target=x86-64-v4 threads=1 gpu=vulkan1.1 profile=%t/slow-start.json" | FileCheck %s --check-prefix=LATER
// RUN: nnv12-opt %t/gpu.mlir --assign-layouts --plan-model="target=x86-64-v4 threads=1 gpu=vulkan1.1" 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: nnv12-opt %t/compared.mlir --plan-model="target=x86-64-v4 threads=1 gpu=vulkan1.1 gpu-force" 2>&1 | FileCheck %s --check-prefix=COMPARED
// RUN: nnv12-opt %t/gpu.mlir --assign-layouts --plan-model="target=x86-64-v4 threads=1 gpu=vulkan1.1 split=force" | FileCheck %s --check-prefix=SPLIT
// RUN: nnv12-opt %t/gpu.mlir --assign-layouts --plan-model="target=x86-64-v4 threads=1 gpu=vulkan1.1 profile=%t/fast.json split=auto" | FileCheck %s --check-prefix=WHOLE
// RUN: nnv12-opt %t/alone.mlir --plan-model="target=x86-64-v4 threads=1 gpu=vulkan1.1 split=force" 2>&1 | FileCheck %s --check-prefix=ALONE

// Where storage is slow and memory dear, a first run has other routines than later ones.
// Afterwards they take over if that is worth their memory. Where the file is mapped nothing can
// take over, and nothing is made of the weights.
// AUTO: plan.program {{.*}} later_waits
// AUTO: plan.switch {{.*}} routine("conv.winograd
// AUTO: plan.lane prepare {{.*}} background(
// DEAR-NOT: plan.switch
// LEAST-NOT: plan.switch
// LEAST-NOT: storage(raw
// LEAST-NOT: storage(packed+
// LEAST-NOT: plan.transform

//--- model.mlir
// Layers are numbered in execution order, constants and views are not; each has an execute, and a
// read where it has constants that no earlier layer reads.
// CHECK-NOT: nn.{{.*}}plan
// CHECK-NOT: plan.program
// CHECK: plan.program "x86-64-v4" threads(2) cold({{[1-9][0-9]*}}) warm({{[1-9][0-9]*}}) {
// CHECK-NEXT: %[[E0:.*]] = plan.execute 0 routine("element") {end = {{[1-9][0-9]*}} : i64, start = {{[1-9][0-9]*}} : i64}
// CHECK-NEXT: %[[R1:.*]] = plan.read 1 operand(1) storage({{raw|packed|transformed}}
// CHECK: %[[E1:.*]] = plan.execute 1 routine("conv.
// CHECK-NEXT: %[[E2:.*]] = plan.execute 2 routine("conv.{{[^"]*}}") {
// CHECK-NEXT: %[[E3:.*]] = plan.execute 3 routine("element") {
// CHECK-NEXT: %[[R4:.*]] = plan.read 4 operand(1) storage({{raw|packed}}
// CHECK: %[[E4:.*]] = plan.execute 4 routine("matmul.
// The execute lane first, with all executes in order. Queues name their operations by value,
// which the verifier holds against the rules.
// CHECK: plan.lane execute on any queue({{.*}}%[[E0]], {{.*}}%[[E1]], {{.*}}%[[E2]], {{.*}}%[[E3]], {{.*}}%[[E4]])
// CHECK-NOT: plan.lane execute
// CHECK-NOT: plan.gpu

// Programs of other targets stay.
// BOTH: plan.program "aarch64" threads(3)
// BOTH: plan.program "x86-64-v4" threads(2)
// BOTH-NOT: plan.program

// Without P, or without lanes, there is the execute lane alone.
// ONE: plan.lane execute on any queue(
// ONE-NOT: plan.lane

// Without C weights are as in the model, for want of another layout too.
// RAW-COUNT-2: storage(raw)
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
// EQUAL: plan.execute {{.*}} routine("conv.direct.nChw16c")
// EQUAL: plan.execute {{.*}} routine("conv.winograd{{.}}.nChw16c")
func.func @main(%x: tensor<1x64x56x56xf32>) -> (tensor<1x64x56x56xi1>, tensor<1x64x56x56xf32>) {
  %w = nn.constant dense<0.5> : tensor<64x64x3x3xf32>
  %v = nn.constant dense<0.25> : tensor<64x64x3x3xf32>
  %y = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  %e = nn.binary equal %y, %x : tensor<1x64x56x56xf32>, tensor<1x64x56x56xf32> -> tensor<1x64x56x56xi1>
  %z = nn.conv %x, %v strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x64x56x56xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x56x56xf32>
  return %e, %z : tensor<1x64x56x56xi1>, tensor<1x64x56x56xf32>
}

//--- gpu.mlir
// Everything in one stretch, which the first inference takes, too. The two convolutions share
// a pipeline, and weights are uploaded once the CPU's preparations have made them.
// FORCE: plan.program "x86-64-v4" threads(1)
// FORCE: plan.execute 0
// FORCE: plan.read 1
// FORCE: %[[T1:.*]] = plan.transform 1 form("packed")
// FORCE: plan.execute 1
// FORCE: plan.read 2
// FORCE: %[[T2:.*]] = plan.transform 2 form("packed")
// FORCE: plan.execute 2
// FORCE: plan.execute 3
// FORCE: plan.gpu "vulkan1.1" profile("ordinary GPU") start(at_open) cold({{[0-9]+}}) warm({{[0-9]+}}) {
// FORCE-NEXT: %[[D:.*]] = plan.device {end = {{[0-9]+}} : i64, start = {{[0-9]+}} : i64}
// FORCE-DAG: %[[P0:.*]] = plan.pipeline ["[[IN:gpu.element [0-9a-f]+]]"] after(%[[D]])
// FORCE-DAG: %[[U1:.*]] = plan.upload 1 after(%[[D]], %[[T1]])
// FORCE-DAG: %[[U2:.*]] = plan.upload 2 after(%[[D]], %[[T2]])
// FORCE: %[[C:.*]] = plan.record 0 after(%[[D]], %[[P0]], %{{.*}})
// FORCE-NEXT: plan.stretch layers(0, 4) after(%[[C]], %[[U1]], %[[U2]]) cold warm predicted({{[0-9]+}}) {
// FORCE-NEXT: plan.dispatch 0 routine("gpu.element") kernels(["[[IN]]"]) predicted([{{[0-9]+}}])
// FORCE-NEXT: plan.dispatch 1 routine("[[CONV:gpu.conv[^"]*]]") kernels([[KERNELS:.*]]) predicted(
// FORCE-NEXT: plan.dispatch 2 routine("[[CONV]]") kernels([[KERNELS]]) predicted(
// FORCE-NEXT: plan.dispatch 3 routine("gpu.element") kernels(["{{gpu.element [0-9a-f]+}}"])
// FORCE-NEXT: }
// FORCE-NEXT: plan.gpu_lane queue(%[[D]], {{.*}}%[[C]]
// FORCE: plan.lane execute
// FORCE-NOT: plan.gpu

// A GPU that is soon ready takes over from the first inference; one that takes long to start
// from the second.
// FAST: plan.gpu "vulkan1.1" profile("fast") start(at_open)
// FAST: plan.stretch layers({{.*}}) {{.*}}cold
// LATER: plan.gpu "vulkan1.1" profile("slow to start") start(after_first)
// LATER: plan.stretch layers({{.*}}) {{.*}}warm

// Both processors compute each layer, in later inferences.
// SPLIT: plan.gpu "vulkan1.1" profile("ordinary GPU") start(after_first)
// SPLIT: plan.stretch layers(1, 1) after({{.*}}) warm predicted({{[0-9]+}}) split(1 at 32) {
// SPLIT-NEXT: plan.dispatch 1 routine("gpu.conv{{[^"]*}}") {{.*}} front(32)
// SPLIT-NEXT: plan.part 1 routine("conv.{{[^"]*}}") back(32)
// SPLIT-NEXT: }
// SPLIT-NEXT: plan.stretch layers(2, 2) after({{.*}}) warm predicted({{[0-9]+}}) split(1 at 32) {
// SPLIT-NEXT: plan.dispatch 2 routine("gpu.conv{{[^"]*}}") {{.*}} front(32)
// SPLIT-NEXT: plan.dispatch 3 routine("gpu.element") {{.*}} front(32)
// SPLIT-NEXT: plan.part 2 routine("conv.{{[^"]*}}") back(32)
// SPLIT-NEXT: plan.part 3 routine("element") back(32)
// SPLIT-NEXT: }
// Where no profile knows what both lose beside each other, none is chosen.
// WHOLE: plan.gpu
// WHOLE-NOT: split(

// Two small convolutions are not worth the hand-over to an ordinary one.
// NONE: remark: CPU only: ordinary GPU would take over nothing that it is faster at
// NONE-NOT: plan.gpu
func.func @main(%x: tensor<1x64x32x32xf32>) -> tensor<1x64x8x8xf32> {
  %w1 = nn.constant dense<0.1> : tensor<64x64x3x3xf32>
  %w2 = nn.constant dense<0.2> : tensor<64x64x3x3xf32>
  %1 = nn.conv %x, %w1 strides [2, 2] dilations [1, 1] pads [1, 1], [0, 0] : tensor<1x64x32x32xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x16x16xf32>
  %2 = nn.conv %1, %w2 strides [2, 2] dilations [1, 1] pads [1, 1], [0, 0] : tensor<1x64x16x16xf32>, tensor<64x64x3x3xf32> -> tensor<1x64x8x8xf32>
  return %2 : tensor<1x64x8x8xf32>
}

//--- compared.mlir
// What a comparison depends on stays with the CPUs, so that a result does not hang on how
// a GPU rounds.
// COMPARED: plan.execute 2
// COMPARED: plan.stretch layers(2, 1)
// COMPARED-NOT: plan.stretch
func.func @main(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> (tensor<64x64xi1>, tensor<64x64xf32>) {
  %a = nn.unary %x <exp> : tensor<64x64xf32> -> tensor<64x64xf32>
  %c = nn.binary equal %a, %y : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xi1>
  %b = nn.unary %y <exp> : tensor<64x64xf32> -> tensor<64x64xf32>
  return %c, %b : tensor<64x64xi1>, tensor<64x64xf32>
}

//--- alone.mlir
// A softmax along rows has no rows to cut.
// ALONE: remark: CPU only: ordinary GPU and the CPU can share no layer of it
// ALONE-NOT: plan.gpu
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = nn.softmax %x axis 0 : tensor<64xf32> -> tensor<64xf32>
  return %0 : tensor<64xf32>
}

//--- fast.json
{"version": 2, "name": "test", "architecture": "x86-64", "target": "x86-64-v4", "measured": false, "cores": {"big": {"name": "slow", "count": 2, "gflops": 1, "memoryGBps": 10}}, "storage": {"readMBps": 1000, "readLatencyUs": 10, "mapUsPerMB": 60}, "memory": {"firstTouchUsPerMB": 60}, "codecs": {"zstdMBps": 1}, "interference": {"execute": 1, "prepare": 1}, "threadScaling": 0.9, "efficiency": {"": {"compute": 0.5, "memory": 0.5, "overheadUs": 1}},
 "gpu": {"name": "fast", "api": "vulkan1.1", "kind": "unified", "measured": false, "units": 8, "groupsPerUnit": 8, "gflops": 1000, "memoryGBps": 50, "startMs": 1, "pipelineMs": 1, "uploadGBps": 10, "submitUs": 10, "syncUs": 10, "dispatchUs": 2}}

//--- slow-start.json
{"version": 2, "name": "test", "architecture": "x86-64", "target": "x86-64-v4", "measured": false, "cores": {"big": {"name": "slow", "count": 2, "gflops": 1, "memoryGBps": 10}}, "storage": {"readMBps": 1000, "readLatencyUs": 10, "mapUsPerMB": 60}, "memory": {"firstTouchUsPerMB": 60}, "codecs": {"zstdMBps": 1}, "interference": {"execute": 1, "prepare": 1}, "threadScaling": 0.9, "efficiency": {"": {"compute": 0.5, "memory": 0.5, "overheadUs": 1}},
 "gpu": {"name": "slow to start", "api": "vulkan1.1", "kind": "unified", "measured": false, "units": 8, "groupsPerUnit": 8, "gflops": 1000, "memoryGBps": 50, "startMs": 10000, "pipelineMs": 1, "uploadGBps": 10, "submitUs": 10, "syncUs": 10, "dispatchUs": 2}}

//--- refused.mlir
// expected-error @below {{found no function @main}}
module {
  func.func @other() { return }
}
