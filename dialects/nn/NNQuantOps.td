//===- NNQuantOps.td - Layers of quantised numbers ---------*- tablegen -*-===//
//
// An integer q stands for (q - zero) * scale. Scales and zero points are
// operands: a model may compute them. docs/quantization.md tells how models get
// these layers.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_DIALECTS_NN_NNQUANTOPS
#define NNV12_DIALECTS_NN_NNQUANTOPS

include "dialects/nn/NNOps.td"

def NN_F32Tensor : RankedTensorOf<[F32], [HasStaticShapePred],
                                  "tensor of f32 of static shape">;
def NN_I32Tensor : RankedTensorOf<[I32], [HasStaticShapePred],
                                  "tensor of i32 of static shape">;
def NN_ByteTensor : RankedTensorOf<[I8, UI8], [HasStaticShapePred],
                                   "tensor of 8-bit integers of static shape">;

class NN_Quantisation<string mnemonic>
    : NN_Op<mnemonic, [NN_Elementwise, NN_Fusable, NN_KeepsBlocks]> {
  let arguments = (ins NN_Tensor:$input, NN_F32Tensor:$scale,
      Optional<NN_Tensor>:$zero);
  let assemblyFormat = [{
    $input `scale` $scale (`zero` $zero^)? attr-dict `:` type($input) `,`
    type($scale) (`,` type($zero)^)? `->` type($output)}];
  let hasFolder = 1;
  let hasVerifier = 1;
}

def NN_QuantizeOp : NN_Quantisation<"quantize"> {
  let summary = "round(input / scale) + zero, saturated (QuantizeLinear)";
  let description = [{
    input f32; the result, integers of 2 to 16 bits, has its shape and the zero
    point's type. scale and zero broadcast to it. The division is one of f32,
    ties go to the even integer, NaN becomes the least integer.
  }];
}

def NN_DequantizeOp : NN_Quantisation<"dequantize"> {
  let summary = "(input - zero) * scale as f32 (DequantizeLinear)";
  let description = [{
    input, integers of at most 32 bits; the zero point has their type. scale and
    zero broadcast to the input. The difference is one of i32, which becomes an
    f32 before the product. Constants are not folded by `fold`: passes that know
    what 8-bit weights are good for come first.
  }];
}

// Sums of products of 8-bit integers:
//
//   sum = sum of x * w, an i32 that wraps around, + bias + rows
//   y = activation(f32(sum) * scale + shift)
//   result = round(y / out_scale) + out_zero, saturated
//
// With a step, q = result - out_zero (without out_zero: y) goes on:
//
//   z = final_activation(q * step + offset +
//                        f32(residual - residual_zero) * residual_scale)
//   result = round(z / final_scale) + final_zero, saturated
//
// The residual has the result's shape, and 8-bit integers or f32.
//
// `small_weights`: the constant w is within [-64, 64], so that two products fit
// in 16 bits.
//
// NaN becomes the least integer. Absent parts are skipped; without a scale the
// sum is the result (i32),
// without 8 bits y is (f32). Zero points of x and w are a part of the bias.
class NN_QuantizedProductOp<string mnemonic, list<Trait> traits>
    : NN_Op<mnemonic, !listconcat(traits, [AttrSizedOperandSegments,
                                           NN_Weighted, NN_Parts])> {
  let hasVerifier = 1;
  code isFactor = [{
    bool isFactor(unsigned operand) { return operand < 2; }
  }];
  let extraClassDeclaration = isFactor;
}

defvar NN_QuantizedEnd = (ins Optional<NN_I32Tensor>:$bias,
    Optional<NN_Tensor>:$residual, Optional<NN_I32Tensor>:$rows,
    Optional<NN_F32Tensor>:$scale, Optional<NN_F32Tensor>:$shift,
    Optional<NN_F32Tensor>:$out_scale, Optional<NN_ByteTensor>:$out_zero,
    Optional<NN_F32Tensor>:$step, Optional<NN_F32Tensor>:$offset,
    Optional<NN_F32Tensor>:$residual_scale,
    Optional<NN_ByteTensor>:$residual_zero, Optional<NN_F32Tensor>:$final_scale,
    Optional<NN_ByteTensor>:$final_zero);

