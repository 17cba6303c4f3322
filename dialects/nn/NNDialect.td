//===- NNDialect.td - The nn dialect -----------------------*- tablegen -*-===//
#ifndef NNV12_DIALECTS_NN_NNDIALECT
#define NNV12_DIALECTS_NN_NNDIALECT

include "mlir/IR/OpBase.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::nnv12::nn";
  let summary = "Neural network layers on tensors of static shape";
  let description = [{
    A model is one `func.func` of nn layers. Every tensor has a static shape:
    dynamic dimensions are bound when the model is imported. The logical shape
    of a tensor is the model's (N, C, spatial…); how its elements lie in memory
    is said by the tensor's encoding, a `#nn.layout`; no encoding means dense
    row-major. `nn.adapt` converts between layouts.

    The dialect is kept small: the importer expresses ONNX operators that are
    compositions (DepthToSpace, LRN, InstanceNormalization, Einsum…) as such,
    so that a pass or a kernel sees few kinds of layer.
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

#endif // NNV12_DIALECTS_NN_NNDIALECT
