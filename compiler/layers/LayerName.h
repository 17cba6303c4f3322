//===- LayerName.h - A layer's name for people ------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_LAYERS_LAYERNAME_H
#define NNV12_COMPILER_LAYERS_LAYERNAME_H

#include "mlir/IR/Location.h"

#include <string>

namespace nnv12 {

/// The names of the ONNX nodes that a layer comes from, joined by '+'; empty
/// where the location holds none.
std::string layerName(mlir::Location location);

/// The first of them: one is enough to find the layer.
std::string firstName(mlir::Location location);

} // namespace nnv12

#endif // NNV12_COMPILER_LAYERS_LAYERNAME_H
