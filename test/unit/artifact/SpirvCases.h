//===- SpirvCases.h - What no driver may see --------------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_ARTIFACT_SPIRVCASES_H
#define NNV12_TEST_UNIT_ARTIFACT_SPIRVCASES_H

#include "test/unit/sample/SpirvSamples.h"

#include <utility>
#include <vector>

namespace nnv12::test {

/// A sample with other text, and a part of what the verifier says of it.
struct SpirvCase {
  SpirvSampleNumber sample;
  const char *message;
  std::vector<std::pair<const char *, const char *>> edits; ///< from, to
};

/// What comes before functions.
const std::vector<SpirvCase> &spirvDeclarationCases();
/// Functions, and ids in general.
const std::vector<SpirvCase> &spirvFunctionCases();

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_ARTIFACT_SPIRVCASES_H
