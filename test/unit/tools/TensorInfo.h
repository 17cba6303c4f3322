//===- TensorInfo.h - A tensor's facts, as a bundle has them ----*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_TOOLS_TENSORINFO_H
#define NNV12_TEST_UNIT_TOOLS_TENSORINFO_H

#include "test/unit/sample/SampleBundle.h"
#include "tools/common/Tensor.h"

#include <cstdint>
#include <vector>

namespace nnv12::test {

/// Describes a tensor named "t" whose elements take whole bytes. The result
/// points into `shape`, which must outlive it.
inline nnv12_tensor_info infoOf(nnv12_type type,
                                const std::vector<int64_t> &shape) {
  nnv12_tensor_info info = {"t", type, uint32_t(shape.size()), shape.data(),
                            tools::elementSize(type)};
  for (int64_t extent : shape)
    info.byte_size *= size_t(extent);
  return info;
}

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_TOOLS_TENSORINFO_H
