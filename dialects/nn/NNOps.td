//===- NNOps.td - Layers -----------------------------------*- tablegen -*-===//
#ifndef NNV12_DIALECTS_NN_NNOPS
#define NNV12_DIALECTS_NN_NNOPS

include "mlir/IR/BuiltinAttributes.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/nn/NNAttrs.td"
include "dialects/nn/NNInterfaces.td"

def NN_Tensor : RankedTensorOf<[AnyFloat, AnyInteger], [HasStaticShapePred],
                               "tensor of static shape">;

class NN_Op<string mnemonic, list<Trait> traits = []>
    : Op<NN_Dialect, mnemonic, !listconcat(traits, [Pure])> {
  let results = (outs NN_Tensor:$output);
}

// A layer of one operand whose result has the type that is asked for.
class NN_Retyped<string mnemonic, list<Trait> traits>
    : NN_Op<mnemonic, traits> {
  let arguments = (ins NN_Tensor:$input);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($output)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

// A layer whose result type follows from operands and attributes (its layout
// does not: inference gives dense results, and any layout is compatible).
class NN_Inferred<string mnemonic, list<Trait> traits = []>
    : NN_Op<mnemonic,
            !listconcat(traits, [InferTypeOpAdaptorWithIsCompatible])> {
  let extraClassDefinition = [{
    bool $cppClass::isCompatibleReturnTypes(::mlir::TypeRange l,
                                            ::mlir::TypeRange r) {
      return ::nnv12::nn::equalIgnoringLayout(l, r);
    }
  }];
}

// Facts that a layer spells out in NNInterfaces.cpp or NNParts.cpp.
defvar NN_Parts = DeclareOpInterfaceMethods<NN_PartByPart>;
defvar NN_TakenParts = DeclareOpInterfaceMethods<NN_PartByPart, ["takesPart"]>;
defvar NN_SomeBlocks =
    DeclareOpInterfaceMethods<NN_KeepsBlocks, ["keepsBlocks"]>;

//===----------------------------------------------------------------------===//
// Constants, layouts, fusion
//===----------------------------------------------------------------------===//

def NN_ConstantOp : NN_Op<"constant", [ConstantLike]> {
  let summary = "a constant tensor (weights or a folded value)";
  let description = [{
    Small values are `dense<…>`, large ones resources; `ConstantData` hides the
    difference. The elements are always given in row-major order of the logical
    shape, whatever layout the result type names: packing happens when the
    bundle is written.
  }];
  let arguments = (ins ElementsAttr:$value);
  let assemblyFormat = "attr-dict custom<TypedValue>($value, type($output))";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def NN_AdaptOp : NN_Retyped<"adapt", [NN_Elementwise, NN_Fusable, NN_View]> {
  let summary = "the same tensor in another layout";
}

def NN_FuseOp : NN_Op<"fuse", [SingleBlockImplicitTerminator<"YieldOp">,
                               IsolatedFromAbove, NN_Parts]> {
  let summary = "layers computed by one kernel, element by element";
  let description = [{
    The region's arguments are the operands; the layers in it are evaluated once
    per element of the yielded tensor and nothing between them is stored.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$inputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def NN_YieldOp : NN_Op<"yield", [Terminator, HasParent<"FuseOp">]> {
  let summary = "yields the results of a fuse";
  let arguments = (ins Variadic<NN_Tensor>:$values);
  let results = (outs);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ /* yields nothing yet */ }]>];
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

def NN_UnaryOp
    : NN_Inferred<"unary", [NN_Elementwise, NN_Fusable, NN_KeepsBlocks]> {
  let summary =
      "element-wise function of one operand (result i1 for is_nan, is_inf)";
  let arguments = (ins NN_Tensor:$input, NN_FunctionAttr:$function);
  let assemblyFormat =
      "$input $function attr-dict `:` type($input) `->` type($output)";
  let hasFolder = 1;
}

def NN_BinaryOp
    : NN_Inferred<"binary", [NN_Elementwise, NN_Fusable, NN_KeepsBlocks]> {
  let summary = "element-wise function of two operands, with multidirectional "
                "broadcasting";
  let arguments = (ins NN_Tensor:$lhs, NN_Tensor:$rhs, NN_BinaryKindAttr:$kind);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($lhs) `,` "
                       "type($rhs) `->` type($output)";
  let hasFolder = 1;
}

def NN_SelectOp
    : NN_Inferred<"select", [NN_Elementwise, NN_Fusable, NN_KeepsBlocks]> {
  let summary =
      "condition ? lhs : rhs, with multidirectional broadcasting (Where)";
  let arguments = (ins NN_Tensor:$condition, NN_Tensor:$lhs, NN_Tensor:$rhs);
  let assemblyFormat =
      "$condition `,` $lhs `,` $rhs attr-dict `:` type($condition) `,` "
      "type($lhs) `,` type($rhs) `->` type($output)";
  let hasFolder = 1;
}

def NN_CastOp
    : NN_Retyped<"cast", [NN_Elementwise, NN_Fusable, NN_KeepsBlocks]> {
  let summary = "converts elements to another type; float to integer "
                "truncates, clamped to the integer's range";
  let description = [{
    To a float of 8 or 4 bits, a number out of range becomes the largest (or
    smallest) number, or, unless `saturate`, infinity or NaN. `rounding` is for
    f8E8M0FNU; everything else rounds to nearest, ties to even.
  }];
  let arguments = (ins NN_Tensor:$input,
      DefaultValuedAttr<BoolAttr, "true">:$saturate,
      DefaultValuedAttr<NN_RoundingAttr,
                        "::nnv12::nn::Rounding::nearest">:$rounding);
}

def NN_BitCastOp
    : NN_Retyped<"bitcast", [NN_Elementwise, DeclareOpInterfaceMethods<
                                                 NN_View, ["keepsBytes"]>]> {
  let summary = "the same bits as elements of another type of that width";
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

def NN_ReshapeOp : NN_Retyped<"reshape", [NN_Fusable, NN_View, NN_Parts]> {
  let summary = "the same elements in row-major order under another shape";
}

def NN_TransposeOp : NN_Inferred<"transpose", [NN_Fusable, NN_Parts]> {
  let summary =
      "permutes dimensions: result dimension i is input dimension perm[i]";
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$perm);
  let assemblyFormat =
      "$input $perm attr-dict `:` type($input) `->` type($output)";
  let hasFolder = 1;
}

def NN_BroadcastOp : NN_Retyped<"broadcast", [NN_Elementwise, NN_Fusable]> {
  let summary =
      "repeats along dimensions of size one or missing in front (Expand)";
}

def NN_SliceOp
    : NN_Inferred<"slice", [NN_Fusable, NN_SomeBlocks, NN_TakenParts]> {
  let summary = "result[i…] = input[start + i * step…]; steps may be negative, "
                "sizes count elements";
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$starts,
      DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$steps);
  let assemblyFormat = "$input `starts` $starts `sizes` $sizes `steps` $steps "
                       "attr-dict `:` type($input) `->` type($output)";
  let hasFolder = 1;
}

def NN_ConcatOp : NN_Inferred<"concat", [NN_Fusable, NN_SomeBlocks, NN_Parts]> {
  let summary = "joins tensors along an axis (0 <= axis < rank)";
  let arguments = (ins Variadic<NN_Tensor>:$inputs, I64Attr:$axis);
  let assemblyFormat =
      "$inputs `axis` $axis attr-dict `:` type($inputs) `->` type($output)";
  let hasFolder = 1;
}

def NN_PadOp : NN_Inferred<"pad", [NN_Fusable, NN_SomeBlocks, NN_Parts]> {
  let summary = "adds low[i] and high[i] >= 0 elements around dimension i";
  let description = "`value` is a scalar (one-element) tensor of the element "
                    "type for mode constant; absent means zero.";
  let arguments = (ins NN_Tensor:$input, Optional<NN_Tensor>:$value,
      DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, NN_PadModeAttr:$mode);
  let assemblyFormat =
      "$mode $input (`value` $value^)? `low` $low `high` $high attr-dict `:` "
      "type($input) (`,` type($value)^)? `->` type($output)";
  let hasFolder = 1;
}

def NN_GatherOp : NN_Inferred<"gather", [NN_TakenParts]> {
  let summary = "input slices along `axis` at `indices` (negative ones count "
                "from the end; clamped)";
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$indices, I64Attr:$axis);
  let assemblyFormat = "$input `,` $indices `axis` $axis attr-dict `:` "
                       "type($input) `,` type($indices) `->` type($output)";
  let hasFolder = 1;
}

def NN_GatherElementsOp : NN_Inferred<"gather_elements", [NN_TakenParts]> {
  let summary = "output[i][j] = input[indices[i][j]][j] for axis 0";
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$indices, I64Attr:$axis);
  let assemblyFormat = "$input `,` $indices `axis` $axis attr-dict `:` "
                       "type($input) `,` type($indices) `->` type($output)";
}

