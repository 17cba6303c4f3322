//===- Reference.h - Layers by brute force ----------------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_CODEGEN_REFERENCE_H
#define NNV12_TEST_UNIT_COMPILER_CODEGEN_REFERENCE_H

#include "mlir/IR/Operation.h"

#include <string>
#include <vector>

namespace nnv12::test {

using Floats = std::vector<float>;

/// The result of an f32 conv, conv_transpose, matmul, pool or (mean) reduce
/// layer from dense operands, accumulated in double; dense.
Floats reference(mlir::Operation *layer, const std::vector<Floats> &operands);

/// A layer of two spatial dimensions, to be written as nn IR.
struct ConvCase {
  int64_t n = 1, c = 16, h = 8, w = 8, o = 16, kh = 1, kw = 1;
  int64_t strideH = 1, strideW = 1, dilationH = 1, dilationW = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0;
  int64_t groups = 1;
  bool bias = true, residual = false;
  std::string activation = ""; ///< e.g. "relu" or "clip [0.0, 6.0]"
  std::string residualActivation = "";
  bool transpose = false;
  int64_t outputPadding = 0;
  bool constant = false; ///< the weights
  /// func.func @main around the layer.
  std::string text() const;
};

struct PoolCase {
  int64_t n = 1, c = 16, h = 8, w = 8, k = 2, stride = 2, dilation = 1, low = 0,
          high = 0;
  bool max = true, countPad = false;
  std::string text() const;
};

struct MatMulCase {
  std::vector<int64_t> lhsBatch, rhsBatch;
  int64_t m = 4, n = 16, k = 16;
  bool transposeLhs = false, transposeRhs = false, bias = true,
       residual = false;
  bool constant = false; ///< the right matrix
  std::string activation = "";
  std::string text() const;
};

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_CODEGEN_REFERENCE_H
