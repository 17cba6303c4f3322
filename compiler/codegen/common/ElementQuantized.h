//===- ElementQuantized.h - Elements become quantised numbers ---*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_ELEMENTQUANTIZED_H
#define NNV12_COMPILER_CODEGEN_COMMON_ELEMENTQUANTIZED_H

#include "compiler/codegen/common/ElementTypes.h"

namespace nnv12::codegen {

/// round(x) + zero, saturated to the integers of `type`; x is f32, the zero
/// point at `index` has that type and may be null. NaN becomes the
/// least integer.
Value emitSaturated(ElementEmitter &e, Value x, Value zero,
                    ArrayRef<Coord> index, Type type);
/// The same less the zero point, as a whole number of f32. `zero` is an f32 and
/// may be null for zero.
Value emitRounded(ElementEmitter &e, Value x, Value zero, Type type);
/// The types that these write.
void saturatedTypes(ElementTypes &t, Type type);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_ELEMENTQUANTIZED_H