def NN_GatherNDOp : NN_Inferred<"gather_nd", [NN_TakenParts]> {
  let summary =
      "slices of input at index tuples in the last dimension of `indices`";
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$indices,
      DefaultValuedAttr<I64Attr, "0">:$batch_dims);
  let assemblyFormat = "$input `,` $indices attr-dict `:` type($input) `,` "
                       "type($indices) `->` type($output)";
}

def NN_ScatterElementsOp : NN_Inferred<"scatter_elements", [NN_Parts]> {
  let summary = "copy of input with updates at indices along axis";
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$indices, NN_Tensor:$updates,
      I64Attr:$axis, NN_ScatterReductionAttr:$reduction);
  let assemblyFormat =
      "$reduction $input `,` $indices `,` $updates `axis` $axis attr-dict `:` "
      "type($input) `,` type($indices) `,` type($updates) `->` type($output)";
}

def NN_ScatterNDOp : NN_Inferred<"scatter_nd", [NN_Parts]> {
  let summary = "copy of input with slices of updates at index tuples";
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$indices, NN_Tensor:$updates,
      NN_ScatterReductionAttr:$reduction);
  let assemblyFormat =
      "$reduction $input `,` $indices `,` $updates attr-dict `:` type($input) "
      "`,` type($indices) `,` type($updates) `->` type($output)";
  let hasFolder = 1;
}

