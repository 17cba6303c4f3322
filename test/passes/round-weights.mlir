// RUN: %python %S/Inputs/round_weights.py > %t.mlir
// RUN: nnv12-opt %t.mlir --nn-layout --plan-model=target=x86-64-v3 | FileCheck %s --check-prefix=EXACT --implicit-check-not=packed+
// RUN: nnv12-opt %t.mlir --nn-layout --round-weights --plan-model="target=x86-64-v3 keeps-narrow" | FileCheck %s --check-prefixes=CHECK,HALF
// RUN: nnv12-opt %t.mlir --nn-layout --round-weights=bits=q8 --plan-model="target=x86-64-v3 keeps-narrow" | FileCheck %s --check-prefixes=CHECK,BYTE
// RUN: nnv12-opt %t.mlir --nn-layout --round-weights=bits=auto --plan-model="target=x86-64-v3 keeps-narrow" | FileCheck %s --check-prefixes=CHECK,BYTE
// RUN: not nnv12-opt %s --round-weights=bits=q4 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: q4
// Layers by their names, of several the one with the most bits; the others stay as they are.
// RUN: nnv12-opt %t.mlir --nn-layout --round-weights="bits=f32 layers=first=q8,second=q8,merged=f16,another=f16" --plan-model="target=x86-64-v3 keeps-narrow" | FileCheck %s --check-prefix=NAMED
// NAMED: plan.read 1 operand(1) storage(packed+q8
// NAMED: plan.read 4 operand(1) storage(packed+f16
// NAMED: plan.read 5 operand(1) storage(packed)
// RUN: not nnv12-opt %t.mlir --nn-layout --round-weights="layers=first=q4" 2>&1 | FileCheck %s --check-prefix=BAD
// BAD: round-weights: found layers='first=q4', expected NAME=f32|f16|q8

// The plan finds weights that were rounded, of a convolution and of products.
// EXACT: plan.read 1
// CHECK: plan.read 1 operand(1) storage(packed+[[FORM:q8|f16]])
// Few stay, and so do those with another use, in another layout.
// CHECK: plan.read 2 operand(1) storage(packed)
// CHECK: plan.read 4 operand(1) storage(packed+[[FORM]])
// CHECK: plan.read 5 operand(1) storage(packed+[[FORM]])
// CHECK: plan.read 6 operand(0) storage(packed)
// Some are beyond the largest half.
// HALF: plan.read 7 operand(1) storage(packed)
// BYTE: plan.read 7 operand(1) storage(packed+q8)
module {}
