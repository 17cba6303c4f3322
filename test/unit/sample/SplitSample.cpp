//===- SplitSample.cpp - A sample bundle with split stretches -------------===//
#include "test/unit/sample/SplitSample.h"

namespace nnv12::test {

using namespace artifact;

static constexpr uint64_t tensorBytes = 256, tilesOfTensor = 4;

void splitStretch(const Program &program, Stretch &stretch, uint32_t at) {
  uint64_t front = at * tensorBytes / tilesOfTensor;
  stretch.kind = StretchKind::Split;
  stretch.cold = false;
  stretch.at = uint32_t(at * tileSize);
  for (std::vector<Rows> *list : {&stretch.in, &stretch.out})
    for (Rows &rows : *list)
      rows.bytes = front;
  for (Dispatch &dispatch : stretch.dispatches) {
    dispatch.groups.x = at;
    dispatch.touched.clear();
    for (size_t k = 0; k < dispatch.operands.size(); ++k)
      dispatch.touched.push_back({uint8_t(k), tensorBytes, front, 1});
  }
  stretch.parts.clear();
  for (uint32_t i = stretch.first; i < stretch.first + stretch.count; ++i) {
    Operation part = program.operations[i];
    for (OperationId before : part.after)
      stretch.after.push_back(before);
    part.after.clear();
    part.tileBegin = at;
    part.tiles = tilesOfTensor - at;
    stretch.parts.push_back(part);
  }
}

SplitSample::SplitSample(uint32_t at) {
  for (Program &program : bundle.programs)
    change(program, at);
}

void SplitSample::change(Program &program, uint32_t at) {
  auto place = [](Operation &operation, uint32_t index) {
    if (operation.operands[0].space == Space::Arena)
      operation.operands[0].offset = index * tensorBytes;
    if (operation.operands[1].space == Space::Arena)
      operation.operands[1].offset = (index - 1) * tensorBytes;
  };
  for (uint32_t i = 0; i < program.operations.size(); ++i)
    place(program.operations[i], i);
  for (Switch &change : program.switches)
    place(change.replacement, change.operation);
  program.arenaSize = 4 * tensorBytes;
  ProgramGpu &gpu = *program.gpu;
  // The product between stretches 1 and 2, and the last one, which execute 4
  // reads.
  gpu.boundaries[1].host = program.operations[1].operands[0];
  for (uint32_t i : {1, 2})
    splitStretch(program, gpu.stretches[i], at);
}

} // namespace nnv12::test
