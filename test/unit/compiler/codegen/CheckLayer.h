//===- CheckLayer.h - A routine against brute force -------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_CODEGEN_CHECKLAYER_H
#define NNV12_TEST_UNIT_COMPILER_CODEGEN_CHECKLAYER_H

#include "KernelTest.h"
#include "LayerShader.h"
#include "Reference.h"

#include "dialects/nn/NNDialect.h"
#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <set>

namespace nnv12::test {

/// The largest distance of two vectors, NaN if any number is.
inline float difference(const Floats &a, const Floats &b) {
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    float d = std::fabs(a[i] - b[i]);
    if (!(d <= largest))
      largest = d;
  }
  return largest;
}

inline float magnitude(const Floats &a) {
  return difference(a, Floats(a.size()));
}

/// Random operands of a layer.
inline std::vector<Floats> randomOperands(mlir::Operation *layer) {
  std::vector<Floats> operands;
  for (mlir::Value operand : layer->getOperands()) {
    auto type = llvm::cast<mlir::RankedTensorType>(operand.getType());
    operands.push_back(
        randomFloats(type.getNumElements(), operands.size() + 1));
  }
  return operands;
}

/// Runs the layer on the GPU, by all routines that compute it, and compares
/// with the reference; once, for CPUs have many routines of one layer. Not with
/// tools/check --quick: software that acts as a GPU takes its time.
inline void checkOnGpu(const std::string &text, float tolerance = 1e-5f) {
  static std::set<std::string> seen;
  if (isTier("quick") || !seen.insert(text).second)
    return;
  for (const std::string &routine : gpuRoutinesOf(text)) {
    SCOPED_TRACE(routine + ": " + text);
    std::string error;
    auto shader = LayerShader::compile(text, error, routine);
    ASSERT_TRUE(shader) << error;
    std::vector<Floats> operands = randomOperands(shader->layer());
    std::vector<Bytes> bytes;
    for (const Floats &operand : operands)
      bytes.push_back(toBytes(operand));
    std::vector<Bytes> results = shader->run(bytes, error);
    ASSERT_EQ(results.size(), 1u) << error;
    Floats expected = reference(shader->layer(), operands);
    Floats actual = toFloats(results[0]);
    ASSERT_EQ(expected.size(), actual.size());
    EXPECT_LE(difference(expected, actual),
              tolerance * magnitude(expected) + 1e-6f);
  }
}

/// Runs the layer on every target and compares with the reference; the error
/// may be `tolerance` of the largest number. The weight form of a routine that
/// has one must be the compiler's, too.
inline void check(const std::string &text, llvm::StringRef routine,
                  float tolerance = 1e-5f) {
  for (const std::string &target : testTargets()) {
    SCOPED_TRACE(target + ": " + text);
    std::string error;
    auto kernel = LayerKernel::compile(text, target, error, routine);
    ASSERT_TRUE(kernel) << error;
    std::vector<Floats> operands = randomOperands(kernel->layer());
    std::vector<Bytes> bytes;
    for (const Floats &operand : operands)
      bytes.push_back(toBytes(operand));
    Floats expected = reference(kernel->layer(), operands);
    Floats actual = toFloats(kernel->run(bytes)[0]);
    ASSERT_EQ(expected.size(), actual.size());
    EXPECT_LE(difference(expected, actual),
              tolerance * magnitude(expected) + 1e-6f);
    if (!kernel->weightForm())
      continue;
    // Where weights are transformed changes no bit of them.
    EXPECT_TRUE(kernel->transformedHere(bytes) == kernel->transformed(bytes));
  }
  checkOnGpu(text, tolerance);
}

/// Runs the layer, on every target and by all routines of the GPU (not with
/// tools/check --quick), with an input that is infinite or no number here and
/// there: the padding of the result must be zero all the same, which
/// unpackTensor() looks at. Results must be the reference's, unless
/// they are not `comparable`: a maximum of NaNs, or Winograd's, whose windows
/// share the elements that they read.
inline void checkNotFinite(const std::string &text, llvm::StringRef routine,
                           bool comparable = true) {
  auto operandsOf = [](mlir::Operation *layer) {
    const float infinity = std::numeric_limits<float>::infinity();
    std::vector<Floats> operands = randomOperands(layer);
    for (size_t i = 0; i < operands[0].size(); i += 23)
      operands[0][i] = i % 3 == 0   ? infinity
                       : i % 3 == 1 ? -infinity
                                    : std::nanf("");
    return operands;
  };
  auto asBytes = [](const std::vector<Floats> &operands) {
    std::vector<Bytes> bytes;
    for (const Floats &operand : operands)
      bytes.push_back(toBytes(operand));
    return bytes;
  };
  auto compare = [](mlir::Operation *layer, const std::vector<Floats> &operands,
                    const Floats &actual) {
    Floats expected = reference(layer, operands);
    ASSERT_EQ(expected.size(), actual.size());
    size_t wrong = 0;
    for (size_t i = 0; i < expected.size(); ++i)
      wrong += std::isfinite(expected[i])
                   ? !(std::fabs(expected[i] - actual[i]) <= 1e-4f)
               : std::isnan(expected[i]) ? !std::isnan(actual[i])
                                         : actual[i] != expected[i];
    EXPECT_EQ(wrong, 0u) << "of " << expected.size();
  };
  for (const std::string &target : testTargets()) {
    SCOPED_TRACE(target + ": " + text);
    std::string error;
    auto kernel = LayerKernel::compile(text, target, error, routine);
    ASSERT_TRUE(kernel) << error;
    std::vector<Floats> operands = operandsOf(kernel->layer());
    Bytes result = kernel->run(asBytes(operands))[0];
    if (comparable)
      compare(kernel->layer(), operands, toFloats(result));
  }
  if (isTier("quick"))
    return;
  for (const std::string &own : gpuRoutinesOf(text)) {
    SCOPED_TRACE(own + ": " + text);
    std::string error;
    auto shader = LayerShader::compile(text, error, own);
    ASSERT_TRUE(shader) << error;
    std::vector<Floats> operands = operandsOf(shader->layer());
    std::vector<Bytes> results = shader->run(asBytes(operands), error);
    ASSERT_EQ(results.size(), 1u) << error;
    if (comparable && own.find("winograd") == std::string::npos)
      compare(shader->layer(), operands, toFloats(results[0]));
  }
}

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_CODEGEN_CHECKLAYER_H
