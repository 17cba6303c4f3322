//===- Names.h - Names of a model as they can be shown ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_NAMES_H
#define NNV12_COMPILER_IMPORT_NAMES_H

namespace onnx {
class ModelProto;
} // namespace onnx

namespace nnv12::importer {

/// Escapes control characters in all names of the model (artifact/Escape.h):
/// diagnostics, bundles, and tools' output hold none of them.
void escapeNames(onnx::ModelProto &model);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_NAMES_H
