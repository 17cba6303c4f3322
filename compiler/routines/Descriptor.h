//===- Descriptor.h - Routines with their schemas, for people ---*- C++ -*-===//
#ifndef NNV12_COMPILER_ROUTINES_DESCRIPTOR_H
#define NNV12_COMPILER_ROUTINES_DESCRIPTOR_H

#include "compiler/routines/Routine.h"

#include <string>

namespace nnv12 {

/// The processor and the element type of the layer's result: "cpu:f32".
std::string schemaText(mlir::Operation *layer);

/// SoftNeuro's descriptor: the schema of the result and the routine that
/// computes it on a CPU, "cpu:f32/conv.direct.nChw16c.p4". Routines of one
/// layout have it in their names; others get it behind theirs, unless it is
/// dense: "cpu:f32/element.aBcd16b". An adapt has the name of its layer.
std::string descriptorOf(mlir::Operation *layer, const Routine &routine);

} // namespace nnv12

#endif // NNV12_COMPILER_ROUTINES_DESCRIPTOR_H
