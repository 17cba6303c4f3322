// RUN: nnv12-opt %s | nnv12-opt | FileCheck %s
// RUN: nnv12-opt %s --mlir-print-op-generic | nnv12-opt | FileCheck %s
// Every operation round-trips.

// CHECK-LABEL: plan.program "x86-64-v4" threads(2) cold(1500000) warm(1000000) {
plan.program "x86-64-v4" threads(2) cold(1500000) warm(1000000) {
  // CHECK-NEXT: %[[R0:.*]] = plan.read 0 operand(1) storage(packed, stored)
  %r0 = plan.read 0 operand(1) storage(packed, stored)
  // CHECK-NEXT: %[[E0:.*]] = plan.execute 0 routine("conv.first") after(%[[R0]])
  %e0 = plan.execute 0 routine("conv.first") after(%r0)
  // CHECK-NEXT: %[[R1:.*]] = plan.read 1 operand(1) storage(raw, zstd)
  %r1 = plan.read 1 operand(1) storage(raw, zstd)
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
