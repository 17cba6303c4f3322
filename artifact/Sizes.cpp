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
  uint32_t index = operand->index();
  switch (operand->space()) {
  case bundle::Space_Memory:
    if (index >= program->memories()->size())
      return false;
    size = program->memories()->Get(index)->size();
    return true;
  case bundle::Space_Weights:
    if (index >= bundle->segments()->size() ||
        bundle->segments()->Get(index)->kind() != bundle::SegmentKind_Weights)
      return false;
    size = bundle->segments()->Get(index)->size();
    return true;
  case bundle::Space_Input:
    if (index >= program->inputs()->size())
      return false;
    size = byteSize(program->inputs()->Get(index));
    return true;
  case bundle::Space_Output:
    if (index >= program->outputs()->size())
      return false;
    size = byteSize(program->outputs()->Get(index));
    return true;
  }
  return false;
}

} // namespace nnv12::artifact
