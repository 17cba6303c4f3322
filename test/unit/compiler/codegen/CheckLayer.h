//===- CheckLayer.h - A routine against brute force -------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_CODEGEN_CHECKLAYER_H
#define NNV12_TEST_UNIT_COMPILER_CODEGEN_CHECKLAYER_H

#include "KernelTest.h"
#include "Reference.h"

#include "dialects/nn/NNDialect.h"
#include "gtest/gtest.h"

#include <cmath>

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

/// Runs the layer on every target and compares with the reference; the error
/// may be `tolerance` of the largest number. The weight form of a routine that
/// has one is what the compiler would compute, too.
inline void check(const std::string &text, llvm::StringRef routine,
                  float tolerance = 1e-5f) {
  for (const std::string &target : testTargets()) {
    SCOPED_TRACE(target + ": " + text);
    std::string error;
    auto kernel = LayerKernel::compile(text, target, error, routine);
    ASSERT_TRUE(kernel) << error;
    std::vector<Floats> operands;
    std::vector<Bytes> bytes;
    for (mlir::Value operand : kernel->layer()->getOperands()) {
      auto type = llvm::cast<mlir::RankedTensorType>(operand.getType());
      operands.push_back(
          randomFloats(type.getNumElements(), operands.size() + 1));
      bytes.push_back(toBytes(operands.back()));
    }
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
}

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_CODEGEN_CHECKLAYER_H
