//===- Elements.h - Elements of tensors of any type -------------*- C++ -*-===//
#ifndef NNV12_TOOLS_MEDIA_ELEMENTS_H
#define NNV12_TOOLS_MEDIA_ELEMENTS_H

#include "runtime/include/nnv12.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace nnv12::tools {

size_t elementSize(nnv12_type type);
bool isFloat(nnv12_type type);
/// The numbers that an integer of 4 or 2 bits can be, `bits` 0 for other types.
struct SmallInt {
  int bits = 0, low = 0, high = 0;
  static SmallInt get(nnv12_type type);
};

/// "1x3x224x224", or "scalar".
std::string shapeText(const int64_t *shape, size_t rank);
std::string shapeText(const std::vector<int64_t> &shape);

/// "f32 1x3x224x224".
std::string describe(const nnv12_tensor_info &info);

/// Element `index` of data of this type, as a number.
double elementAt(nnv12_type type, const void *data, size_t index);

/// Stores `value`, rounded and clamped to the type.
void setElement(nnv12_type type, void *data, size_t index, double value);

} // namespace nnv12::tools

#endif // NNV12_TOOLS_MEDIA_ELEMENTS_H
