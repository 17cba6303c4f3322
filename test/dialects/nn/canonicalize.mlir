// RUN: nnv12-opt %s --canonicalize --split-input-file | FileCheck %s

// The value of layers on constants: shape arithmetic first of all.

// CHECK-LABEL: @integers
func.func @integers() -> (tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi1>) {
  %a = nn.constant dense<[7, -7, 9223372036854775807]> : tensor<3xi64>
  %b = nn.constant dense<[2, 2, 1]> : tensor<3xi64>
  %one = nn.constant dense<1> : tensor<i64>
  // CHECK-DAG: dense<[9, -5, -9223372036854775808]> : tensor<3xi64>
  %sum = nn.binary add %a, %b : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
  // CHECK-DAG: dense<[3, -3, 9223372036854775807]> : tensor<3xi64>
  %quotient = nn.binary div %a, %b : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
  // CHECK-DAG: dense<[1, 1, 0]> : tensor<3xi64>
  %mod = nn.binary mod %a, %b : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
  // CHECK-DAG: dense<[1, -1, 0]> : tensor<3xi64>
  %fmod = nn.binary fmod %a, %b : tensor<3xi64>, tensor<3xi64> -> tensor<3xi64>
  // CHECK-DAG: dense<[true, false, true]> : tensor<3xi1>
  %greater = nn.binary greater %a, %one : tensor<3xi64>, tensor<i64> -> tensor<3xi1>
  return %sum, %quotient, %mod, %fmod, %greater : tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi1>
}

// -----

// CHECK-LABEL: @unsigned_and_narrow
func.func @unsigned_and_narrow() -> (tensor<2xui8>, tensor<2xi32>, tensor<2xui64>) {
  %a = nn.constant dense<[250, 3]> : tensor<2xui8>
  %b = nn.constant dense<[10, 5]> : tensor<2xui8>
  // CHECK-DAG: dense<[4, 8]> : tensor<2xui8>
  %sum = nn.binary add %a, %b : tensor<2xui8>, tensor<2xui8> -> tensor<2xui8>
  // CHECK-DAG: dense<[250, 3]> : tensor<2xi32>
  %wide = nn.cast %a : tensor<2xui8> -> tensor<2xi32>
  %c = nn.constant dense<[18446744073709551615, 8]> : tensor<2xui64>
  %d = nn.constant dense<[2, 2]> : tensor<2xui64>
  // CHECK-DAG: dense<[9223372036854775807, 4]> : tensor<2xui64>
  %half = nn.binary div %c, %d : tensor<2xui64>, tensor<2xui64> -> tensor<2xui64>
  return %sum, %wide, %half : tensor<2xui8>, tensor<2xi32>, tensor<2xui64>
}

// -----

// Division of an integer by zero has no value.
// CHECK-LABEL: @division_by_zero
func.func @division_by_zero() -> tensor<2xi64> {
  %a = nn.constant dense<[7, 8]> : tensor<2xi64>
  %b = nn.constant dense<[1, 0]> : tensor<2xi64>
  // CHECK: nn.binary div
  %q = nn.binary div %a, %b : tensor<2xi64>, tensor<2xi64> -> tensor<2xi64>
  return %q : tensor<2xi64>
}

// -----

// CHECK-LABEL: @floats
func.func @floats() -> (tensor<2xf32>, tensor<2xf16>, tensor<2xbf16>, tensor<4xf32>, tensor<2x1xf32>) {
  %a = nn.constant dense<[1.0, 0.1]> : tensor<2xf32>
  %b = nn.constant dense<[2.98023224E-8, 0.2]> : tensor<2xf32>
  // CHECK-DAG: dense<[1.000000e+00, 3.000000e-01]> : tensor<2xf32>
  %sum = nn.binary add %a, %b : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  %c = nn.constant dense<[65519.0, 1.0e-8]> : tensor<2xf64>
  // CHECK-DAG: dense<[6.550400e+04, 0.000000e+00]> : tensor<2xf16>
  %half = nn.cast %c : tensor<2xf64> -> tensor<2xf16>
  // CHECK-DAG: dense<[1.000000e+00, 1.000980e-01]> : tensor<2xbf16>
  %brain = nn.cast %a : tensor<2xf32> -> tensor<2xbf16>
  %d = nn.constant dense<[-1.0, 0.0, 0.5, 9.0]> : tensor<4xf32>
  // CHECK-DAG: dense<[0.000000e+00, 0.000000e+00, 5.000000e-01, 6.000000e+00]> : tensor<4xf32>
  %clip = nn.unary %d <clip [0.0, 6.0]> : tensor<4xf32> -> tensor<4xf32>
  %m = nn.constant dense<[[1.0, 2.0], [3.0, 5.0]]> : tensor<2x2xf32>
  // CHECK-DAG{LITERAL}: dense<[[1.500000e+00], [4.000000e+00]]> : tensor<2x1xf32>
  %mean = nn.reduce mean %m axes [1] keep_dims true : tensor<2x2xf32> -> tensor<2x1xf32>
  return %sum, %half, %brain, %clip, %mean : tensor<2xf32>, tensor<2xf16>, tensor<2xbf16>, tensor<4xf32>, tensor<2x1xf32>
}

