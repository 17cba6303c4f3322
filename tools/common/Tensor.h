//===- Tensor.h - A tensor in a tool's memory -------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_TENSOR_H
#define NNV12_TOOLS_COMMON_TENSOR_H

#include "tools/media/Elements.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace nnv12::tools {

/// Bytes that begin at a multiple of 64.
class Buffer {
public:
  Buffer() = default;
  explicit Buffer(size_t size);

  uint8_t *data() { return bytes_.get(); }
  const uint8_t *data() const { return bytes_.get(); }
  size_t size() const { return length_; }

private:
  std::unique_ptr<uint8_t, void (*)(void *)> bytes_{nullptr, std::free};
  size_t length_ = 0;
};

struct Tensor {
  Tensor() = default;
  /// With the bytes of any numbers.
  explicit Tensor(const nnv12_tensor_info &info)
      : type(info.type), shape(info.shape, info.shape + info.rank),
        data(info.byte_size) {}

  nnv12_type type = NNV12_F32;
  std::vector<int64_t> shape;
  Buffer data;
};

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_TENSOR_H
