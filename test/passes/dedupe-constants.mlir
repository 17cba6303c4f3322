// RUN: nnv12-opt %s --dedupe-constants | FileCheck %s

// Resources of equal content are one; another type or a splat is another.
// CHECK-LABEL: @resources
// CHECK: %[[A:.*]] = nn.constant dense_resource<first> : tensor<2xf32>
// CHECK-NEXT: %[[D:.*]] = nn.constant dense_resource<fourth> : tensor<2xi32>
// CHECK-NEXT: %[[C:.*]] = nn.constant dense_resource<third> : tensor<2xf32>
// CHECK-NEXT: return %[[A]], %[[A]], %[[C]], %[[D]]
func.func @resources() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi32>) {
  %0 = nn.constant dense_resource<first> : tensor<2xf32>
  %1 = nn.constant dense_resource<second> : tensor<2xf32>
  %unused = nn.constant dense<1.0> : tensor<7xf32>
  %3 = nn.constant dense_resource<fourth> : tensor<2xi32>
  %2 = nn.constant dense_resource<third> : tensor<2xf32>
  return %0, %1, %2, %3 : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xi32>
}

{-#
  dialect_resources: {
    builtin: {
      first: "0x040000000000803F00000040",
      second: "0x040000000000803F00000040",
      third: "0x040000000000804000000040",
      fourth: "0x040000000000803F00000040"
    }
  }
#-}
