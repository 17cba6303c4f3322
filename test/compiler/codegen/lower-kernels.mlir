// What nnv12c does with kernels, pass by pass in nnv12-opt.
// RUN: nnv12c %s --emit kernels --target x86-64-v4 --threads 1 -o %t.mlir
// RUN: FileCheck %s --check-prefix=KERNELS < %t.mlir
// RUN: nnv12-opt %t.mlir --lower-kernels | FileCheck %s --check-prefix=LLVM

// KERNELS: func.func @[[NAME:.*]].body({{.*}}memref<1099511627776xf32>
// KERNELS-SAME: entry = "[[NAME]]"
// KERNELS: vector.store
// LLVM-NOT: func.func
// LLVM: llvm.func internal @[[NAME:.*]].body(
// LLVM: llvm.func @[[NAME]](%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: !llvm.ptr)
// LLVM: llvm.call @[[NAME]].body(
func.func @main(%x: tensor<64xf32> {nn.name = "x"}) -> (tensor<64xf32> {nn.name = "y"}) {
  %0 = nn.unary %x <exp> : tensor<64xf32> -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