def NN_ReverseSequenceOp : NN_Inferred<"reverse_sequence", [NN_Parts]> {
  let summary =
      "reverses the first lengths[b] elements along time_axis of each batch";
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$lengths,
      I64Attr:$batch_axis, I64Attr:$time_axis);
  let assemblyFormat =
      "$input `,` $lengths `batch` $batch_axis `time` $time_axis attr-dict `:` "
      "type($input) `,` type($lengths) `->` type($output)";
}

//===----------------------------------------------------------------------===//
// Reductions and layers along an axis
//===----------------------------------------------------------------------===//

def NN_ReduceOp : NN_Inferred<"reduce", [NN_SomeBlocks, NN_Parts]> {
  let summary = "reduces `axes`, which stay with size one if keep_dims";
  let arguments = (ins NN_Tensor:$input, NN_ReduceKindAttr:$kind,
      DenseI64ArrayAttr:$axes, BoolAttr:$keep_dims);
  let assemblyFormat = "$kind $input `axes` $axes `keep_dims` $keep_dims "
                       "attr-dict `:` type($input) `->` type($output)";
  let hasFolder = 1;
}

def NN_ArgReduceOp : NN_Inferred<"arg_reduce", [NN_Parts]> {
  let summary = "i64 index of the largest (kind max) or smallest (min) element "
                "along axis";
  let arguments = (ins NN_Tensor:$input, NN_ReduceKindAttr:$kind, I64Attr:$axis,
      BoolAttr:$keep_dims, BoolAttr:$select_last);
  let assemblyFormat =
      "$kind $input `axis` $axis `keep_dims` $keep_dims `select_last` "
      "$select_last attr-dict `:` type($input) `->` type($output)";
}

def NN_CumSumOp : NN_Inferred<"cumsum", [NN_Parts]> {
  let summary = "running sum (or product) along axis";
  let arguments = (ins NN_Tensor:$input, I64Attr:$axis, BoolAttr:$exclusive,
      BoolAttr:$reverse, DefaultValuedAttr<BoolAttr, "false">:$product);
  let assemblyFormat = "$input `axis` $axis `exclusive` $exclusive `reverse` "
                       "$reverse attr-dict `:` type($input) `->` type($output)";
}

def NN_TopKOp : NN_Inferred<"topk", [NN_Parts]> {
  let summary = "the k largest (or smallest) along axis, sorted, and their i64 "
                "indices (the lower index first among equals)";
  let arguments = (ins NN_Tensor:$input, I64Attr:$k, I64Attr:$axis,
      BoolAttr:$largest);
  let results = (outs NN_Tensor:$values, NN_Tensor:$indices);
  let assemblyFormat =
      "$input `k` $k `axis` $axis `largest` $largest attr-dict `:` "
      "type($input) `->` type($values) `,` type($indices)";
}

