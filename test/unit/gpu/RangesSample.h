//===- RangesSample.h - A sample with all stretches -------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_GPU_RANGESSAMPLE_H
#define NNV12_TEST_UNIT_GPU_RANGESSAMPLE_H

#include "test/unit/sample/GpuSample.h"

namespace nnv12::test {

/// GpuSample with a stretch for each range of its executes.
class RangesSample : public GpuSample {
public:
  RangesSample() {
    for (artifact::Program &program : bundle.programs)
      change(program);
  }

private:
  void change(artifact::Program &program) {
    using namespace artifact;
    constexpr uint64_t bytes = 256;
    // The result of execute i lies at i * bytes, so that no two values share a
    // place.
    for (uint32_t i = 0; i < 5; ++i) {
      std::vector<Operand> &operands = program.operations[i].operands;
      if (i < 4)
        operands[0].offset = i * bytes;
      if (i)
        operands[1].offset = (i - 1) * bytes;
    }
    for (Switch &change : program.switches) {
      change.replacement.operands[0].offset = change.operation * bytes;
      change.replacement.operands[1].offset = (change.operation - 1) * bytes;
    }
    program.arenaSize = 4 * bytes;
    ProgramGpu &gpu = *program.gpu;
    // Boundary i is the operand of execute i, and the result of the one before
    // it.
    gpu.boundaries.clear();
    for (uint32_t i = 0; i <= 5; ++i)
      gpu.boundaries.push_back({i < 5 ? program.operations[i].operands[1]
                                      : program.operations[4].operands[0],
                                i * bytes});
    gpu.arenaSize = 12 * bytes;
    gpu.stretches.clear();
    gpu.preparations.resize(RecordAll);
    for (Lane &lane : gpu.lanes)
      lane.queue.clear();
    for (uint32_t first = 0; first < 5; ++first)
      for (uint32_t end = 5; end > first; --end)
        addStretch(gpu, first, end);
    for (uint32_t i = 0; i < gpu.preparations.size(); ++i)
      gpu.lanes[i % 2].queue.push_back({LaneKind::Prepare, 8 + i});
    gpu.warm = {0};
  }

  void addStretch(artifact::ProgramGpu &gpu, uint32_t first, uint32_t end) {
    using namespace artifact;
    constexpr uint64_t bytes = 256;
    auto number = uint32_t(gpu.stretches.size());
    Stretch stretch{first, end - first};
    for (uint32_t i = first; i < end; ++i) {
      static constexpr uint32_t pipelines[] = {0, 1, 0, 1, 2};
      static constexpr uint64_t weights[] = {0, 1, 0, 2};
      auto value = [&](uint32_t at) {
        if (at == first || at == end)
          return GpuOperand{GpuSpace::Boundary, at, 0, bytes};
        return GpuOperand{GpuSpace::Arena, 0, (6 + at) * bytes, bytes};
      };
      Dispatch dispatch{i, pipelines[i], {value(i + 1), value(i)}, {4, 1, 1}};
      if (i < 4)
        dispatch.operands.push_back(
            {GpuSpace::Prepared, 0, weights[i] * bytes, bytes});
      stretch.dispatches.push_back(dispatch);
    }
    stretch.in = {{first, 0, bytes}};
    stretch.out = {{end, 0, bytes}};
    OperationId record{LaneKind::Prepare,
                       8 + uint32_t(gpu.preparations.size())};
    stretch.after = {record, id(UploadFirst), id(UploadSecond)};
    GpuPreparation preparation{GpuStage::Record};
    preparation.stretch = number;
    preparation.after = {id(Device), id(Arithmetic), id(Copy)};
    gpu.preparations.push_back(preparation);
    gpu.stretches.push_back(stretch);
  }
};

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_GPU_RANGESSAMPLE_H
