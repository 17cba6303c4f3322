//===- Products.h - Products that several operators have --------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_OPS_PRODUCTS_H
#define NNV12_COMPILER_IMPORT_OPS_PRODUCTS_H

#include "compiler/import/ops/Windows.h"

namespace nnv12::importer {

struct ConvolutionShape {
  Windows windows;
  int64_t groups;
};

/// Reads and checks the convolution that the node's attributes describe, with a
/// result of `element`; nullopt after a fault.
std::optional<ConvolutionShape> readConvolution(Node &n, Value x, Value weights,
                                                Value bias, Type element);

/// The convolution that the node's attributes describe. Null after a fault.
Value convolution(Node &n, Value x, Value weights, Value bias);

/// Its sum with the node's input 3, if there is one, and the activation that
/// the node's attributes name. Input 2 is the bias.
Value activatedConvolution(Node &n, Value x, Value weights);

/// numpy.matmul: vectors become matrices and lose that dimension in the result.
Value numpyMatmul(Node &n, Value lhs, Value rhs);
/// The same by `product` of two matrices, or batches, with a result of
/// `element`.
Value numpyMatmul(Node &n, Value lhs, Value rhs, Type element,
                  llvm::function_ref<Value(Value, Value)> product);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_OPS_PRODUCTS_H
