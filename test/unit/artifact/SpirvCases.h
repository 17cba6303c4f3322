//===- SpirvCases.h - Modules that no driver may see ------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_ARTIFACT_SPIRVCASES_H
#define NNV12_TEST_UNIT_ARTIFACT_SPIRVCASES_H

#include "test/unit/sample/SpirvSamples.h"

#include <utility>
#include <vector>

namespace nnv12::test {

/// A sample with other text, and a part of the verifier's message.
struct SpirvCase {
  SpirvSampleNumber sample;
  const char *message;
  std::vector<std::pair<const char *, const char *>> edits; ///< from, to
};

/// Cases of the sections before functions.
const std::vector<SpirvCase> &spirvDeclarationCases();
/// Functions, and ids in general.
const std::vector<SpirvCase> &spirvFunctionCases();

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_ARTIFACT_SPIRVCASES_H