def NN_NonMaxSuppressionOp : NN_Inferred<"non_max_suppression", [NN_Parts]> {
  let summary = "i64 indices [batch, classes, most] of the boxes that overlap "
                "no better one, best first, then -1";
  let description = [{
    For each image and class, of the boxes [batch, boxes, 4] before `count`, and
    if `filtered` of those whose score [batch, classes, boxes] is more than
    `score_threshold`. A box is dropped where its intersection with one that is
    taken is more than `iou_threshold` of their union. Among equal scores the
    lower index is better. A box is two opposite corners or, if `centered`, a
    centre and a size.
  }];
  let arguments = (ins NN_Tensor:$boxes, NN_Tensor:$scores,
      NN_Tensor:$iou_threshold, NN_Tensor:$score_threshold, NN_Tensor:$count,
      I64Attr:$most, BoolAttr:$centered, BoolAttr:$filtered);
  let assemblyFormat =
      "$boxes `,` $scores `iou` $iou_threshold `score` $score_threshold "
      "`count` $count `most` $most `centered` $centered `filtered` $filtered "
      "attr-dict "
      "`:` type($boxes) `,` type($scores) `,` type($iou_threshold) `,` "
      "type($score_threshold) `,` type($count) `->` type($output)";
}

def NN_SoftmaxOp : NN_Inferred<"softmax", [NN_Parts]> {
  let summary = "softmax (or its logarithm) along one axis";
  let arguments = (ins NN_Tensor:$input, I64Attr:$axis,
      DefaultValuedAttr<BoolAttr, "false">:$log);
  let assemblyFormat =
      "$input `axis` $axis attr-dict `:` type($input) `->` type($output)";
}

def NN_NormalizeOp : NN_Inferred<"normalize", [NN_Parts]> {
  let summary =
      "(x - mean) / sqrt(variance + epsilon) over dimensions axis…rank-1";
  let description = "Layer, instance and group normalisation are this between "
                    "reshapes, then a multiply and an add.";
  let arguments = (ins NN_Tensor:$input, I64Attr:$axis, F64Attr:$epsilon);
  let assemblyFormat = "$input `axis` $axis `epsilon` $epsilon attr-dict `:` "
                       "type($input) `->` type($output)";
}

//===----------------------------------------------------------------------===//
// Convolution, matrix multiplication, pooling, resampling
//===----------------------------------------------------------------------===//

class NN_LinearOp<string mnemonic, list<Trait> traits = []>
    : NN_Inferred<mnemonic,
                  !listconcat(traits, [AttrSizedOperandSegments, NN_Linear,
                                       NN_Weighted, NN_Parts])> {
  code isFactor = [{
    bool isFactor(unsigned operand) { return operand < 2; }
  }];
  let extraClassDeclaration = isFactor;
}

class NN_ConvolutionOp<string mnemonic> : NN_LinearOp<mnemonic, [NN_Windowed]> {
  let extraClassDeclaration = isFactor#[{
    llvm::ArrayRef<int64_t> getKernel() {
      return getWeights().getType().getShape().drop_front(2);
    }
  }];
}

def NN_ConvOp : NN_ConvolutionOp<"conv"> {
  let summary = "convolution with 1 to 3 spatial dimensions and groups";
  let description = [{
    input [N, C, spatial…], weights [O, C/groups, kernel…], bias [O]; residual
    has the result's shape. 8-bit integers, of either sign, give an i32 result
    (ConvInteger); else the operands and the result have one element type. out =
    residual_activation(activation(conv + bias) + residual); absent parts are
    skipped.
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$weights,
      Optional<NN_Tensor>:$bias, Optional<NN_Tensor>:$residual,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high,
      DefaultValuedAttr<I64Attr, "1">:$groups,
      OptionalAttr<NN_FunctionAttr>:$activation,
      OptionalAttr<NN_FunctionAttr>:$residual_activation);
  let assemblyFormat = [{
    $input `,` $weights (`bias` $bias^)? (`residual` $residual^)?
    `strides` $strides `dilations` $dilations `pads` $pads_low `,` $pads_high
    attr-dict `:` type($input) `,` type($weights)
    (`bias` type($bias)^)? (`residual` type($residual)^)? `->` type($output)}];
}

def NN_ConvTransposeOp : NN_ConvolutionOp<"conv_transpose"> {
  let summary = "transposed convolution";
  let description = [{
    input [N, C, spatial…], weights [C, O/groups, kernel…], bias [O]. Output
    size is stride * (in - 1) + output_padding + dilation * (kernel - 1) + 1 -
    pad_low - pad_high.
  }];
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$weights,
      Optional<NN_Tensor>:$bias, Optional<NN_Tensor>:$residual,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high,
      DenseI64ArrayAttr:$output_padding,
      DefaultValuedAttr<I64Attr, "1">:$groups,
      OptionalAttr<NN_FunctionAttr>:$activation,
      OptionalAttr<NN_FunctionAttr>:$residual_activation);
  let assemblyFormat = [{
    $input `,` $weights (`bias` $bias^)? (`residual` $residual^)?
    `strides` $strides `dilations` $dilations `pads` $pads_low `,` $pads_high
    `output_padding` $output_padding
    attr-dict `:` type($input) `,` type($weights)
    (`bias` type($bias)^)? (`residual` type($residual)^)? `->` type($output)}];
}

