//===- ElementQuantized.h - Elements become quantised numbers ---*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_ELEMENTQUANTIZED_H
#define NNV12_COMPILER_CODEGEN_COMMON_ELEMENTQUANTIZED_H

#include "compiler/codegen/common/ElementTypes.h"

namespace nnv12::codegen {

/// round(x) + zero, saturated to the integers of `type`; x is f32, the zero
/// point at `index` has that type and may be null. NaN becomes 0.
Value emitSaturated(ElementEmitter &e, Value x, Value zero,
                    ArrayRef<Coord> index, Type type);
/// The types that this writes.
void saturatedTypes(ElementTypes &t, Type type);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_ELEMENTQUANTIZED_H
