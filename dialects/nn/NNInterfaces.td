//===- NNInterfaces.td - Facts of layers -------------------*- tablegen -*-===//
//
// Facts that passes, routines and proofs ask of a layer of any kind.
// A layer states a fact in NNOps.td. One that does not state it answers "no".
// docs/adding-an-op.md says who asks.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_DIALECTS_NN_NNINTERFACES
#define NNV12_DIALECTS_NN_NNINTERFACES

include "mlir/IR/OpBase.td"

class NN_Interface<string name> : OpInterface<name> {
  let cppNamespace = "::nnv12::nn";
}

def NN_Elementwise : NN_Interface<"Elementwise"> {
  let description = [{
    An element of the result depends on one element of each operand: the one at
    the same index. An operand broadcasts where it has a dimension of size one
    or none.
  }];
}

def NN_Fusable : NN_Interface<"Fusable"> {
  let description = [{
    An element of the result takes about one element of each operand, at an
    index that is known without looking at data. So it may be computed where it
    is used, inside of a `nn.fuse`.
  }];
}

def NN_View : NN_Interface<"View"> {
  let description = [{
    The result is the operand's memory where the elements of both lie in
    row-major order; `isView` asks for that besides.
  }];
  let methods = [InterfaceMethod<
      "Whether elements of these types take the same bytes.", "bool",
      "keepsBytes", (ins), /*methodBody=*/"",
      /*defaultImplementation=*/"return true;">];
}

def NN_KeepsBlocks : NN_Interface<"KeepsBlocks"> {
  let description = [{
    A layer that takes any layout works well on blocks of channels (dimension
    1): a block of the result is computed from one block of each operand.
  }];
  let methods = [InterfaceMethod<
      "Whether that is so for blocks of `block` channels.", "bool",
      "keepsBlocks", (ins "int64_t":$block),
      /*methodBody=*/"",
      /*defaultImplementation=*/"return true;">];
}

def NN_Weighted : NN_Interface<"Weighted"> {
  let description = "The layer computes sums of products.";
  let methods = [InterfaceMethod<
      "Whether an operand's elements are factors of the products "
      "and nothing else.",
      "bool", "isFactor", (ins "unsigned":$operand)>];
}

def NN_Linear : NN_Interface<"Linear"> {
  let description = [{
    out = residual_activation(activation(linear + bias) + residual), where
    linear is a sum of products of the first operand and the weights, which are
    the second. Absent parts are skipped.
  }];
  let methods =
      [InterfaceMethod<"Null if absent.", "::mlir::Value", "getBias">,
       InterfaceMethod<"", "::mlir::MutableOperandRange", "getBiasMutable">,
       InterfaceMethod<"Null if absent.", "::mlir::Value", "getResidual">,
       InterfaceMethod<"", "::mlir::MutableOperandRange", "getResidualMutable">,
       InterfaceMethod<"Null if absent.", "::nnv12::nn::FunctionAttr",
                       "getActivationAttr">,
       InterfaceMethod<"", "void", "setActivationAttr",
                       (ins "::nnv12::nn::FunctionAttr":$function)>,
       InterfaceMethod<"Null if absent.", "::nnv12::nn::FunctionAttr",
                       "getResidualActivationAttr">,
       InterfaceMethod<"", "void", "setResidualActivationAttr",
                       (ins "::nnv12::nn::FunctionAttr":$function)>];
}

def NN_Windowed : NN_Interface<"Windowed"> {
  let description = [{
    The first operand is [N, C, spatial…], and so is the result, if of other
    channels and sizes. Each attribute below, and each other array of integers,
    has an entry a spatial dimension.
  }];
  let methods =
      [InterfaceMethod<"Taps of a window.", "::llvm::ArrayRef<int64_t>",
                       "getKernel">,
       InterfaceMethod<"", "::llvm::ArrayRef<int64_t>", "getStrides">,
       InterfaceMethod<"", "::llvm::ArrayRef<int64_t>", "getDilations">,
       InterfaceMethod<"", "::llvm::ArrayRef<int64_t>", "getPadsLow">];
}

def NN_PartByPart : NN_Interface<"PartByPart"> {
  let description = [{
    A part of the result needs a part of an operand alone. Ask by
    `nn::neededPart`, which answers for every layer: of an `Elementwise` layer
    the part follows from that, of one that states neither it is all.
  }];
  let methods = [InterfaceMethod<[{
        The elements of operand number `operand` that `part`, elements of result
        number `result`, depend on, or a box around them. `part` is not empty
        and lies inside of the result; the returned box may reach beyond the
        operand.
      }],
                                 "::nnv12::nn::Box", "neededPart",
                                 (ins "unsigned":$operand,
                                     "const ::nnv12::nn::Box &":$part,
                                     "unsigned":$result)>,
                 InterfaceMethod<[{
        Whether all of the result takes no more elements of an operand than it
        has itself, wherever they lie.
      }],
                                 "bool", "takesPart", (ins "unsigned":$operand),
                                 /*methodBody=*/"",
                                 /*defaultImplementation=*/"return false;">];
}

#endif // NNV12_DIALECTS_NN_NNINTERFACES
