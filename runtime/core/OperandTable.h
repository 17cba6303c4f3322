//===- OperandTable.h - Operations as steps ---------------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_CORE_OPERANDTABLE_H
#define NNV12_RUNTIME_CORE_OPERANDTABLE_H

#include "artifact/Array.h"
#include "runtime/core/Executor.h"

namespace nnv12::runtime {

/// Makes steps of operations. It has the addresses of their operands: those of
/// the caller's buffers are others in each run. First all are counted.
class OperandTable {
public:
  void count(const bundle::Operation *operation);
  /// False when memory ran out.
  [[nodiscard]] bool allocate();
  /// The step of an operation that was counted, of execute `index`.
  Step resolve(const bundle::Operation *operation, uint32_t index,
               Executor *executor, const LoadedProgram &loaded, Memory memory);
  /// Whether all that were counted are steps.
  bool isFull() const {
    return place_ == places_.end() && patch_ == patches_.end();
  }
  /// Before each run.
  void setBuffers(const CallersBuffers &buffers);
  /// The `size` bytes at `from` lie at `to` from now on.
  void move(const uint8_t *from, uint64_t size, uint8_t *to);

private:
  /// A place that depends on the caller's buffers.
  struct Patch {
    void **place;
    uint32_t index; ///< of the input, or of the output
    bool isOutput;
    uint64_t offset;
  };

  artifact::Array<void *> places_;
  artifact::Array<Patch> patches_;
  size_t numPlaces_ = 0, numPatches_ = 0;
  void **place_ = nullptr; ///< the next one
  Patch *patch_ = nullptr; ///< the same
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_CORE_OPERANDTABLE_H
