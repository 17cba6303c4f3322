// RUN: nnv12-opt %s --recognize-functions --split-input-file | FileCheck %s

// CHECK-LABEL: @numbers
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-DAG: nn.unary %[[X]] <affine [1.000000e+00, 3.000000e+00]>
// CHECK-DAG: nn.unary %[[X]] <affine [-1.000000e+00, 3.000000e+00]>
// CHECK-DAG: nn.unary %[[X]] <relu>
// CHECK-DAG: nn.unary %[[X]] <clip [0xFFF0000000000000, 3.000000e+00]>
// CHECK-DAG: nn.binary mul %[[X]], %[[X]]
// CHECK-DAG: nn.unary %[[X]] <leaky_relu [3.000000e+00]>
func.func @numbers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %three = nn.constant dense<3.0> : tensor<f32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %zero = nn.constant dense<0.0> : tensor<1xf32>
  %0 = nn.binary add %x, %three : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %1 = nn.binary sub %three, %x : tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  %2 = nn.binary max %x, %zero : tensor<4xf32>, tensor<1xf32> -> tensor<4xf32>
  %3 = nn.binary min %three, %x : tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  %4 = nn.binary pow %x, %two : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %5 = nn.binary prelu %x, %three : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// The order in which PaddlePaddle writes it: x * clip(x + 3, 0, 6) / 6.