def NN_QConvOp : NN_QuantizedProductOp<"qconv", [NN_Windowed]> {
  let summary = "convolution of 8-bit integers, exact in 32 bits";
  let description = [{
    input [N, C, spatial…], weights [O, C/groups, kernel…], both 8-bit integers
    of either sign. Padding has the value of `padding`, a scalar of the input's
    type, or zero. bias, scale, shift, step and offset [O]; rows [N, 1,
    spatial…] has a number for each position of the result. Other scales and
    zero points are scalars. Zero points of the result have its type, if that is
    8-bit.
  }];
  let arguments =
      !con((ins NN_ByteTensor:$input, NN_ByteTensor:$weights,
               Optional<NN_ByteTensor>:$padding),
           NN_QuantizedEnd,
           (ins DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
               DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high,
               DefaultValuedAttr<I64Attr, "1">:$groups,
               OptionalAttr<NN_FunctionAttr>:$activation,
               OptionalAttr<NN_FunctionAttr>:$final_activation,
               UnitAttr:$small_weights));
  let assemblyFormat = [{
    $input `,` $weights (`padding` $padding^)? (`bias` $bias^)?
    (`residual` $residual^)? (`rows` $rows^)? (`scale` $scale^)?
    (`shift` $shift^)? (`out_scale` $out_scale^)? (`out_zero` $out_zero^)?
    (`step` $step^)? (`offset` $offset^)?
    (`residual_scale` $residual_scale^)? (`residual_zero` $residual_zero^)?
    (`final_scale` $final_scale^)? (`final_zero` $final_zero^)?
    `strides` $strides `dilations` $dilations `pads` $pads_low `,` $pads_high
    attr-dict `:` type($input) `,` type($weights) (`padding` type($padding)^)?
    (`bias` type($bias)^)? (`residual` type($residual)^)?
    (`rows` type($rows)^)? (`scale` type($scale)^)? (`shift` type($shift)^)?
    (`out_scale` type($out_scale)^)? (`out_zero` type($out_zero)^)?
    (`step` type($step)^)? (`offset` type($offset)^)?
    (`residual_scale` type($residual_scale)^)?
    (`residual_zero` type($residual_zero)^)?
    (`final_scale` type($final_scale)^)?
    (`final_zero` type($final_zero)^)? `->` type($output)}];
  let extraClassDeclaration = isFactor#[{
    llvm::ArrayRef<int64_t> getKernel() {
      return getWeights().getType().getShape().drop_front(2);
    }
  }];
}

def NN_QMatMulOp : NN_QuantizedProductOp<"qmatmul", []> {
  let summary = "matrix product of 8-bit integers, exact in 32 bits";
  let description = [{
    lhs […, M, K], rhs […, K, N] (or […, N, K] if transpose_rhs), both of rank
    >= 2 and 8-bit integers of either sign; batch dimensions broadcast. bias,
    scale, shift, step and offset [N]; rows […, M, 1] has a number for each row.
    Other scales and zero points are scalars; those of the result have its type,
    if that is 8-bit.
  }];
  let arguments =
      !con((ins NN_ByteTensor:$lhs, NN_ByteTensor:$rhs), NN_QuantizedEnd,
           (ins DefaultValuedAttr<BoolAttr, "false">:$transpose_rhs,
               OptionalAttr<NN_FunctionAttr>:$activation,
               OptionalAttr<NN_FunctionAttr>:$final_activation,
               UnitAttr:$small_weights));
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` $bias^)? (`residual` $residual^)? (`rows` $rows^)?
    (`scale` $scale^)? (`shift` $shift^)?
    (`out_scale` $out_scale^)? (`out_zero` $out_zero^)?
    (`step` $step^)? (`offset` $offset^)?
    (`residual_scale` $residual_scale^)? (`residual_zero` $residual_zero^)?
    (`final_scale` $final_scale^)? (`final_zero` $final_zero^)?
    attr-dict `:` type($lhs) `,` type($rhs)
    (`bias` type($bias)^)? (`residual` type($residual)^)?
    (`rows` type($rows)^)? (`scale` type($scale)^)? (`shift` type($shift)^)?
    (`out_scale` type($out_scale)^)? (`out_zero` type($out_zero)^)?
    (`step` type($step)^)? (`offset` type($offset)^)?
    (`residual_scale` type($residual_scale)^)?
    (`residual_zero` type($residual_zero)^)?
    (`final_scale` type($final_scale)^)?
    (`final_zero` type($final_zero)^)? `->` type($output)}];
}

def NN_BitsMatMulOp
    : NN_Op<"bits_matmul", [AttrSizedOperandSegments, NN_Weighted, NN_Parts]> {
  let summary = "matrix product with weights of four or eight bits";
  let description = [{
    lhs […, M, K], codes [N, K * bits / 8] bytes, of which one has two codes of
    four bits, the first one in its low half, or one of eight. Code q of row n
    and column k is the weight (q - zero) * scales[n][k / block] of f32, where
    the zero is zeros[n][k / block], of f32 too, or the attribute. bias [N].
    result = activation(lhs * transposed weights + bias).

    lhs is f32, or ui8 with lhs_scales […, M, K / block]: element q of a row
    stands for q - 128 times the scale of its block. Sums of a block are exact
    then, and blocks are whole.
  }];
  let arguments = (ins NN_Tensor:$lhs, NN_ByteTensor:$codes,
      NN_F32Tensor:$scales, Optional<NN_F32Tensor>:$zeros,
      Optional<NN_F32Tensor>:$lhs_scales, Optional<NN_F32Tensor>:$bias,
      I64Attr:$bits, I64Attr:$block, DefaultValuedAttr<F64Attr, "0.0">:$zero,
      OptionalAttr<NN_FunctionAttr>:$activation);
  let assemblyFormat = [{
    $lhs `,` $codes `scales` $scales (`zeros` $zeros^)?
    (`lhs_scales` $lhs_scales^)? (`bias` $bias^)? `bits` $bits `block` $block
    attr-dict `:` type($lhs) `,` type($codes) `scales` type($scales)
    (`zeros` type($zeros)^)? (`lhs_scales` type($lhs_scales)^)?
    (`bias` type($bias)^)? `->` type($output)}];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isFactor(unsigned operand) { return operand < 2; }
  }];
}

#endif // NNV12_DIALECTS_NN_NNQUANTOPS
