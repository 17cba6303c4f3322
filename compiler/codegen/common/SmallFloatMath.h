//===- SmallFloatMath.h - Codes of small floats in kernels ------*- C++ -*-===//
//
// SmallFloat::decode and encode as vector arithmetic on the bits of f32 or f64.
// Bit by bit the same: constants fold to the numbers that kernels compute.
// Nothing depends on whether the processor flushes subnormal numbers.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_SMALLFLOATMATH_H
#define NNV12_COMPILER_CODEGEN_COMMON_SMALLFLOATMATH_H

#include "artifact/SmallFloat.h"
#include "compiler/codegen/common/BuilderBase.h"

namespace nnv12::codegen {

/// The value of a code (i8), exactly; `type` is f32 or f64, or vectors of it.
Value emitDecode(BuilderBase &k, const artifact::SmallFloat &format, Value code,
                 Type type);

/// The code (i8) of x, f32 or f64.
Value emitEncode(BuilderBase &k, const artifact::SmallFloat &format, Value x,
                 bool saturate, artifact::SmallFloat::Rounding rounding);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_SMALLFLOATMATH_H
