//===- CheckLayer.h - A routine against brute force -------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_CODEGEN_CHECKLAYER_H
#define NNV12_TEST_UNIT_CODEGEN_CHECKLAYER_H

#include "KernelTest.h"
#include "Reference.h"

#include "dialects/nn/NNDialect.h"
#include "gtest/gtest.h"

#include <cmath>

namespace nnv12::test {

/// Runs the layer on every target and compares with the reference.
inline void check(const std::string &text, llvm::StringRef routine) {
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
    float largest = 0, difference = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      largest = std::max(largest, std::fabs(expected[i]));
      float d = std::fabs(expected[i] - actual[i]);
      if (!(d <= difference))
        difference = d;
    }
    EXPECT_LE(difference, 1e-5f * largest + 1e-6f);
  }
}

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_CODEGEN_CHECKLAYER_H
