// RUN: nnv12-opt %s --fold-scale --split-input-file | FileCheck %s

// Batch normalisation: a scale and a shift by output channel.
// CHECK-LABEL: @batch_norm
// CHECK-SAME: (%[[X:[^:]*]]: tensor
// CHECK-DAG: %[[W:.*]] = nn.constant dense<{{\[}}{{\[\[}}[2.000000e+00]]], {{\[\[}}[9.000000e+00]]]]> : tensor<2x1x1x1xf32>
// CHECK-DAG: %[[B:.*]] = nn.constant dense<[1.200000e+01, 2.600000e+01]> : tensor<2xf32>
// CHECK: %[[C:.*]] = nn.conv %[[X]], %[[W]] bias %[[B]]
// CHECK-NEXT: return %[[C]]
func.func @batch_norm(%x: tensor<1x1x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<[[[[1.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %b = nn.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %scale = nn.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %shift = nn.constant dense<[[[[10.0]], [[20.0]]]]> : tensor<1x2x1x1xf32>
  %0 = nn.conv %x, %w bias %b strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32> bias tensor<2xf32> -> tensor<1x2x4x4xf32>
  %1 = nn.binary mul %0, %scale : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
  %2 = nn.binary add %shift, %1 : tensor<1x2x1x1xf32>, tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  return %2 : tensor<1x2x4x4xf32>
}

// -----

// A bias alone leaves the weights as they are, shared or not.
// CHECK-LABEL: @bias
// CHECK-COUNT-2: bias %{{.*}} strides
// CHECK-NOT: nn.binary
func.func @bias(%x: tensor<1x1x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %w = nn.constant dense<[[[[1.0]]], [[[3.0]]]]> : tensor<2x1x1x1xf32>
  %shift = nn.constant dense<[[[10.0]], [[20.0]]]> : tensor<2x1x1xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32> -> tensor<1x2x4x4xf32>
  %1 = nn.binary add %0, %shift : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
  %2 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x1x4x4xf32>, tensor<2x1x1x1xf32> -> tensor<1x2x4x4xf32>
  %3 = nn.binary sub %2, %one : tensor<1x2x4x4xf32>, tensor<f32> -> tensor<1x2x4x4xf32>
  return %1, %3 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// -----

// Groups of a transposed convolution: its weights are [C, O/G, kernel].
// CHECK-LABEL: @groups
// CHECK{LITERAL}: dense<[[[[1.000000e+00]], [[2.000000e+00]]], [[[3.000000e+00]], [[4.000000e+00]]]]> : tensor<2x2x1x1xf32>
// CHECK: nn.conv_transpose
// CHECK-NOT: nn.binary
func.func @groups(%x: tensor<1x2x4x4xf32>) -> tensor<1x4x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %scale = nn.constant dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %0 = nn.conv_transpose %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] output_padding [0, 0] {groups = 2 : i64} : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x4x4x4xf32>
  %1 = nn.binary mul %0, %scale : tensor<1x4x4x4xf32>, tensor<4x1x1xf32> -> tensor<1x4x4x4xf32>
  return %1 : tensor<1x4x4x4xf32>
}

// -----

// CHECK-LABEL: @matmul
// CHECK-DAG: %[[W:.*]] = nn.constant dense<{{\[}}[2.000000e+00, 4.000000e+00], [3.000000e+00, 9.000000e+00]]> : tensor<2x2xf32>
// CHECK-DAG: %[[B:.*]] = nn.constant dense<[1.000000e+00, -1.000000e+00]> : tensor<2xf32>
// CHECK: %[[C:.*]] = nn.matmul %{{.*}}, %[[W]] bias %[[B]]
// CHECK-NEXT: return %[[C]]
func.func @matmul(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = nn.constant dense<[[1.0, 2.0], [1.0, 3.0]]> : tensor<2x2xf32>
  %scale = nn.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %shift = nn.constant dense<[[1.0, -1.0]]> : tensor<1x2xf32>
  %0 = nn.matmul %x, %w {transpose_rhs = true} : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %1 = nn.binary mul %0, %scale : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  %2 = nn.binary add %1, %shift : tensor<3x2xf32>, tensor<1x2xf32> -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}

// -----

// Before a convolution: the scale by input channel, the shift into the bias.
// CHECK-LABEL: @before
// CHECK-SAME: (%[[X:[^:]*]]: tensor
// CHECK-DAG: %[[W:.*]] = nn.constant dense<1.000000e+00> : tensor<1x2x1x1xf32>
// CHECK-DAG: %[[B:.*]] = nn.constant dense<-7.000000e+00> : tensor<1xf32>
// CHECK: nn.conv %[[X]], %[[W]] bias %[[B]]
// CHECK-NEXT: return
func.func @before(%x: tensor<1x2x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = nn.constant dense<[[[[2.0]], [[3.0]]]]> : tensor<1x2x1x1xf32>
  %mean = nn.constant dense<[[[4.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %deviation = nn.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %0 = nn.binary sub %x, %mean : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
  %1 = nn.binary div %0, %deviation : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
  %2 = nn.conv %1, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32>, tensor<1x2x1x1xf32> -> tensor<1x1x4x4xf32>
  return %2 : tensor<1x1x4x4xf32>
}

// -----

// The padding is not shifted.
// CHECK-LABEL: @shift_before_padding
// CHECK: nn.binary add
func.func @shift_before_padding(%x: tensor<1x1x4x4xf32>) -> tensor<1x1x4x4xf32> {
  %w = nn.constant dense<1.0> : tensor<1x1x3x3xf32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.binary add %x, %one : tensor<1x1x4x4xf32>, tensor<f32> -> tensor<1x1x4x4xf32>
  %1 = nn.conv %0, %w strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1] : tensor<1x1x4x4xf32>, tensor<1x1x3x3xf32> -> tensor<1x1x4x4xf32>
  return %1 : tensor<1x1x4x4xf32>
}

// -----

// Another user sees the convolution without the scale; an activation is between;
// the scale is no number by channel.
// CHECK-LABEL: @refused
// CHECK-COUNT-3: nn.binary mul
func.func @refused(%x: tensor<1x2x4x4xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %w = nn.constant dense<1.0> : tensor<2x2x1x1xf32>
  %scale = nn.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %columns = nn.constant dense<[2.0, 3.0, 4.0, 5.0]> : tensor<4xf32>
  %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  %1 = nn.binary mul %0, %scale : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
  %2 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] {activation = #nn.fn<relu>} : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  %3 = nn.binary mul %2, %scale : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
  %4 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  %5 = nn.binary mul %4, %columns : tensor<1x2x4x4xf32>, tensor<4xf32> -> tensor<1x2x4x4xf32>
  return %0, %1, %3, %5 : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// -----

// Rounding on purpose: a shift that another one cancels, or one so large that its
// sums have no fraction.
// CHECK-LABEL: @rounding
// CHECK: nn.matmul
// CHECK: nn.binary add
// CHECK: nn.binary sub
// CHECK: nn.matmul %{{.*}} bias
// CHECK: nn.binary sub
// CHECK: return
func.func @rounding(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %w = nn.constant dense<[[1.0, 2.0], [1.0, 3.0]]> : tensor<2x2xf32>
  %large = nn.constant dense<12582912.0> : tensor<f32>
  %thousand = nn.constant dense<1000.0> : tensor<f32>
  %0 = nn.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %1 = nn.binary add %0, %large : tensor<3x2xf32>, tensor<f32> -> tensor<3x2xf32>
  %2 = nn.binary sub %1, %large : tensor<3x2xf32>, tensor<f32> -> tensor<3x2xf32>
  %3 = nn.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %4 = nn.binary add %3, %thousand : tensor<3x2xf32>, tensor<f32> -> tensor<3x2xf32>
  %5 = nn.binary sub %4, %thousand : tensor<3x2xf32>, tensor<f32> -> tensor<3x2xf32>
  return %2, %5 : tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// What cancels the input stays in front: x - 1e6 is exact close to 1e6.
// CHECK-LABEL: @large_shift_before
// CHECK: nn.binary sub
// CHECK-NEXT: nn.matmul
func.func @large_shift_before(%x: tensor<3x2xf32>) -> tensor<3x2xf32> {
  %w = nn.constant dense<[[1.0, 2.0], [1.0, 3.0]]> : tensor<2x2xf32>
  %large = nn.constant dense<1.0e6> : tensor<f32>
  %0 = nn.binary sub %x, %large : tensor<3x2xf32>, tensor<f32> -> tensor<3x2xf32>
  %1 = nn.matmul %0, %w : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}

// -----

// Weights and bias stay in the range of their type.
// CHECK-LABEL: @range
// CHECK: nn.matmul
// CHECK-NEXT: nn.binary mul
// CHECK: nn.matmul
// CHECK-NEXT: nn.binary mul
// CHECK: nn.matmul %{{.*}} bias
// CHECK-NEXT: nn.binary add
func.func @range(%x: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>) {
  %w = nn.constant dense<1.0e25> : tensor<2x2xf32>
  %v = nn.constant dense<1.0e-25> : tensor<2x2xf32>
  %b = nn.constant dense<3.0e38> : tensor<2xf32>
  %up = nn.constant dense<[1.0e20, 1.0]> : tensor<2xf32>
  %down = nn.constant dense<[1.0e-20, 1.0]> : tensor<2xf32>
  %0 = nn.matmul %x, %w : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %1 = nn.binary mul %0, %up : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  %2 = nn.matmul %x, %v : tensor<3x2xf32>, tensor<2x2xf32> -> tensor<3x2xf32>
  %3 = nn.binary mul %2, %down : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  %4 = nn.matmul %x, %w bias %b : tensor<3x2xf32>, tensor<2x2xf32> bias tensor<2xf32> -> tensor<3x2xf32>
  %5 = nn.binary add %4, %b : tensor<3x2xf32>, tensor<2xf32> -> tensor<3x2xf32>
  return %1, %3, %5 : tensor<3x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}

// -----

// Weights of bytes stay on their grid: the scale of a layer behind is one of
// theirs, and so is a number before, but not numbers by input channel.
// CHECK-LABEL: @bytes
// CHECK-DAG: %[[W:.*]] = nn.constant dense<{{.*}}> : tensor<2x2x1x1xi8>
// CHECK-DAG: %[[S:.*]] = nn.constant dense<{{.*}}1.000000e+00{{.*}}3.000000e+00{{.*}}> : tensor<2x1x1x1xf32>
// CHECK: %[[V:.*]] = nn.dequantize %[[W]] scale %[[S]]
// CHECK: %[[Y:.*]] = nn.conv %{{.*}}, %[[V]]
// CHECK: %[[R:.*]] = nn.unary %[[Y]]
// CHECK: %[[M:.*]] = nn.binary mul %[[R]]
// CHECK: nn.conv %[[M]]
func.func @bytes(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32> {
  %w = nn.constant dense<[[[[1]], [[2]]], [[[3]], [[4]]]]> : tensor<2x2x1x1xi8>
  %s = nn.constant dense<[[[[0.25]]], [[[0.5]]]]> : tensor<2x1x1x1xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %after = nn.constant dense<[[[2.0]], [[3.0]]]> : tensor<2x1x1xf32>
  %0 = nn.dequantize %w scale %s : tensor<2x2x1x1xi8>, tensor<2x1x1x1xf32> -> tensor<2x2x1x1xf32>
  %1 = nn.binary mul %x, %two : tensor<1x2x4x4xf32>, tensor<f32> -> tensor<1x2x4x4xf32>
  %2 = nn.conv %1, %0 strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  %3 = nn.binary mul %2, %after : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
  %4 = nn.unary %3 <relu> : tensor<1x2x4x4xf32> -> tensor<1x2x4x4xf32>
  %5 = nn.binary mul %4, %after : tensor<1x2x4x4xf32>, tensor<2x1x1xf32> -> tensor<1x2x4x4xf32>
  %6 = nn.conv %5, %0 strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x2x4x4xf32>, tensor<2x2x1x1xf32> -> tensor<1x2x4x4xf32>
  return %6 : tensor<1x2x4x4xf32>
}