def NN_MatMulOp : NN_LinearOp<"matmul"> {
  let summary =
      "matrix product of the last two dimensions, batch dimensions broadcast";
  let description = [{
    lhs […, M, K] (or […, K, M] if transpose_lhs), rhs […, K, N] (or […, N, K]
    if transpose_rhs), both of rank >= 2. bias broadcasts to the result ([N] or
    any broadcastable shape). 8-bit integers, of either sign, give an i32 result
    (MatMulInteger); else the operands and the result have one element type. out
    = residual_activation(activation(product + bias) + residual); absent parts
    are skipped.
  }];
  let arguments = (ins NN_Tensor:$lhs, NN_Tensor:$rhs,
      Optional<NN_Tensor>:$bias, Optional<NN_Tensor>:$residual,
      DefaultValuedAttr<BoolAttr, "false">:$transpose_lhs,
      DefaultValuedAttr<BoolAttr, "false">:$transpose_rhs,
      OptionalAttr<NN_FunctionAttr>:$activation,
      OptionalAttr<NN_FunctionAttr>:$residual_activation);
  let assemblyFormat = [{
    $lhs `,` $rhs (`bias` $bias^)? (`residual` $residual^)?
    attr-dict `:` type($lhs) `,` type($rhs)
    (`bias` type($bias)^)? (`residual` type($residual)^)? `->` type($output)}];
}

def NN_PoolOp : NN_Inferred<"pool", [NN_KeepsBlocks, NN_Windowed, NN_Parts]> {
  let summary =
      "max or average pooling; ceil_mode is already resolved into pads_high";
  let description = [{
    An average counts the elements inside the input, or, if count_include_pad,
    also those in the padding given by pads_low and `counted_pads_high` (padding
    that ceil_mode added beyond never counts).
  }];
  let arguments = (ins NN_Tensor:$input, NN_PoolKindAttr:$kind,
      DenseI64ArrayAttr:$kernel, DenseI64ArrayAttr:$strides,
      DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$pads_low,
      DenseI64ArrayAttr:$pads_high,
      DefaultValuedAttr<BoolAttr, "false">:$count_include_pad,
      OptionalAttr<DenseI64ArrayAttr>:$counted_pads_high);
  let assemblyFormat = [{
    $kind $input `kernel` $kernel `strides` $strides `dilations` $dilations
    `pads` $pads_low `,` $pads_high
    attr-dict `:` type($input) `->` type($output)}];
}

def NN_MaxPoolIndicesOp
    : NN_Inferred<"max_pool_indices", [NN_Windowed, NN_Parts]> {
  let summary = "i64 flat index (in the whole input, as ONNX MaxPool) of each "
                "window's largest element";
  let arguments = (ins NN_Tensor:$input, DenseI64ArrayAttr:$kernel,
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations,
      DenseI64ArrayAttr:$pads_low, DenseI64ArrayAttr:$pads_high,
      DefaultValuedAttr<BoolAttr, "false">:$column_major);
  let assemblyFormat = [{
    $input `kernel` $kernel `strides` $strides `dilations` $dilations
    `pads` $pads_low `,` $pads_high
    attr-dict `:` type($input) `->` type($output)}];
}