// CHECK-LABEL: @paddle_hard_swish
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = nn.unary %[[X]] <hard_swish [0.16666{{.*}}, 5.000000e-01]>
// CHECK-NEXT: return %[[Y]]
func.func @paddle_hard_swish(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = nn.constant dense<3.0> : tensor<f32>
  %six = nn.constant dense<6.0> : tensor<f32>
  %0 = nn.binary add %x, %three : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %1 = nn.unary %0 <clip [0.0, 6.0]> : tensor<4xf32> -> tensor<4xf32>
  %2 = nn.binary mul %x, %1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %3 = nn.binary div %2, %six : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// x * (clip(x + 3, 0, 6) / 6), clip as min and max.
// CHECK-LABEL: @hard_swish
// CHECK-NEXT: nn.unary %{{.*}} <hard_swish [0.16666{{.*}}, 5.000000e-01]>
// CHECK-NEXT: return
func.func @hard_swish(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = nn.constant dense<3.0> : tensor<f32>
  %six = nn.constant dense<6.0> : tensor<f32>
  %zero = nn.constant dense<0.0> : tensor<f32>
  %0 = nn.binary add %x, %three : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %1 = nn.binary max %0, %zero : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %2 = nn.binary min %1, %six : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %3 = nn.binary div %2, %six : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %4 = nn.binary mul %3, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @hard_sigmoid
// CHECK-NEXT: nn.unary %{{.*}} <hard_sigmoid [2.000000e-01, 5.000000e-01]>
// CHECK-NEXT: return
func.func @hard_sigmoid(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.unary %x <affine [0.2, 0.5]> : tensor<4xf32> -> tensor<4xf32>
  %1 = nn.unary %0 <clip [0.0, 1.0]> : tensor<4xf32> -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// x is an affine itself, and stays one.
// CHECK-LABEL: @swish
// CHECK-NEXT: %[[X:.*]] = nn.unary %{{.*}} <affine
// CHECK-NEXT: %[[Y:.*]] = nn.unary %[[X]] <swish [1.000000e+00]>
// CHECK-NEXT: %[[Z:.*]] = nn.unary %[[X]] <swish [1.702000e+00]>
// CHECK-NEXT: return %[[Y]], %[[Z]]
func.func @swish(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %x = nn.unary %a <affine [2.0, 1.0]> : tensor<4xf32> -> tensor<4xf32>
  %0 = nn.unary %x <sigmoid> : tensor<4xf32> -> tensor<4xf32>
  %1 = nn.binary mul %x, %0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %2 = nn.unary %x <affine [1.702, 0.0]> : tensor<4xf32> -> tensor<4xf32>
  %3 = nn.unary %2 <sigmoid> : tensor<4xf32> -> tensor<4xf32>
  %4 = nn.binary mul %3, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %1, %4 : tensor<4xf32>, tensor<4xf32>
}

// -----

// 0.5 * x * (1 + erf(x / sqrt 2)), and with 0.5 at the end.
// CHECK-LABEL: @gelu
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = nn.unary %[[X]] <gelu>
// CHECK-NEXT: %[[Z:.*]] = nn.unary %[[X]] <gelu>
// CHECK-NEXT: return %[[Y]], %[[Z]]
func.func @gelu(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %half = nn.constant dense<0.5> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %root = nn.constant dense<1.41421354> : tensor<f32>
  %0 = nn.binary mul %half, %x : tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  %1 = nn.binary div %x, %root : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %2 = nn.unary %1 <erf> : tensor<4xf32> -> tensor<4xf32>
  %3 = nn.binary add %one, %2 : tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  %4 = nn.binary mul %0, %3 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %5 = nn.binary div %x, %root : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %6 = nn.unary %5 <erf> : tensor<4xf32> -> tensor<4xf32>
  %7 = nn.binary add %6, %one : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %8 = nn.binary mul %x, %7 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %9 = nn.binary mul %8, %half : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  return %4, %9 : tensor<4xf32>, tensor<4xf32>
}

// -----

// With the numbers that halves have for the root of 2, 0.044715, the root of
// 2 / pi and a sixth.
// CHECK-LABEL: @halves
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = nn.unary %[[X]] <gelu>
// CHECK-NEXT: %[[Z:.*]] = nn.unary %[[X]] <gelu_tanh>
// CHECK-NEXT: %[[V:.*]] = nn.unary %[[X]] <hard_swish
// CHECK-NEXT: return %[[Y]], %[[Z]], %[[V]]
func.func @halves(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %half = nn.constant dense<0.5> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %root = nn.constant dense<1.4140625> : tensor<f32>
  %0 = nn.binary mul %half, %x : tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  %1 = nn.binary div %x, %root : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %2 = nn.unary %1 <erf> : tensor<4xf32> -> tensor<4xf32>
  %3 = nn.binary add %one, %2 : tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  %4 = nn.binary mul %0, %3 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %three = nn.constant dense<3.0> : tensor<f32>
  %5 = nn.binary pow %x, %three : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %6 = nn.unary %5 <affine [0.044708251953125, 0.0]> : tensor<4xf32> -> tensor<4xf32>
  %7 = nn.binary add %x, %6 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %8 = nn.unary %7 <affine [0.7978515625, 0.0]> : tensor<4xf32> -> tensor<4xf32>
  %9 = nn.unary %8 <tanh> : tensor<4xf32> -> tensor<4xf32>
  %10 = nn.unary %9 <affine [1.0, 1.0]> : tensor<4xf32> -> tensor<4xf32>
  %half_x = nn.unary %x <affine [0.5, 0.0]> : tensor<4xf32> -> tensor<4xf32>
  %11 = nn.binary mul %half_x, %10 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %12 = nn.unary %x <affine [1.0, 3.0]> : tensor<4xf32> -> tensor<4xf32>
  %13 = nn.unary %12 <clip [0.0, 6.0]> : tensor<4xf32> -> tensor<4xf32>
  %14 = nn.unary %13 <affine [0.1666259765625, 0.0]> : tensor<4xf32> -> tensor<4xf32>
  %15 = nn.binary mul %x, %14 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %4, %11, %15 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @gelu_tanh
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: %[[Y:.*]] = nn.unary %[[X]] <gelu_tanh>
// CHECK-NEXT: return %[[Y]]
func.func @gelu_tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = nn.constant dense<3.0> : tensor<f32>
  %0 = nn.binary pow %x, %three : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %1 = nn.unary %0 <affine [0.044715, 0.0]> : tensor<4xf32> -> tensor<4xf32>
  %2 = nn.binary add %x, %1 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %3 = nn.unary %2 <affine [0.7978845834732056, 0.0]> : tensor<4xf32> -> tensor<4xf32>
  %4 = nn.unary %3 <tanh> : tensor<4xf32> -> tensor<4xf32>
  %5 = nn.unary %4 <affine [1.0, 1.0]> : tensor<4xf32> -> tensor<4xf32>
  %6 = nn.unary %x <affine [0.5, 0.0]> : tensor<4xf32> -> tensor<4xf32>
  %7 = nn.binary mul %6, %5 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  return %7 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @others
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-DAG: nn.unary %[[X]] <softplus>
// CHECK-DAG: nn.unary %[[X]] <sigmoid>
// CHECK-DAG: nn.unary %[[X]] <mish>
// CHECK-DAG: nn.unary %[[X]] <leaky_relu [1.000000e-01]>
// CHECK-DAG: nn.unary %[[X]] <clip [0.000000e+00, 6.000000e+00]>
func.func @others(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.unary %x <exp> : tensor<4xf32> -> tensor<4xf32>
  %1 = nn.binary add %0, %one : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %2 = nn.unary %1 <log> : tensor<4xf32> -> tensor<4xf32>
  %3 = nn.unary %x <neg> : tensor<4xf32> -> tensor<4xf32>
  %4 = nn.unary %3 <exp> : tensor<4xf32> -> tensor<4xf32>
  %5 = nn.binary add %4, %one : tensor<4xf32>, tensor<f32> -> tensor<4xf32>
  %6 = nn.binary div %one, %5 : tensor<f32>, tensor<4xf32> -> tensor<4xf32>
  %7 = nn.unary %x <softplus> : tensor<4xf32> -> tensor<4xf32>
  %8 = nn.unary %7 <tanh> : tensor<4xf32> -> tensor<4xf32>
  %9 = nn.binary mul %x, %8 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %10 = nn.unary %x <affine [0.1, 0.0]> : tensor<4xf32> -> tensor<4xf32>
  %11 = nn.binary max %x, %10 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %12 = nn.unary %x <relu> : tensor<4xf32> -> tensor<4xf32>
  %13 = nn.unary %12 <clip [-1.0, 6.0]> : tensor<4xf32> -> tensor<4xf32>
  return %2, %6, %9, %11, %13 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Another input, other numbers, integers, a sum that rounds on purpose.
// CHECK-LABEL: @refused
// CHECK: nn.unary %{{.*}} <sigmoid>
// CHECK-NEXT: nn.binary mul
// CHECK-NEXT: nn.unary %{{.*}} <affine
// CHECK-NEXT: nn.unary %{{.*}} <clip
// CHECK-NEXT: nn.binary mul
// CHECK-NEXT: nn.binary add
// CHECK-NEXT: nn.unary %{{.*}} <affine
// CHECK-NEXT: nn.unary %{{.*}} <affine
func.func @refused(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>) {
  %one = nn.constant dense<1> : tensor<i32>
  %0 = nn.unary %y <sigmoid> : tensor<4xf32> -> tensor<4xf32>
  %1 = nn.binary mul %x, %0 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %2 = nn.unary %x <affine [1.0, 3.0]> : tensor<4xf32> -> tensor<4xf32>
  %3 = nn.unary %2 <clip [0.0, 6.0]> : tensor<4xf32> -> tensor<4xf32>
  %4 = nn.binary mul %x, %3 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %5 = nn.binary add %i, %one : tensor<4xi32>, tensor<i32> -> tensor<4xi32>
  %6 = nn.unary %x <affine [1.0, 12582912.0]> : tensor<4xf32> -> tensor<4xf32>
  %7 = nn.unary %6 <affine [1.0, -12582912.0]> : tensor<4xf32> -> tensor<4xf32>
  return %1, %4, %5, %7 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>, tensor<4xf32>
}
