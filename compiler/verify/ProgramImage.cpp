//===- ProgramImage.cpp - The contents of a program's memories ------------===//

#include "compiler/verify/ProgramImage.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

using namespace mlir;
using namespace nnv12;
using artifact::Operand;
using artifact::Space;

LogicalResult ProgramImage::fill() {
  if (failed(placeWeights()))
    return failure();
  func::FuncOp main = claim.main;
  for (BlockArgument input : main.getArguments()) {
    if (!nn::layoutTag(input.getType()).empty())
      return fault(main.getLoc())
             << "input " << input.getArgNumber() << ": found layout "
             << nn::layoutTag(input.getType()) << ", expected a dense one";
    images[{Space::Input, input.getArgNumber()}].write(
        0, nn::storageSize(input), values.computed(input));
  }
  return success();
}

LogicalResult ProgramImage::placeWeights() {
  MemoryImage &file = images[{Space::Weights, claim.weights.segment()}];
  auto place = [&](uint64_t offset, uint64_t size,
                   Content content) -> LogicalResult {
    if (!file.read(offset, offset + size).empty() ||
        offset + size > claim.weights.size())
      return fault(claim.main->getLoc())
             << "weights [" << offset << ", " << offset + size << "): expected "
             << values.describe(content, size) << " alone";
    file.write(offset, offset + size, content);
    return success();
  };
  for (const auto &[stored, entry] : claim.weights.entries()) {
    WeightsKey key = stored;
    key.form.codec = plan::Codec::stored;
    if (stored.form.codec == plan::Codec::stored &&
        failed(place(entry.offset, entry.size, values.weights(key))))
      return failure();
    for (auto [i, frame] : llvm::enumerate(entry.frames)) {
      Content content = values.frame(key, i);
      frames[content.id] = &entry;
      if (failed(place(frame.offset, frame.size, content)))
        return failure();
    }
  }
  for (const auto &[bytes, entry] : claim.weights.tables())
    if (failed(place(entry.offset, entry.size, values.table(bytes))))
      return failure();
  return success();
}

uint64_t ProgramImage::sizeOf(const Operand &operand) const {
  uint32_t index = operand.index;
  func::FuncOp main = claim.main;
  FunctionType type = main.getFunctionType();
  auto size = [](Type type) {
    return uint64_t(nn::storageSize(cast<RankedTensorType>(type)));
  };
  switch (operand.space) {
  case Space::Arena:
    return index == 0 ? program.arenaSize : 0;
  case Space::Prepared:
    return index == 0 ? program.preparedSize : 0;
  case Space::Weights:
    return index == claim.weights.segment() ? claim.weights.size() : 0;
  case Space::Input:
    return index < type.getNumInputs() ? size(type.getInput(index)) : 0;
  case Space::Output:
    return index < type.getNumResults() ? size(type.getResult(index)) : 0;
  }
  return 0;
}

LogicalResult ProgramImage::expect(const Runs &found, const Runs &expected,
                                   uint64_t size, uint64_t at,
                                   Fault fault) const {
  Difference d = firstDifference(found, expected, size);
  if (d.begin == d.end)
    return success();
  auto describe = [&](const std::optional<Content> &content) {
    return content ? values.describe(*content, d.end - d.begin)
                   : "nothing written";
  };
  return fault() << "byte " << at + d.begin << ": found " << describe(d.first)
                 << ", expected " << describe(d.second);
}

std::optional<ProgramImage::Contents>
ProgramImage::contentsFor(OpOperand &operand, const Routine &routine) {
  Value value = operand.get();
  std::optional<WeightForm> form = routine.weightForm(operand.getOwner());
  if (!form || form->operand != operand.getOperandNumber())
    return Contents{values.of(value), uint64_t(nn::storageSize(value))};
  const WeightsKey *key = wholeWeights(value);
  if (!key)
    return std::nullopt;
  uint64_t size = form->bytes;
  WeightsKey made = {key->elements, key->type, form->stored()};
  return Contents{{{0, size, values.weights(made)}}, size};
}

const WeightsKey *ProgramImage::wholeWeights(Value value) const {
  const Runs &runs = values.of(value);
  return runs.size() == 1 && runs[0].end == uint64_t(nn::storageSize(value))
             ? values.weightsOf(runs[0].content)
             : nullptr;
}

std::optional<Content> ProgramImage::contentOf(const Operand &operand) {
  Runs found = read(operand);
  if (found.size() != 1 || found[0].end - found[0].begin != operand.size)
    return std::nullopt;
  return found[0].content;
}

FailureOr<Content> ProgramImage::decoded(Content found, const Operand &source,
                                         uint64_t bytes, artifact::Codec codec,
                                         unsigned planes, Fault fault) {
  auto weights = values.frameOf(found);
  if (!weights)
    return fault() << "expected a frame, found "
                   << values.describe(found, source.size);
  ArrayRef<WeightTable::Frame> all = frames.lookup(found.id)->frames;
  const WeightTable::Frame &frame = all[weights->second];
  if (codec != artifact::Codec::Zstd || planes != frame.planes ||
      source.size != frame.size || bytes != frame.bytes)
    return fault() << "expected a zstd frame of " << frame.size << " bytes in "
                   << unsigned(frame.planes) << " planes that becomes "
                   << frame.bytes;
  Content result = values.weights(weights->first);
  for (const WeightTable::Frame &earlier : all.take_front(weights->second))
    result.offset += earlier.bytes;
  return result;
}

void ProgramImage::waitFor(ArrayRef<artifact::OperationId> after,
                           llvm::BitVector &done) const {
  for (artifact::OperationId first : after) {
    if (first.kind != artifact::LaneKind::Prepare ||
        first.index >= before.size())
      continue;
    done |= before[first.index];
    done.set(first.index);
  }
}

LogicalResult ProgramImage::checkWaited(const Operand &operand,
                                        const llvm::BitVector &done,
                                        Fault fault) const {
  if (operand.space == Space::Prepared)
    for (const Run &run :
         writers.read(operand.offset, operand.offset + operand.size))
      if (!done.test(run.content.id))
        return fault() << "expected it to wait for preparation "
                       << run.content.id << ", which writes byte "
                       << operand.offset + run.begin;
  return success();
}