def NN_ResizeOp : NN_Op<"resize", [NN_SomeBlocks, NN_Parts]> {
  let summary =
      "resamples every dimension from the input's to the result's size";
  let description = [{
    `scales` has one factor a dimension (ONNX Resize semantics: with sizes
    given, size ratios). `roi` (2 * rank values) is for tf_crop_and_resize.
  }];
  let arguments = (ins NN_Tensor:$input, DenseF64ArrayAttr:$scales,
      NN_ResizeModeAttr:$mode, NN_CoordinateModeAttr:$coordinates,
      NN_NearestModeAttr:$nearest, DefaultValuedAttr<F64Attr, "-0.75">:$cubic_a,
      DefaultValuedAttr<BoolAttr, "false">:$exclude_outside,
      DefaultValuedAttr<BoolAttr, "false">:$antialias,
      DefaultValuedAttr<F64Attr, "0.0">:$extrapolation,
      OptionalAttr<DenseF64ArrayAttr>:$roi);
  let assemblyFormat =
      "$mode $input `scales` $scales `coordinates` $coordinates `nearest` "
      "$nearest attr-dict `:` type($input) `->` type($output)";
  let hasVerifier = 1;
}

def NN_GridSampleOp : NN_Inferred<"grid_sample", [NN_Parts]> {
  let summary = "samples input [N, C, H, W] at grid [N, Ho, Wo, 2], or with "
                "one more dimension (GridSample)";
  let description = "`padding` is zeros, border or reflection.";
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$grid,
      NN_ResizeModeAttr:$mode, StrAttr:$padding, BoolAttr:$align_corners);
  let assemblyFormat = "$mode $input `,` $grid `padding` $padding "
                       "`align_corners` $align_corners attr-dict `:` "
                       "type($input) `,` type($grid) `->` type($output)";
}

def NN_RoiAlignOp : NN_Inferred<"roi_align", [NN_Parts]> {
  let summary = "RoiAlign: input [N, C, H, W], rois [R, 4], batch_indices [R]";
  let arguments = (ins NN_Tensor:$input, NN_Tensor:$rois,
      NN_Tensor:$batch_indices, NN_PoolKindAttr:$kind, I64Attr:$output_height,
      I64Attr:$output_width, I64Attr:$sampling_ratio, F64Attr:$spatial_scale,
      BoolAttr:$half_pixel);
  let assemblyFormat =
      "$kind $input `,` $rois `,` $batch_indices attr-dict `:` type($input) "
      "`,` type($rois) `,` type($batch_indices) `->` type($output)";
}

def NN_RecurrentOp
    : NN_Op<"recurrent", [AttrSizedOperandSegments,
                          DeclareOpInterfaceMethods<NN_Weighted>, NN_Parts]> {
  let summary = "one direction of RNN, GRU or LSTM over time";
  let description = [{
    `gates` [T, B, G*H] are the inputs times W plus both biases (for GRU with
    linear_before_reset the hidden gate's recurrent bias stays apart, as
    `recurrent_bias` [H]), in ONNX gate order (LSTM i o f c; GRU z r h; RNN
    one). `recurrent_weights` [G*H, H]; `initial_h` [B, H], `initial_c` [B, H];
    `peepholes` [3*H] (i o f); `lengths` [B] i32. Results: all hidden states [T,
    B, H], the last hidden state [B, H], the last cell state [B, H] (equal to
    the last hidden state but for LSTM). `activations` are `#nn.fn`s in ONNX
    order (LSTM f g h). `reverse` runs from the last step to the first.
  }];
  let arguments = (ins NN_Tensor:$gates, NN_Tensor:$recurrent_weights,
      Optional<NN_Tensor>:$recurrent_bias, Optional<NN_Tensor>:$initial_h,
      Optional<NN_Tensor>:$initial_c, Optional<NN_Tensor>:$peepholes,
      Optional<NN_Tensor>:$lengths, NN_RecurrentKindAttr:$kind,
      ArrayAttr:$activations, BoolAttr:$reverse,
      DefaultValuedAttr<BoolAttr, "false">:$linear_before_reset,
      OptionalAttr<F64Attr>:$clip,
      DefaultValuedAttr<BoolAttr, "false">:$input_forget);
  let results = (outs NN_Tensor:$all, NN_Tensor:$last_h, NN_Tensor:$last_c);
  let hasVerifier = 1;
}

#endif // NNV12_DIALECTS_NN_NNOPS
