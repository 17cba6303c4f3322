//===- Matrices.cpp - Helpers of products of matrices ---------------------===//

#include "compiler/codegen/cpu/routines/Matrices.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

Index codegen::matrixNumber(KernelBuilder &k, Index index,
                            ArrayRef<int64_t> batch, ArrayRef<int64_t> own) {
  if (llvm::product_of(own) == 1)
    return 0;
  if (llvm::product_of(own) == llvm::product_of(batch))
    return index;
  Index result = 0;
  int64_t ownStride = 1, stride = 1;
  for (size_t d = 0; d < own.size(); ++d) {
    int64_t size = own[own.size() - 1 - d],
            extent = batch[batch.size() - 1 - d];
    if (size != 1)
      result =
          k.add(result, k.mul(k.rem(k.div(index, stride), extent), ownStride));
    ownStride *= size;
    stride *= extent;
  }
  return result;
}

Values codegen::transpose(KernelBuilder &k, Values rows) {
  int64_t n = rows.size();
  assert(llvm::isPowerOf2_64(n) && "halves are interleaved");
  for (int64_t round = 1; round < n; round *= 2) {
    Values next(n);
    for (int64_t i = 0; i < n / 2; ++i)
      for (int64_t half = 0; half < 2; ++half) {
        SmallVector<int64_t> lanes;
        for (int64_t l = 0; l < n / 2; ++l) {
          lanes.push_back(half * n / 2 + l);
          lanes.push_back(n + half * n / 2 + l);
        }
        next[2 * i + half] =
            vector::ShuffleOp::create(k.b, rows[i], rows[i + n / 2], lanes);
      }
    rows = next;
  }
  return rows;
}
