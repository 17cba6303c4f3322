//===- Sizes.h - Bytes of elements, operands and tensors --------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_SIZES_H
#define NNV12_ARTIFACT_SIZES_H

#include "bundle_generated.h"

#include <cstdint>

namespace nnv12::artifact {

/// Bytes of one element of a verified type.
uint64_t elementSize(bundle::ElementType type);

/// Bytes of a verified tensor.
uint64_t byteSize(const bundle::Tensor *tensor);

/// How many bytes there are behind the operand's space and index; false: there
/// is no such space. Tensors, segments and memories are verified.
bool spaceSize(const bundle::Bundle *bundle, const bundle::Program *program,
               const bundle::Operand *operand, uint64_t &size);

/// True when [offset, offset + size) lies inside `available` bytes.
inline bool fits(uint64_t offset, uint64_t size, uint64_t available) {
  return offset <= available && size <= available - offset;
}

/// Whether bytes can be stored in so many planes, each a byte of all elements.
inline bool arePlanes(uint8_t planes, uint64_t bytes) {
  return (planes == 1 || planes == 2 || planes == 4 || planes == 8) &&
         bytes % planes == 0;
}

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_SIZES_H
