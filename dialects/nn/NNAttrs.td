//===- NNAttrs.td - Enums and attributes of nn -------------*- tablegen -*-===//
#ifndef NNV12_DIALECTS_NN_NNATTRS
#define NNV12_DIALECTS_NN_NNATTRS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/TensorEncoding.td"
include "dialects/nn/NNDialect.td"

class NN_Enum<string name, string summary, list<string> cases>
    : I32EnumAttr<name, summary,
                  !foreach(i, !range(!size(cases)),
                           I32EnumAttrCase<cases[i], i>)> {
  let cppNamespace = "::nnv12::nn";
  let genSpecializedAttr = 0;
}
class NN_EnumAttr<EnumInfo e, string mnemonic>
    : EnumAttr<NN_Dialect, e, mnemonic> {
  let assemblyFormat = "$value";
}

// Parameters of the parametric ones are, in order:
//   leaky_relu [alpha]   elu [alpha]   celu [alpha]   selu [alpha, gamma]
//   hard_sigmoid [alpha, beta]   hard_swish [alpha, beta]: x * max(0, min(1,
//   alpha * x + beta)) clip [min, max]   thresholded_relu [alpha]   shrink
//   [lambd, bias]   swish [alpha]: x * sigmoid(alpha * x) affine [scale,
//   shift]: scale * x + shift; scale * x where the shift is zero is_inf
//   [detect_negative, detect_positive] (0 or 1)
def NN_UnaryKind
    : NN_Enum<"UnaryKind", "element-wise function of one operand",
              ["identity", "abs", "neg", "sign", "reciprocal", "sqrt", "exp",
               "log", "erf", "floor", "ceil", "round", "sin", "cos", "tan",
               "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
               "atanh", "relu", "leaky_relu", "elu", "celu", "selu", "sigmoid",
               "hard_sigmoid", "hard_swish", "swish", "gelu", "gelu_tanh",
               "mish", "softplus", "softsign", "thresholded_relu", "shrink",
               "clip", "affine", "logical_not", "bitwise_not", "is_nan",
               "is_inf"]>;

def NN_BinaryKind
    : NN_Enum<"BinaryKind", "element-wise function of two operands",
              ["add", "sub", "mul", "div", "pow", "min", "max",
               "mod",   // sign of the divisor (Python), integers
               "fmod",  // sign of the dividend (C)
               "prelu", // x >= 0 ? x : slope * x
               "equal", "less", "less_equal", "greater", "greater_equal",
               "logical_and", "logical_or", "logical_xor", "bitwise_and",
               "bitwise_or", "bitwise_xor", "shift_left", "shift_right"]>;

def NN_ReduceKind
    : NN_Enum<"ReduceKind", "reduction", ["sum", "mean", "max", "min", "prod"]>;
def NN_PoolKind : NN_Enum<"PoolKind", "pooling", ["max", "average"]>;
def NN_PadMode
    : NN_Enum<"PadMode",
              "what padding holds", ["constant", "reflect", "edge", "wrap"]>;
def NN_ResizeMode
    : NN_Enum<"ResizeMode", "interpolation", ["nearest", "linear", "cubic"]>;
def NN_CoordinateMode
    : NN_Enum<"CoordinateMode", "output to input coordinate",
              ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
               "align_corners", "asymmetric", "tf_crop_and_resize",
               "tf_half_pixel_for_nn"]>;
def NN_NearestMode
    : NN_Enum<"NearestMode", "rounding of a nearest coordinate",
              ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]>;
def NN_ScatterReduction
    : NN_Enum<"ScatterReduction", "what scatter does to the old element",
              ["none", "add", "mul", "min", "max"]>;
def NN_Rounding
    : NN_Enum<"Rounding", "to which of two powers of two a cast goes",
              ["nearest", // ties up
               "up", "down"]>;
def NN_RecurrentKind
    : NN_Enum<"RecurrentKind", "recurrent cell", ["rnn", "gru", "lstm"]>;

def NN_UnaryKindAttr : NN_EnumAttr<NN_UnaryKind, "unary_kind">;
def NN_BinaryKindAttr : NN_EnumAttr<NN_BinaryKind, "binary_kind">;
def NN_ReduceKindAttr : NN_EnumAttr<NN_ReduceKind, "reduce_kind">;
def NN_PoolKindAttr : NN_EnumAttr<NN_PoolKind, "pool_kind">;
def NN_PadModeAttr : NN_EnumAttr<NN_PadMode, "pad_mode">;
def NN_ResizeModeAttr : NN_EnumAttr<NN_ResizeMode, "resize_mode">;
def NN_CoordinateModeAttr : NN_EnumAttr<NN_CoordinateMode, "coordinate_mode">;
def NN_NearestModeAttr : NN_EnumAttr<NN_NearestMode, "nearest_mode">;
def NN_ScatterReductionAttr
    : NN_EnumAttr<NN_ScatterReduction, "scatter_reduction">;
def NN_RoundingAttr : NN_EnumAttr<NN_Rounding, "rounding">;
def NN_RecurrentKindAttr : NN_EnumAttr<NN_RecurrentKind, "recurrent_kind">;

def NN_FunctionAttr : AttrDef<NN_Dialect, "Function"> {
  let mnemonic = "fn";
  let summary =
      "a unary kind with its parameters, e.g. #nn.fn<leaky_relu [0.1]>";
  let parameters = (ins EnumParameter<NN_UnaryKind>:$kind,
      OptionalParameter<"::mlir::DenseF64ArrayAttr">:$values);
  let assemblyFormat = "`<` $kind `` custom<OptionalNumbers>($values) `>`";
  let builders = [AttrBuilder<
      (ins "UnaryKind":$kind, CArg<"llvm::ArrayRef<double>", "{}">:$params), [{
    ::mlir::DenseF64ArrayAttr values;
    if (!params.empty())
      values = ::mlir::DenseF64ArrayAttr::get($_ctxt, params);
    return $_get($_ctxt, kind, values);
  }]>];
  let extraClassDeclaration = [{
    llvm::ArrayRef<double> getParams() const {
      return getValues() ? getValues().asArrayRef() : llvm::ArrayRef<double>();
    }
  }];
}

def NN_LayoutAttr
    : AttrDef<
          NN_Dialect,
          "Layout", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "how the elements of a tensor lie in memory, as a oneDNN tag";
  let description = [{
    `a` is the first logical dimension. Letters in order name the dimensions
    from the outermost in memory to the innermost; an upper-case letter is a
    dimension cut into blocks, whose parts of `<size><letter>` come at the end:
    `aBcd16b` is N, C/16, H, W, 16 channels. A block may be cut once more:
    `ABcd4b16a4b` is O/16, I/16, H, W, four quads of inputs, 16 outputs, the
    four inputs of a quad. A blocked dimension is padded to a whole number of
    blocks; the values in the padding are finite, never read as data.
  }];
  let parameters = (ins StringRefParameter<"oneDNN tag">:$tag);
  let assemblyFormat = "`<` $tag `>`";
}

#endif // NNV12_DIALECTS_NN_NNATTRS
