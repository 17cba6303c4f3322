//===- TensorData.h - Constants from ONNX tensors and files -----*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_TENSORDATA_H
#define NNV12_COMPILER_IMPORT_TENSORDATA_H

#include "compiler/import/ImportValue.h"
#include "compiler/import/LayerBuilder.h"

namespace onnx {
class SparseTensorProto;
class TensorProto;
} // namespace onnx

namespace nnv12::importer {

class ExternalData;

/// The elements of a tensor, null after a fault.
mlir::ElementsAttr decodeTensor(const onnx::TensorProto &tensor,
                                ExternalData &external, LayerBuilder &builder);

/// The dense form of a sparse tensor.
mlir::ElementsAttr decodeSparse(const onnx::SparseTensorProto &tensor,
                                ExternalData &external, LayerBuilder &builder);

/// A value from a .npy file, or from a serialised TensorProto, SequenceProto or
/// OptionalProto; `kind` says which of these a .pb file holds.
ImportValue readConstantFile(llvm::StringRef path, ImportValue::Kind kind,
                             ExternalData &external, LayerBuilder &builder);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_TENSORDATA_H
