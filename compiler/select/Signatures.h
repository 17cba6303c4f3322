//===- Signatures.h - The layouts that a layer may have ---------*- C++ -*-===//
#ifndef NNV12_COMPILER_SELECT_SIGNATURES_H
#define NNV12_COMPILER_SELECT_SIGNATURES_H

#include "compiler/routines/LayerIn.h"

#include <vector>

namespace nnv12 {

/// The value of which `value` is a copy in another layout, or itself.
mlir::Value sourceOf(mlir::Value value);

/// The layouts in which some routine computes `layer` and which are worth a
/// look, each once; first those that it has. A routine of any layouts, which
/// computes element by element, has the layer's own and those in which operands
/// and result are dense or in blocks of channels, operands alike. Where another
/// routine computes the layer, such a one is not asked: it is many times
/// slower.
std::vector<LayerLayouts> signaturesOf(mlir::Operation *layer);

} // namespace nnv12

#endif // NNV12_COMPILER_SELECT_SIGNATURES_H
