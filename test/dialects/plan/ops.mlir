// RUN: nnv12-opt %s | nnv12-opt | FileCheck %s
// RUN: nnv12-opt %s --mlir-print-op-generic | nnv12-opt | FileCheck %s
// Every operation round-trips.

// CHECK-LABEL: plan.program "x86-64-v4" threads(2) cold(1500000) warm(1000000) {
plan.program "x86-64-v4" threads(2) cold(1500000) warm(1000000) {
  // CHECK-NEXT: %[[R0:.*]] = plan.read 0 operand(1) storage(packed)
  %r0 = plan.read 0 operand(1) storage(packed)
  // CHECK-NEXT: %[[E0:.*]] = plan.execute 0 routine("conv.first") after(%[[R0]])
  %e0 = plan.execute 0 routine("conv.first") after(%r0)
  // CHECK-NEXT: %[[R1:.*]] = plan.read 1 operand(1) storage(raw+zstd)
  %r1 = plan.read 1 operand(1) storage(raw+zstd)
  // CHECK-NEXT: %[[D1:.*]] = plan.decode 1 after(%[[R1]])
  %d1 = plan.decode 1 after(%r1)
  // CHECK-NEXT: %[[P1:.*]] = plan.transform 1 form("packed") routine("conv.direct") after(%[[D1]])
  %p1 = plan.transform 1 form("packed") routine("conv.direct") after(%d1)
  // CHECK-NEXT: %[[E1:.*]] = plan.execute 1 routine("conv.direct") after(%[[P1]])
  %e1 = plan.execute 1 routine("conv.direct") after(%p1)
  // CHECK-NEXT: %[[T1:.*]] = plan.transform 1 form("winograd4") routine("conv.winograd4") after(%[[P1]])
  %t1 = plan.transform 1 form("winograd4") routine("conv.winograd4") after(%p1)
  // CHECK-NEXT: plan.switch 1 routine("conv.winograd4") after(%[[T1]])
  plan.switch 1 routine("conv.winograd4") after(%t1)
  // CHECK-NEXT: %[[E2:.*]] = plan.execute 2 routine("pool")
  %e2 = plan.execute 2 routine("pool")
  // CHECK-NEXT: plan.lane execute on big queue(%[[R0]], %[[E0]], %[[E1]], %[[E2]])
  plan.lane execute on big queue(%r0, %e0, %e1, %e2)
  // CHECK-NEXT: plan.lane prepare on little queue(%[[R1]], %[[D1]], %[[P1]]) background(%[[T1]])
  plan.lane prepare on little queue(%r1, %d1, %p1) background(%t1)
}

// Not scheduled yet, no weights.
// CHECK-LABEL: plan.program "aarch64" threads(1) {
plan.program "aarch64" threads(1) {
  %e0 = plan.execute 0 routine("pool")
}

// What a GPU may take over.
// CHECK-LABEL: plan.program "x86-64-v3" threads(2) {
plan.program "x86-64-v3" threads(2) {
  // CHECK: %[[R0:.*]] = plan.read 0
  %r0 = plan.read 0 operand(1) storage(packed)
  %e0 = plan.execute 0 routine("conv.first") after(%r0)
  %e1 = plan.execute 1 routine("pool")
  // CHECK: plan.gpu "vulkan1.1+int64" profile("a GPU") start(at_open) cold(2000) warm(1000) {
  plan.gpu "vulkan1.1+int64" profile("a GPU") start(at_open) cold(2000) warm(1000) {
    // CHECK-NEXT: %[[D:.*]] = plan.device
    %d = plan.device
    // CHECK-NEXT: %[[P0:.*]] = plan.pipeline ["gpu.conv", "gpu.pool"] after(%[[D]])
    %p0 = plan.pipeline ["gpu.conv", "gpu.pool"] after(%d)
    // CHECK-NEXT: %[[U:.*]] = plan.upload 0 after(%[[D]], %[[R0]])
    %u = plan.upload 0 after(%d, %r0)
    // CHECK-NEXT: %[[C0:.*]] = plan.record 0 after(%[[D]], %[[P0]])
    %c0 = plan.record 0 after(%d, %p0)
    // CHECK-NEXT: %[[C1:.*]] = plan.record 1 after(%[[D]], %[[P0]])
    %c1 = plan.record 1 after(%d, %p0)
    // CHECK-NEXT: %[[C2:.*]] = plan.record 2 after(%[[D]], %[[P0]])
    %c2 = plan.record 2 after(%d, %p0)
    // CHECK-NEXT: plan.stretch layers(0, 2) after(%[[C0]], %[[U]]) cold warm predicted(800) {
    plan.stretch layers(0, 2) after(%c0, %u) cold warm predicted(800) {
      // CHECK-NEXT: plan.dispatch 0 routine("gpu.conv") kernels(["gpu.conv"]) predicted([500])
      plan.dispatch 0 routine("gpu.conv") kernels(["gpu.conv"]) predicted([500])
      // CHECK-NEXT: plan.dispatch 1 routine("gpu.pool") kernels(["gpu.pool"])
      plan.dispatch 1 routine("gpu.pool") kernels(["gpu.pool"])
    }
    // CHECK: plan.stretch layers(0, 2) after(%[[C1]], %[[U]]) predicted(500) split(2 at 16) {
    plan.stretch layers(0, 2) after(%c1, %u) predicted(500) split(2 at 16) {
      // CHECK-NEXT: plan.dispatch 0 routine("gpu.conv") kernels(["gpu.conv"]) front(17)
      plan.dispatch 0 routine("gpu.conv") kernels(["gpu.conv"]) front(17)
      // CHECK-NEXT: plan.dispatch 1 routine("gpu.pool") kernels(["gpu.pool"]) predicted([500]) half(1) front(16)
      plan.dispatch 1 routine("gpu.pool") kernels(["gpu.pool"]) predicted([500]) half(1) front(16)
      // CHECK-NEXT: plan.part 0 routine("conv.direct.nChw16c") back(15)
      plan.part 0 routine("conv.direct.nChw16c") back(15)
      // CHECK-NEXT: plan.part 1 routine("pool") back(16)
      plan.part 1 routine("pool") back(16)
    }
    // CHECK: plan.stretch layers(1, 1) after(%[[C2]]) cold {
    plan.stretch layers(1, 1) after(%c2) cold {
      plan.dispatch 1 routine("gpu.pool") kernels(["gpu.pool"])
    }
    // CHECK: plan.gpu_lane queue(%[[D]], %[[P0]], %[[C0]], %[[C1]], %[[C2]])
    plan.gpu_lane queue(%d, %p0, %c0, %c1, %c2)
    // CHECK-NEXT: plan.gpu_lane queue(%[[U]])
    plan.gpu_lane queue(%u)
  }
  plan.lane execute on any queue(%r0, %e0, %e1)
}
