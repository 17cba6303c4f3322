//===- Convolution.h - The core of all kinds of convolution -----*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_OPS_CONVOLUTION_H
#define NNV12_COMPILER_IMPORT_OPS_CONVOLUTION_H

#include "compiler/import/Node.h"

namespace nnv12::importer {

/// The convolution that the node's attributes describe. Null after a fault.
Value convolution(Node &n, Value x, Value weights, Value bias);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_OPS_CONVOLUTION_H
