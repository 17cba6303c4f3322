//===- Sizes.cpp - Bytes of elements, operands and tensors ----------------===//
#include "artifact/Sizes.h"

#include "artifact/Bundle.h"

namespace nnv12::artifact {

uint64_t elementSize(bundle::ElementType type) {
  return elementSize(static_cast<ElementType>(type));
}

uint64_t byteSize(const bundle::Tensor *tensor) {
  uint64_t bytes = elementSize(tensor->type());
  for (int64_t extent : *tensor->shape())
    bytes *= static_cast<uint64_t>(extent);
  return bytes;
}

bool spaceSize(const bundle::Bundle *bundle, const bundle::Program *program,
               const bundle::Operand *operand, uint64_t &size) {
  auto find = [&](const auto *list, auto bytesOf) {
    if (operand->index() >= list->size())
      return false;
    size = bytesOf(list->Get(operand->index()));
    return true;
  };
  auto sizeOf = [](const auto *part) { return part->size(); };
  switch (operand->space()) {
  case bundle::Space_Memory:
    return find(program->memories(), sizeOf);
  case bundle::Space_Weights:
    return find(bundle->segments(), sizeOf) &&
           bundle->segments()->Get(operand->index())->kind() ==
               bundle::SegmentKind_Weights;
  case bundle::Space_Input:
    return find(program->inputs(), byteSize);
  case bundle::Space_Output:
    return find(program->outputs(), byteSize);
  }
  return false;
}

} // namespace nnv12::artifact
