//===- ExternalTensors.h - Tensors of other files become own ones *- C++
//-*-===//
#ifndef NNV12_COMPILER_QUANTIZE_EXTERNALTENSORS_H
#define NNV12_COMPILER_QUANTIZE_EXTERNALTENSORS_H

#include "compiler/import/ExternalData.h"
#include "compiler/import/Onnx.h"

namespace nnv12::quantize {

/// Reads all elements that a model has in other files into the model itself.
/// "" or a fault: "initialiser 'w': found X, expected Y". A model has no more
/// than 2 GB then, as files of ONNX must not.
std::string readExternalTensors(onnx::ModelProto &model,
                                importer::ExternalData &files);

} // namespace nnv12::quantize

#endif // NNV12_COMPILER_QUANTIZE_EXTERNALTENSORS_H
