//===- OperandTable.cpp - Operations as steps -----------------------------===//
#include "runtime/core/OperandTable.h"

#include "runtime/system/Structs.h"

namespace nnv12::runtime {

static bool isCallersBuffer(const bundle::Operand *operand) {
  return operand->space() == bundle::Space_Input ||
         operand->space() == bundle::Space_Output;
}

void OperandTable::count(const bundle::Operation *operation) {
  for (const bundle::Operand *operand : *operation->operands()) {
    ++numPlaces_;
    numPatches_ += isCallersBuffer(operand);
  }
}

bool OperandTable::allocate() {
  if (!places_.allocate(numPlaces_) || !patches_.allocate(numPatches_))
    return false;
  place_ = places_.data();
  patch_ = patches_.data();
  return true;
}

Step OperandTable::resolve(const bundle::Operation *operation, uint32_t index,
                           Executor *executor, const LoadedProgram &loaded,
                           Memory memory) {
  Step step = {executor,
               index,
               1,
               operation->tile_begin(),
               operation->tile_end(),
               loaded.kernelOf(operation),
               place_,
               false};
  for (const bundle::Operand *operand : *operation->operands()) {
    if (isCallersBuffer(operand))
      *patch_++ = {place_, operand->index(),
                   operand->space() == bundle::Space_Output, operand->offset()};
    else
      *place_ = loaded.addressOf(operand, memory);
    ++place_;
  }
  return step;
}

void OperandTable::setBuffers(const CallersBuffers &buffers) {
  for (const Patch &patch : patches_) {
    auto *base = static_cast<uint8_t *>(
        patch.isOutput
            ? elementOf(buffers.outputs, patch.index).data
            : const_cast<void *>(elementOf(buffers.inputs, patch.index).data));
    *patch.place = base ? base + patch.offset : nullptr;
  }
}

void OperandTable::move(const uint8_t *from, uint64_t size, uint8_t *to) {
  for (void *&place : places_) {
    uintptr_t offset =
        reinterpret_cast<uintptr_t>(place) - reinterpret_cast<uintptr_t>(from);
    if (offset < size)
      place = to + offset;
  }
}

} // namespace nnv12::runtime