// -----

// Float to integer truncates and is clamped; anything but zero is true.
// CHECK-LABEL: @casts
func.func @casts() -> (tensor<4xi8>, tensor<4xi1>) {
  %a = nn.constant dense<[300.7, -1.9, 0x7FC00000, 0.0]> : tensor<4xf32>
  // CHECK-DAG: dense<[127, -1, 0, 0]> : tensor<4xi8>
  %i8 = nn.cast %a : tensor<4xf32> -> tensor<4xi8>
  // CHECK-DAG: dense<[true, true, true, false]> : tensor<4xi1>
  %i1 = nn.cast %a : tensor<4xf32> -> tensor<4xi1>
  return %i8, %i1 : tensor<4xi8>, tensor<4xi1>
}

// -----

// Bits under another type and back; signs of zero in remainders.
// CHECK-LABEL: @bits
func.func @bits(%x: tensor<2xf32>) -> (tensor<2xi32>, tensor<2xf32>, tensor<3xf32>) {
  %a = nn.constant dense<[1.0, -0.0]> : tensor<2xf32>
  // CHECK-DAG: dense<[1065353216, -2147483648]> : tensor<2xi32>
  %i = nn.bitcast %a : tensor<2xf32> -> tensor<2xi32>
  %same = nn.bitcast %x : tensor<2xf32> -> tensor<2xf32>
  %n = nn.constant dense<[4.0, -7.0, 3.0]> : tensor<3xf32>
  %d = nn.constant dense<[-2.0, 3.0, 0xFF800000]> : tensor<3xf32>
  // CHECK-DAG: dense<[-0.000000e+00, 2.000000e+00, 0xFF800000]> : tensor<3xf32>
  %mod = nn.binary mod %n, %d : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  // CHECK: return %{{.*}}, %arg0, %{{.*}}
  return %i, %same, %mod : tensor<2xi32>, tensor<2xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: @movement
func.func @movement() -> (tensor<3x2xi32>, tensor<6xi32>, tensor<2x2xi32>, tensor<2x4xi32>, tensor<3x4xi32>, tensor<2x2xi32>, tensor<2x3x2xi32>) {
  %a = nn.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %column = nn.constant dense<[[7], [8]]> : tensor<2x1xi32>
  %indices = nn.constant dense<[-1, 0]> : tensor<2xi64>
  // CHECK-DAG{LITERAL}: dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>
  %t = nn.transpose %a [1, 0] : tensor<2x3xi32> -> tensor<3x2xi32>
  // CHECK-DAG: dense<[1, 2, 3, 4, 5, 6]> : tensor<6xi32>
  %r = nn.reshape %a : tensor<2x3xi32> -> tensor<6xi32>
  // CHECK-DAG{LITERAL}: dense<[[6, 4], [3, 1]]> : tensor<2x2xi32>
  %s = nn.slice %a starts [1, 2] sizes [2, 2] steps [-1, -2] : tensor<2x3xi32> -> tensor<2x2xi32>
  // CHECK-DAG{LITERAL}: dense<[[1, 2, 3, 7], [4, 5, 6, 8]]> : tensor<2x4xi32>
  %c = nn.concat %a, %column axis 1 : tensor<2x3xi32>, tensor<2x1xi32> -> tensor<2x4xi32>
  // CHECK-DAG{LITERAL}: dense<[[0, 0, 0, 0], [0, 1, 2, 3], [0, 4, 5, 6]]> : tensor<3x4xi32>
  %p = nn.pad constant %a low [1, 1] high [0, 0] : tensor<2x3xi32> -> tensor<3x4xi32>
  // CHECK-DAG{LITERAL}: dense<[[3, 1], [6, 4]]> : tensor<2x2xi32>
  %g = nn.gather %a, %indices axis 1 : tensor<2x3xi32>, tensor<2xi64> -> tensor<2x2xi32>
  %e = nn.reshape %t : tensor<3x2xi32> -> tensor<1x3x2xi32>
  // CHECK-DAG{LITERAL}: dense<[[[1, 4], [2, 5], [3, 6]], [[1, 4], [2, 5], [3, 6]]]> : tensor<2x3x2xi32>
  %b = nn.broadcast %e : tensor<1x3x2xi32> -> tensor<2x3x2xi32>
  return %t, %r, %s, %c, %p, %g, %b : tensor<3x2xi32>, tensor<6xi32>, tensor<2x2xi32>, tensor<2x4xi32>, tensor<3x4xi32>, tensor<2x2xi32>, tensor<2x3x2xi32>
}

// -----

// Equal elements stay one; what would grow to megabytes stays a layer.
// CHECK-LABEL: @large
func.func @large() -> (tensor<1024x1024xf32>, tensor<1024x1024xf32>) {
  %scalar = nn.constant dense<2.0> : tensor<f32>
  %row = nn.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
  // CHECK-DAG: nn.constant dense<4.000000e+00> : tensor<1024x1024xf32>
  %s = nn.broadcast %scalar : tensor<f32> -> tensor<1024x1024xf32>
  %sum = nn.binary mul %s, %s : tensor<1024x1024xf32>, tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  // CHECK-DAG: nn.broadcast
  %b = nn.broadcast %row : tensor<2x1xf32> -> tensor<2x524288xf32>
  %r = nn.reshape %b : tensor<2x524288xf32> -> tensor<1024x1024xf32>
  return %sum, %r : tensor<1024x1024xf32>, tensor<1024x1024xf32>
}

// -----

// CHECK-LABEL: @scatter_nd
func.func @scatter_nd() -> tensor<4xi64> {
  %a = nn.constant dense<0> : tensor<4xi64>
  %i = nn.constant dense<[[1], [-1]]> : tensor<2x1xi64>
  %u = nn.constant dense<[5, 6]> : tensor<2xi64>
  // CHECK: dense<[0, 5, 0, 6]> : tensor<4xi64>
  %r = nn.scatter_nd none %a, %i, %u : tensor<4xi64>, tensor<2x1xi64>, tensor<2xi64> -> tensor<4xi64>
  return %r : tensor<4xi64>
}

// -----

// What changes nothing is its operand.
// CHECK-LABEL: @identities
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32>)
func.func @identities(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %one = nn.constant dense<1.0> : tensor<f32>
  %zero = nn.constant dense<-0.0> : tensor<1x3xf32>
  %true = nn.constant dense<true> : tensor<2x3xi1>
  %0 = nn.unary %x <identity> : tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = nn.binary mul %one, %0 : tensor<f32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %2 = nn.binary add %1, %zero : tensor<2x3xf32>, tensor<1x3xf32> -> tensor<2x3xf32>
  %3 = nn.transpose %2 [0, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %4 = nn.slice %3 starts [0, 0] sizes [2, 3] steps [1, 1] : tensor<2x3xf32> -> tensor<2x3xf32>
  %5 = nn.pad reflect %4 low [0, 0] high [0, 0] : tensor<2x3xf32> -> tensor<2x3xf32>
  %6 = nn.concat %5 axis 0 : tensor<2x3xf32> -> tensor<2x3xf32>
  %7 = nn.cast %6 : tensor<2x3xf32> -> tensor<2x3xf32>
  %8 = nn.broadcast %7 : tensor<2x3xf32> -> tensor<2x3xf32>
  %9 = nn.select %true, %8, %zero : tensor<2x3xi1>, tensor<2x3xf32>, tensor<1x3xf32> -> tensor<2x3xf32>
  %10 = nn.unary %9 <neg> : tensor<2x3xf32> -> tensor<2x3xf32>
  %11 = nn.unary %10 <neg> : tensor<2x3xf32> -> tensor<2x3xf32>
  // CHECK-NEXT: return %[[X]]
  return %11 : tensor<2x3xf32>
}

// -----

// x + 0.0 is not x when x is -0.0.
// CHECK-LABEL: @signed_zero
func.func @signed_zero(%x: tensor<3xf32>) -> tensor<3xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  // CHECK: nn.binary add
  %0 = nn.binary add %x, %zero : tensor<3xf32>, tensor<f32> -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// A product with one that broadcasts x is no identity.
// CHECK-LABEL: @broadcasting_one
func.func @broadcasting_one(%x: tensor<3xf32>) -> tensor<2x3xf32> {
  %one = nn.constant dense<1.0> : tensor<2x1xf32>
  // CHECK: nn.binary mul
  %0 = nn.binary mul %x, %one : tensor<3xf32>, tensor<2x1xf32> -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// Two of a kind in a row are one.
// CHECK-LABEL: @compositions
// CHECK-SAME: (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @compositions(%x: tensor<2x3x4xf32>) -> (tensor<24xf32>, tensor<3x4x2xf32>, tensor<2x3x4xf32>, tensor<1x1x1xf32>) {
  // CHECK-DAG: nn.reshape %[[X]] : tensor<2x3x4xf32> -> tensor<24xf32>
  %0 = nn.reshape %x : tensor<2x3x4xf32> -> tensor<6x4xf32>
  %1 = nn.reshape %0 : tensor<6x4xf32> -> tensor<24xf32>
  // CHECK-DAG: nn.transpose %[[X]] [1, 2, 0]
  %2 = nn.transpose %x [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  %3 = nn.transpose %2 [2, 0, 1] : tensor<4x2x3xf32> -> tensor<3x4x2xf32>
  %4 = nn.transpose %3 [2, 0, 1] : tensor<3x4x2xf32> -> tensor<2x3x4xf32>
  // CHECK-DAG: nn.slice %[[X]] starts [1, 1, 3] sizes [1, 1, 1] steps [1, 1, 1]
  %5 = nn.slice %x starts [1, 1, 3] sizes [1, 2, 2] steps [1, 1, -2] : tensor<2x3x4xf32> -> tensor<1x2x2xf32>
  %6 = nn.slice %5 starts [0, 0, 0] sizes [1, 1, 1] steps [1, 2, 1] : tensor<1x2x2xf32> -> tensor<1x1x1xf32>
  // CHECK: return %{{.*}}, %{{.*}}, %[[X]], %{{.*}}
  return %1, %3, %4, %6 : tensor<24xf32>, tensor<3x4x2xf32>, tensor<2x3x4xf32>, tensor<1x1x1xf32>
}

// -----

// Constants are in logical order, so another layout is the same value.
// CHECK-LABEL: @adapt
// CHECK-SAME: (%[[X:.*]]: tensor<1x3x2x2xf32>)
func.func @adapt(%x: tensor<1x3x2x2xf32>) -> (tensor<32x16x1x1xf32, #nn.layout<"ABcd16b16a">>, tensor<1x3x2x2xf32>) {
  %w = nn.constant dense<1.0> : tensor<32x16x1x1xf32>
  // CHECK: nn.constant dense<1.000000e+00> : tensor<32x16x1x1xf32> -> tensor<32x16x1x1xf32, #nn.layout<"ABcd16b16a">>
  %0 = nn.adapt %w : tensor<32x16x1x1xf32> -> tensor<32x16x1x1xf32, #nn.layout<"ABcd16b16a">>
  %1 = nn.adapt %x : tensor<1x3x2x2xf32> -> tensor<1x3x2x2xf32, #nn.layout<"aBcd16b">>
  %2 = nn.adapt %1 : tensor<1x3x2x2xf32, #nn.layout<"aBcd16b">> -> tensor<1x3x2x2xf32>
  // CHECK: return %{{.*}}, %[[X]]
  return %0, %2 : tensor<32x16x1x1xf32, #nn.layout<"ABcd16b16a">>, tensor<1x3x2x2xf32>
}
