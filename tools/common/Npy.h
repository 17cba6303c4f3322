//===- Npy.h - NumPy's array files ------------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_NPY_H
#define NNV12_TOOLS_COMMON_NPY_H

#include "tools/common/Tensor.h"

namespace nnv12::tools {

/// True when the file begins as .npy files do.
bool isNpy(const std::string &path);

/// Reads versions 1 to 3, C or Fortran order, little-endian. Empty, or one line
/// that starts with the path. bfloat16, which NumPy does not know, is read from
/// two-byte voids and integers when `expected` says so.
std::string readNpy(const std::string &path, nnv12_type expected,
                    Tensor &tensor);

/// Writes atomically. bfloat16 is written as "|V2".
std::string writeNpy(const std::string &path, const nnv12_tensor_info &info,
                     const void *data);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_NPY_H
