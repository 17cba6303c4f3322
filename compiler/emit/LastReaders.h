//===- LastReaders.h - Weights that nobody else uses ------------*- C++ -*-===//
#ifndef NNV12_COMPILER_EMIT_LASTREADERS_H
#define NNV12_COMPILER_EMIT_LASTREADERS_H

#include "artifact/Bundle.h"

namespace nnv12 {

/// Sets `lastReader` of each decode and transform that reads weights which no
/// other preparation, no execute and no switch uses; reads bring weights, which
/// is no use of them. In n log n for n operands.
void markLastReaders(artifact::Program &program);

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_LASTREADERS_H
