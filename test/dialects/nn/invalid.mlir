// RUN: nnv12-opt %s -split-input-file -verify-diagnostics
// What the verifiers refuse: found, expected.

// expected-error @below {{layout 'aBcd16b' does not name each of 3 dimensions once}}
func.func @layout(%x: tensor<1x2x3xf32, #nn.layout<"aBcd16b">>) { return }

// -----
func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be}}
  %0 = "nn.unary"(%x) {function = #nn.fn<relu>} : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----
func.func @broadcast(%x: tensor<2x3xf32>, %y: tensor<2xf32>) {
  // expected-error @below {{found shape [2], expected one that broadcasts with [2, 3]}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.binary add %x, %y : tensor<2x3xf32>, tensor<2xf32> -> tensor<2x3xf32>
  return
}

// -----
func.func @types(%x: tensor<2xf32>, %y: tensor<2xi32>) {
  // expected-error @below {{found element types 'f32' and 'i32', expected the same}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.binary add %x, %y : tensor<2xf32>, tensor<2xi32> -> tensor<2xf32>
  return
}

// -----
func.func @result(%x: tensor<2xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<3xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.unary %x <relu> : tensor<2xf32> -> tensor<3xf32>
  return
}

// -----
func.func @reshape(%x: tensor<2x3xf32>) {
  // expected-error @below {{expected the same number and type of elements}}
  %0 = nn.reshape %x : tensor<2x3xf32> -> tensor<7xf32>
  return
}

// -----
func.func @transpose(%x: tensor<2x3xf32>) {
  // expected-error @below {{found perm [0, 0], expected a permutation of 2 dimensions}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.transpose %x [0, 0] : tensor<2x3xf32> -> tensor<2x2xf32>
  return
}

// -----
func.func @slice(%x: tensor<4xf32>) {
  // expected-error @below {{found slice start 2, size 3, step 1 in dimension 0, expected it inside 4 elements}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.slice %x starts [2] sizes [3] steps [1] : tensor<4xf32> -> tensor<3xf32>
  return
}

// -----
func.func @conv(%x: tensor<1x3x8x8xf32>, %w: tensor<4x4x3x3xf32>) {
  // expected-error @below {{expected channels = weights[1] * groups}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x3x8x8xf32>, tensor<4x4x3x3xf32> -> tensor<1x4x6x6xf32>
  return
}

// -----
func.func @window(%x: tensor<1x3x2x2xf32>) {
  // expected-error @below {{found a window of 3 over dimension 2 of 2 padded elements, expected it to fit}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.pool max %x kernel [3, 3] strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x3x2x2xf32> -> tensor<1x3x1x1xf32>
  return
}

// -----
func.func @matmul(%x: tensor<2x3xf32>, %y: tensor<4x2xf32>) {
  // expected-error @below {{found inner dimensions 3 and 4, expected the same}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.matmul %x, %y : tensor<2x3xf32>, tensor<4x2xf32> -> tensor<2x2xf32>
  return
}

// -----
func.func @adapt(%x: tensor<2x3xf32>) {
  // expected-error @below {{found types that differ in more than their layout}}
  %0 = nn.adapt %x : tensor<2x3xf32> -> tensor<3x2xf32>
  return
}

// -----
func.func @fuse(%x: tensor<2xf32>) {
  // expected-error @below {{expected to yield one value of the result's type}}
  %0 = nn.fuse (%a = %x) : (tensor<2xf32>) -> tensor<3xf32> {
    nn.yield %a : tensor<2xf32>
  }
  return
}

// -----
func.func @add_small(%x: tensor<2xf8E4M3FN>) {
  // expected-error @below {{found elements of 'f8E4M3FN', which are moved and cast alone, expected a type to compute with}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.binary add %x, %x : tensor<2xf8E4M3FN>, tensor<2xf8E4M3FN> -> tensor<2xf8E4M3FN>
  return
}

// -----
func.func @relu_small(%x: tensor<2xi4>) {
  // expected-error @below {{found elements of 'i4', which are moved and cast alone, expected a type to compute with}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.unary %x <relu> : tensor<2xi4> -> tensor<2xi4>
  return
}

// -----
func.func @resize_small(%x: tensor<1x1x2xf4E2M1FN>) {
  // expected-error @below {{found elements of 'f4E2M1FN', expected a type to compute with}}
  %0 = nn.resize nearest %x scales [1.0, 1.0, 2.0] coordinates asymmetric nearest floor : tensor<1x1x2xf4E2M1FN> -> tensor<1x1x4xf4E2M1FN>
  return
}

// -----
func.func @resize_roi(%x: tensor<4xf32>) {
  // expected-error @below {{found a roi of 1.000000e+18, expected from -1.048576e+06 to 1.048576e+06}}
  %0 = nn.resize linear %x scales [0.5] coordinates tf_crop_and_resize nearest floor {antialias = true, roi = array<f64: 1.0e18, 1.0e18>} : tensor<4xf32> -> tensor<2xf32>
  return
}

// -----
func.func @cast_rounding(%x: tensor<2xf32>) {
  // expected-error @below {{found rounding up to 'f8E5M2', expected f8E8M0FNU}}
  %0 = nn.cast %x {rounding = #nn<rounding up>} : tensor<2xf32> -> tensor<2xf8E5M2>
  return
}

// -----
func.func @bitcast(%x: tensor<2xf32>) {
  // expected-error @below {{found 'tensor<2xf32>' to 'tensor<2xi16>', expected one shape and elements of one width}}
  %0 = nn.bitcast %x : tensor<2xf32> -> tensor<2xi16>
  return
}

// -----
func.func @bitcast_bool(%x: tensor<2xi1>) {
  // expected-error @below {{expected one shape and elements of one width}}
  %0 = nn.bitcast %x : tensor<2xi1> -> tensor<2xui8>
  return
}

// -----
func.func @grid(%x: tensor<1x2x4x4x4xf32>, %g: tensor<1x3x3x3x2xf32>) {
  // expected-error @below {{found input [1, 2, 4, 4, 4] and grid [1, 3, 3, 3, 2], expected [N, C, H, W] and [N, H, W, 2], or [N, C, D, H, W] and [N, D, H, W, 3]}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.grid_sample linear %x, %g padding "zeros" align_corners false : tensor<1x2x4x4x4xf32>, tensor<1x3x3x3x2xf32> -> tensor<1x2x3x3x3xf32>
  return
}

// -----
func.func @counted_pads(%x: tensor<1x3x4x4xf32>) {
  // expected-error @below {{found counted_pads_high [1], expected 0 to the pad for each of [1, 1]}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.pool average %x kernel [2, 2] strides [1, 1] dilations [1, 1] pads [0, 0], [1, 1] {count_include_pad = true, counted_pads_high = array<i64: 1>} : tensor<1x3x4x4xf32> -> tensor<1x3x4x4xf32>
  return
}

// -----
func.func @counted_pads_beyond(%x: tensor<1x3x4x4xf32>) {
  // expected-error @below {{found counted_pads_high [1, 2], expected 0 to the pad for each of [1, 1]}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.pool average %x kernel [2, 2] strides [1, 1] dilations [1, 1] pads [0, 0], [1, 1] {count_include_pad = true, counted_pads_high = array<i64: 1, 2>} : tensor<1x3x4x4xf32> -> tensor<1x3x4x4xf32>
  return
}

// -----
func.func @conv_weights(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf64>) {
  // expected-error @below {{found element types 'f32' and 'f64', expected the same}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.conv %x, %w strides [1] dilations [1] pads [0], [0] : tensor<1x3x8xf32>, tensor<4x3x3xf64> -> tensor<1x4x6xf32>
  return
}

// -----
func.func @conv_bias(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{found a bias of 'f64', expected 'f32'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.conv %x, %w bias %b strides [1] dilations [1] pads [0], [0] : tensor<1x3x8xf32>, tensor<4x3x3xf32> bias tensor<4xf64> -> tensor<1x4x6xf32>
  return
}

// -----
func.func @conv_integer_bias(%x: tensor<1x3x8xui8>, %w: tensor<4x3x3xi8>, %b: tensor<4xi8>) {
  // expected-error @below {{found a bias of 'i8', expected 'i32'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.conv %x, %w bias %b strides [1] dilations [1] pads [0], [0] : tensor<1x3x8xui8>, tensor<4x3x3xi8> bias tensor<4xi8> -> tensor<1x4x6xi32>
  return
}

// -----
func.func @product_of_unlike_integers(%x: tensor<2x3xi64>, %y: tensor<3x2xi32>) {
  // expected-error @below {{found element types 'i64' and 'i32', expected the same}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.matmul %x, %y : tensor<2x3xi64>, tensor<3x2xi32> -> tensor<2x2xi64>
  return
}

// -----
func.func @transposed_weights(%x: tensor<1x3x8xf32>, %w: tensor<3x4x1xf64>) {
  // expected-error @below {{found input of 'f32' and weights of 'f64', expected the same}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.conv_transpose %x, %w strides [1] dilations [1] pads [0], [0] output_padding [0] : tensor<1x3x8xf32>, tensor<3x4x1xf64> -> tensor<1x4x8xf32>
  return
}

// -----
func.func @transposed_bias(%x: tensor<1x3x8xf32>, %w: tensor<3x4x1xf32>, %b: tensor<4xf16>) {
  // expected-error @below {{found a bias of 'f16', expected 'f32'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.conv_transpose %x, %w bias %b strides [1] dilations [1] pads [0], [0] output_padding [0] : tensor<1x3x8xf32>, tensor<3x4x1xf32> bias tensor<4xf16> -> tensor<1x4x8xf32>
  return
}

// -----
func.func @matmul_bias(%x: tensor<2x3xf32>, %y: tensor<3x4xf32>, %b: tensor<4xf64>) {
  // expected-error @below {{found a bias of 'f64', expected 'f32'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = nn.matmul %x, %y bias %b : tensor<2x3xf32>, tensor<3x4xf32> bias tensor<4xf64> -> tensor<2x4xf32>
  return
}

// -----
func.func @recurrent_weights(%gates: tensor<5x2x12xf32>, %r: tensor<12x3xf64>) {
  // expected-error @below {{found an operand or result of 'tensor<12x3xf64>', expected elements of 'f32', as the gates}}
  %0:3 = "nn.recurrent"(%gates, %r) {kind = #nn<recurrent_kind lstm>, activations = [#nn.fn<sigmoid>, #nn.fn<tanh>, #nn.fn<tanh>], reverse = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0>} : (tensor<5x2x12xf32>, tensor<12x3xf64>) -> (tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----
func.func @recurrent_state(%gates: tensor<5x2x12xf32>, %r: tensor<12x3xf32>, %c: tensor<2x3xf16>) {
  // expected-error @below {{found an operand or result of 'tensor<2x3xf16>', expected elements of 'f32', as the gates}}
  %0:3 = "nn.recurrent"(%gates, %r, %c) {kind = #nn<recurrent_kind lstm>, activations = [#nn.fn<sigmoid>, #nn.fn<tanh>, #nn.fn<tanh>], reverse = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 1, 0, 0>} : (tensor<5x2x12xf32>, tensor<12x3xf32>, tensor<2x3xf16>) -> (tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----
func.func @recurrent_lengths(%gates: tensor<5x2x12xf32>, %r: tensor<12x3xf32>, %l: tensor<2xi64>) {
  // expected-error @below {{found lengths of 'i64', expected i32}}
  %0:3 = "nn.recurrent"(%gates, %r, %l) {kind = #nn<recurrent_kind lstm>, activations = [#nn.fn<sigmoid>, #nn.fn<tanh>, #nn.fn<tanh>], reverse = false, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 1>} : (tensor<5x2x12xf32>, tensor<12x3xf32>, tensor<2xi64>) -> (tensor<5x2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return
}

// -----
func.func @quantize_input(%x: tensor<2xi32>, %s: tensor<f32>) {
  // expected-error @below {{'nn.quantize' op found 'tensor<2xi32>', expected an input of f32}}
  %0 = nn.quantize %x scale %s : tensor<2xi32>, tensor<f32> -> tensor<2xui8>
  return
}

// -----
func.func @quantize_result(%x: tensor<2xf32>, %s: tensor<f32>) {
  // expected-error @below {{'nn.quantize' op found 'tensor<2xi32>', expected integers of 2 to 16 bits}}
  %0 = nn.quantize %x scale %s : tensor<2xf32>, tensor<f32> -> tensor<2xi32>
  return
}

// -----
func.func @quantize_zero(%x: tensor<2xf32>, %s: tensor<f32>, %z: tensor<i8>) {
  // expected-error @below {{'nn.quantize' op found a zero point of 'tensor<i8>', expected elements of 'ui8'}}
  %0 = nn.quantize %x scale %s zero %z : tensor<2xf32>, tensor<f32>, tensor<i8> -> tensor<2xui8>
  return
}

// -----
func.func @dequantize_scale(%x: tensor<2x3xi8>, %s: tensor<2xf32>) {
  // expected-error @below {{'nn.dequantize' op found a scale or zero point 'tensor<2xf32>', expected one that broadcasts to [2, 3]}}
  %0 = nn.dequantize %x scale %s : tensor<2x3xi8>, tensor<2xf32> -> tensor<2x3xf32>
  return
}

// -----
func.func @qconv_padding(%x: tensor<1x4x5x5xui8>, %w: tensor<8x4x1x1xi8>, %p: tensor<i8>) {
  // expected-error @below {{'nn.qconv' op found padding 'tensor<i8>', expected a scalar of 'ui8'}}
  %0 = nn.qconv %x, %w padding %p strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x4x5x5xui8>, tensor<8x4x1x1xi8> padding tensor<i8> -> tensor<1x8x5x5xi32>
  return
}

// -----
func.func @qconv_result(%x: tensor<1x4x5x5xui8>, %w: tensor<8x4x1x1xi8>, %s: tensor<8xf32>) {
  // expected-error @below {{'nn.qconv' op found a result of 'i32', expected f32 or 8-bit integers}}
  %0 = nn.qconv %x, %w scale %s strides [1, 1] dilations [1, 1] pads [0, 0], [0, 0] : tensor<1x4x5x5xui8>, tensor<8x4x1x1xi8> scale tensor<8xf32> -> tensor<1x8x5x5xi32>
  return
}

// -----
func.func @qmatmul_residual_shape(%x: tensor<3x4xui8>, %w: tensor<4x8xi8>, %s: tensor<8xf32>, %r: tensor<3x8xui8>, %q: tensor<3x1xui8>, %f: tensor<f32>, %z: tensor<i8>) {
  // expected-error @below {{'nn.qmatmul' op found a residual 'tensor<3x1xui8>', expected 8-bit integers or f32 of shape [3, 8]}}
  %0 = nn.qmatmul %x, %w residual %q scale %s step %s residual_scale %f : tensor<3x4xui8>, tensor<4x8xi8> residual tensor<3x1xui8> scale tensor<8xf32> step tensor<8xf32> residual_scale tensor<f32> -> tensor<3x8xui8>
  return
}

// -----
func.func @qmatmul_residual_scale(%x: tensor<3x4xui8>, %w: tensor<4x8xi8>, %s: tensor<8xf32>, %r: tensor<3x8xui8>, %q: tensor<3x1xui8>, %f: tensor<f32>, %z: tensor<i8>) {
  // expected-error @below {{'nn.qmatmul' op found no scale of the residual, expected one}}
  %0 = nn.qmatmul %x, %w residual %r scale %s step %s : tensor<3x4xui8>, tensor<4x8xi8> residual tensor<3x8xui8> scale tensor<8xf32> step tensor<8xf32> -> tensor<3x8xui8>
  return
}

// -----
func.func @qmatmul_no_residual(%x: tensor<3x4xui8>, %w: tensor<4x8xi8>, %s: tensor<8xf32>, %r: tensor<3x8xui8>, %q: tensor<3x1xui8>, %f: tensor<f32>, %z: tensor<i8>) {
  // expected-error @below {{'nn.qmatmul' op found no residual, expected one for its scale and zero point}}
  %0 = nn.qmatmul %x, %w scale %s step %s residual_scale %f : tensor<3x4xui8>, tensor<4x8xi8> scale tensor<8xf32> step tensor<8xf32> residual_scale tensor<f32> -> tensor<3x8xui8>
  return
}

// -----
func.func @qmatmul_no_step(%x: tensor<3x4xui8>, %w: tensor<4x8xi8>, %s: tensor<8xf32>, %r: tensor<3x8xui8>, %q: tensor<3x1xui8>, %f: tensor<f32>, %z: tensor<i8>) {
  // expected-error @below {{'nn.qmatmul' op found no step, expected one for an offset, a residual, a final scale, zero point or activation}}
  %0 = nn.qmatmul %x, %w scale %s offset %s : tensor<3x4xui8>, tensor<4x8xi8> scale tensor<8xf32> offset tensor<8xf32> -> tensor<3x8xui8>
  return
}

// -----
func.func @qmatmul_residual_zero(%x: tensor<3x4xui8>, %w: tensor<4x8xi8>, %s: tensor<8xf32>, %r: tensor<3x8xui8>, %q: tensor<3x1xui8>, %f: tensor<f32>, %z: tensor<i8>) {
  // expected-error @below {{'nn.qmatmul' op found a residual's zero point of 'tensor<i8>', expected its 'ui8'}}
  %0 = nn.qmatmul %x, %w residual %r scale %s step %s residual_scale %f residual_zero %z : tensor<3x4xui8>, tensor<4x8xi8> residual tensor<3x8xui8> scale tensor<8xf32> step tensor<8xf32> residual_scale tensor<f32> residual_zero tensor<i8> -> tensor<3x8xui8>
  return
}

// -----
func.func @qmatmul_final_zero(%x: tensor<3x4xui8>, %w: tensor<4x8xi8>, %s: tensor<8xf32>, %r: tensor<3x8xui8>, %q: tensor<3x1xui8>, %f: tensor<f32>, %z: tensor<i8>) {
  // expected-error @below {{'nn.qmatmul' op found a zero point of 'tensor<i8>', expected the result's 'ui8'}}
  %0 = nn.qmatmul %x, %w scale %s step %s final_zero %z : tensor<3x4xui8>, tensor<4x8xi8> scale tensor<8xf32> step tensor<8xf32> final_zero tensor<i8> -> tensor<3x8xui8>
  return
}

// -----
func.func @qmatmul_final_scale(%x: tensor<3x4xui8>, %w: tensor<4x8xi8>, %s: tensor<8xf32>, %r: tensor<3x8xui8>, %q: tensor<3x1xui8>, %f: tensor<f32>, %z: tensor<i8>) {
  // expected-error @below {{'nn.qmatmul' op found a scale or zero point of an output or residual 'tensor<8xf32>', expected a scalar}}
  %0 = nn.qmatmul %x, %w scale %s step %s final_scale %s : tensor<3x4xui8>, tensor<4x8xi8> scale tensor<8xf32> step tensor<8xf32> final_scale tensor<8xf32> -> tensor<3x8xui8>
  return
}

// -----
func.func @qmatmul_step(%x: tensor<3x4xui8>, %w: tensor<4x8xi8>, %s: tensor<8xf32>, %r: tensor<3x8xui8>, %q: tensor<3x1xui8>, %f: tensor<f32>, %z: tensor<i8>) {
  // expected-error @below {{'nn.qmatmul' op found a bias, scale, shift, step or offset 'tensor<f32>', expected 8 elements}}
  %0 = nn.qmatmul %x, %w scale %s step %f : tensor<3x4xui8>, tensor<4x8xi8> scale tensor<8xf32> step tensor<f32> -> tensor<3x8xui8>
  return
}

// -----
func.func @qmatmul_scale(%x: tensor<3x4xui8>, %w: tensor<4x8xi8>, %s: tensor<4xf32>) {
  // expected-error @below {{'nn.qmatmul' op found a bias, scale, shift, step or offset 'tensor<4xf32>', expected 8 elements}}
  %0 = nn.qmatmul %x, %w scale %s : tensor<3x4xui8>, tensor<4x8xi8> scale tensor<4xf32> -> tensor<3x8xf32>
  return
}

// -----
func.func @qmatmul_zero(%x: tensor<3x4xui8>, %w: tensor<4x8xi8>, %s: tensor<8xf32>, %z: tensor<ui8>) {
  // expected-error @below {{'nn.qmatmul' op found an output's scale or zero point, expected a result of 8-bit integers}}
  %0 = nn.qmatmul %x, %w scale %s out_zero %z : tensor<3x4xui8>, tensor<4x8xi8> scale tensor<8xf32> out_zero tensor<ui8> -> tensor<3x8xf32>
  return
}
