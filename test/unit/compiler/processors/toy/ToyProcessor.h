//===- ToyProcessor.h - The smallest processor there can be -----*- C++ -*-===//
//
// It is added as docs/architecture.md says: one folder, and addProcessor(). It
// computes relu of f32 by the CPUs' code.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_COMPILER_PROCESSORS_TOY_TOYPROCESSOR_H
#define NNV12_TEST_UNIT_COMPILER_PROCESSORS_TOY_TOYPROCESSOR_H

#include "compiler/processors/Processor.h"

namespace nnv12 {

const Processor &toyProcessor();

} // namespace nnv12

#endif // NNV12_TEST_UNIT_COMPILER_PROCESSORS_TOY_TOYPROCESSOR_H
