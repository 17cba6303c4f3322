//===- Npy.h - NumPy's array files ------------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_NPY_H
#define NNV12_TOOLS_COMMON_NPY_H

#include "tools/common/Tensor.h"

namespace nnv12::tools {

/// True when the file begins as .npy files do.
bool isNpy(const std::string &path);

/// Reads versions 1 to 3, C or Fortran order, little-endian. Empty, or one line
/// that starts with the path. Types that NumPy does not know are read when
/// `expected` says so: bfloat16 from two-byte voids and integers, floats of 8
/// and 4 bits from one-byte voids and uint8 (their codes), integers of 4 and 2
/// bits from one-byte voids (their low bits) and from int8 and uint8 in their
/// range.
std::string readNpy(const std::string &path, nnv12_type expected,
                    Tensor &tensor);

/// Writes atomically. bfloat16 is written as "|V2", floats of 8 and 4 bits as
/// "|V1", integers of 4 and 2 bits as "|i1" or "|u1".
std::string writeNpy(const std::string &path, const nnv12_tensor_info &info,
                     const void *data);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_NPY_H
