//===- Matrices.h - Helpers of products of matrices -------------*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_CPU_ROUTINES_MATRICES_H
#define NNV12_COMPILER_CODEGEN_CPU_ROUTINES_MATRICES_H

#include "compiler/codegen/cpu/KernelBuilder.h"

namespace nnv12::codegen {

/// Number of the matrix of an operand with batch dimensions `own` that batch
/// `index` of the result takes, whose batch dimensions are `batch`.
Index matrixNumber(KernelBuilder &k, Index index, ArrayRef<int64_t> batch,
                   ArrayRef<int64_t> own);

/// Transposes n vectors of n lanes (n a power of two): interleaving the halves
/// log2(n) times turns rows into columns.
Values transpose(KernelBuilder &k, Values rows);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_CPU_ROUTINES_MATRICES_H
