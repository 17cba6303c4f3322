//===- Matrix.h - Matrix products -------------------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_OPS_MATRIX_H
#define NNV12_COMPILER_IMPORT_OPS_MATRIX_H

#include "compiler/import/Node.h"

namespace nnv12::importer {

/// numpy.matmul: vectors become matrices and lose that dimension in the result.
Value numpyMatmul(Node &n, Value lhs, Value rhs);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_OPS_MATRIX_H
