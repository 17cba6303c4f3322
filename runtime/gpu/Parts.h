//===- Parts.h - The CPU's parts of split stretches -------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_GPU_PARTS_H
#define NNV12_RUNTIME_GPU_PARTS_H

#include "runtime/core/OperandTable.h"

namespace nnv12::runtime {

/// The steps that CPUs compute while the GPU computes a stretch.
class Parts {
public:
  /// For a verified overlay. False when memory ran out.
  [[nodiscard]] bool create(const bundle::ProgramGpu *gpu,
                            const LoadedProgram &loaded, Memory memory);
  /// The parts of a stretch, in order.
  PartList of(uint32_t stretch) const {
    return {parts_.data() + firsts_[stretch],
            parts_.data() + firsts_[stretch + 1]};
  }
  /// Before each run.
  void setBuffers(const CallersBuffers &buffers) {
    operands_.setBuffers(buffers);
  }
  /// The same as OperandTable's.
  void move(const uint8_t *from, uint64_t size, uint8_t *to) {
    operands_.move(from, size, to);
  }

private:
  OperandTable operands_;
  artifact::Array<Part> parts_;
  artifact::Array<uint32_t> firsts_; ///< by stretch, and the end
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_PARTS_H
