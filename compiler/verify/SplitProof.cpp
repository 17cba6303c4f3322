//===- SplitProof.cpp - Proves that CPU and GPU share layers --------------===//

#include "compiler/verify/SplitProof.h"

#include "compiler/processors/Processor.h"
#include "compiler/routines/TilesBehind.h"
#include "dialects/nn/Box.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using artifact::Operand;
using artifact::Space;

/// Bytes [begin, end) of a tensor.
using Bytes = std::pair<uint64_t, uint64_t>;

/// The bytes of positions [lo, hi) of a dimension, padding of their blocks
/// included, in ascending order.
static std::vector<Bytes> bytesOfPositions(RankedTensorType type, unsigned dim,
                                           int64_t lo, int64_t hi) {
  auto element = nn::storageElementSize(type.getElementType());
  nn::Layout layout = nn::Layout::of(type);
  int64_t all = layout.size();
  const auto *axis = llvm::find_if(
      layout.axes(), [&](const auto &axis) { return axis.dim == dim; });
  if (axis == layout.axes().end() || lo >= hi)
    return {{0, lo < hi ? all * element : 0}};
  int64_t first = lo / axis->step * axis->stride,
          last = (hi + axis->step - 1) / axis->step * axis->stride,
          distance = axis->extent * axis->stride;
  std::vector<Bytes> result;
  for (int64_t at = 0; at < all; at += distance)
    result.push_back({uint64_t((at + first) * element),
                      uint64_t((at + std::min(last, distance)) * element)});
  return result;
}

/// The part [lo, hi) of an operand's dimension that positions of the result
/// from `back` on need.
static std::pair<int64_t, int64_t> neededBy(OpOperand &operand, Cut back) {
  ArrayRef<int64_t> shape =
      nn::typeOf(operand.getOwner()->getResult(0)).getShape();
  ArrayRef<int64_t> from = nn::typeOf(operand.get()).getShape();
  nn::Box needed = nn::Box::none(int64_t(from.size()));
  for (int64_t i = back.at; i < shape[back.dim]; ++i) {
    nn::Box part = nn::Box::whole(shape);
    part.lo[back.dim] = i;
    part.hi[back.dim] = i + 1;
    needed.include(nn::neededPart(operand, part));
  }
  if (needed.isEmpty())
    return {0, 0};
  if (back.dim >= from.size())
    return {0, 1};
  return {needed.lo[back.dim], needed.hi[back.dim]};
}

static std::pair<Space, uint32_t> keyOf(const Operand &operand) {
  return {operand.space, operand.index};
}

MemoryImage &SplitImage::of(const Operand &operand) {
  auto [it, isNew] = images.try_emplace(keyOf(operand));
  if (isNew)
    it->second = image.of(operand);
  return it->second;
}

void SplitImage::takeBack(const Operand &host, const Runs &contents) {
  of(host).write(host.offset, contents);
}

LogicalResult SplitImage::follow(const SplitClaim &claim) {
  const artifact::Stretch &stretch = claim.stretch;
  // Contents that no layer reads.
  Content lost = image.values.handedOver(
      {image.claim.layers[stretch.first], /*isTemporary=*/true, ~0U, ~0U});
  for (const artifact::Rows &rows : stretch.out) {
    Operand host = image.program.gpu->boundaries[rows.boundary].host;
    uint64_t begin = host.offset + rows.offset;
    of(host).write(begin, begin + rows.bytes, lost);
  }
  auto parts = ArrayRef(stretch.parts);
  auto planned = llvm::to_vector(
      plan::StretchOp(claim.planned).getBody().getOps<plan::PartOp>());
  size_t next = 0;
  for (uint32_t i = 0; i < stretch.count; ++i) {
    uint32_t execute = stretch.first + i;
    while (next < planned.size() && claim.layers[planned[next].getLayer()] !=
                                        image.claim.layers[execute])
      ++next;
    if (next == planned.size())
      return ProgramImage::fault(image.claim.layers[execute]->getLoc())
             << "stretch " << claim.number << ": expected a part of execute "
             << execute << " in the plan";
    // Those that write the execute's result.
    const Operand &result = image.program.operations[execute].operands[0];
    size_t count = 0;
    while (count < parts.size() && !parts[count].operands.empty() &&
           keyOf(parts[count].operands[0]) == keyOf(result) &&
           parts[count].operands[0].offset == result.offset &&
           (count == 0 || parts[count].kernel == parts[0].kernel))
      ++count;
    if (failed(followLayer(claim, execute, planned[next],
                           parts.take_front(count))))
      return failure();
    parts = parts.drop_front(count);
  }
  if (!parts.empty())
    return ProgramImage::fault(image.claim.main->getLoc())
           << "stretch " << claim.number << ": found " << parts.size()
           << " parts of no execute";
  return success();
}

LogicalResult SplitImage::followLayer(const SplitClaim &claim, uint32_t execute,
                                      plan::PartOp planned,
                                      ArrayRef<artifact::Operation> parts) {
  mlir::Operation *layer = image.claim.layers[execute];
  auto fault = [&] {
    InFlightDiagnostic result = ProgramImage::fault(layer->getLoc());
    result << "stretch " << claim.number << ": parts of execute " << execute
           << ": ";
    return result;
  };
  Cut back = {unsigned(*plan::StretchOp(claim.planned).getDim()),
              static_cast<int64_t>(planned.getBack())};
  const artifact::Operation *later = &image.program.operations[execute];
  for (const artifact::Switch &change : image.program.switches)
    if (change.operation == execute)
      later = &change.replacement;
  const KernelTable &kernels = image.claim.kernels;
  const KernelTable::Kernel &own = kernels[later->kernel];
  const Routine *routine = hostRoutines().named(own.name);
  RankedTensorType type = nn::typeOf(layer->getResult(0));
  if (!routine || layer->getNumResults() != 1 ||
      back.dim >= unsigned(type.getRank()))
    return fault() << "expected a layer with one result, by a routine";
  SmallVector<TileRange> ranges;
  for (const artifact::Operation &part : parts) {
    if (part.kernel >= kernels.kernels().size() ||
        (kernels[part.kernel].id != own.id &&
         kernels[part.kernel].id != kernels.partId(layer, *routine, back.dim)))
      return fault() << "expected the kernel for parts of '" << own.name << "'";
    auto isSame = [](const Operand &a, const Operand &b) {
      return keyOf(a) == keyOf(b) && a.offset == b.offset && a.size == b.size;
    };
    if (!std::equal(part.operands.begin(), part.operands.end(),
                    later->operands.begin(), later->operands.end(), isSame))
      return fault() << "expected the operands of later inferences";
    ranges.push_back(
        {int64_t(part.tileBegin), int64_t(part.tileBegin + part.tiles)});
  }
  if (back.at < type.getDimSize(back.dim)) {
    if (parts.empty() || kernels[parts[0].kernel].info.maps.empty())
      return fault() << "expected a part whose kernel has a map";
    auto wanted =
        tilesBehind(kernels[parts[0].kernel].info.maps.front(), type, back);
    if (!wanted || *wanted != ranges)
      return fault() << "expected the tiles that compute position " << back.at
                     << " and all behind it";
  } else if (!parts.empty()) {
    return fault() << "expected none, as there is no position behind "
                   << back.at;
  } else {
    return success();
  }

  llvm::BitVector done(image.program.preparations.size());
  image.waitFor(claim.stretch.after, done);
  for (OpOperand &operand : layer->getOpOperands()) {
    const Operand &place = later->operands[1 + operand.getOperandNumber()];
    auto contents = image.contentsFor(operand, *routine);
    auto faultOf = [&] {
      return fault() << "operand " << 1 + operand.getOperandNumber() << ": ";
    };
    if (!contents || contents->size != place.size)
      return faultOf() << "found " << place.size << " bytes, expected others";
    bool isWeights =
        place.space == Space::Weights || place.space == Space::Prepared;
    if (isWeights) {
      if (failed(image.expect(image.read(place), contents->runs, place.size,
                              place.offset, faultOf)) ||
          failed(image.checkWaited(place, done, faultOf)))
        return failure();
      continue;
    }
    auto [lo, hi] = neededBy(operand, back);
    for (auto [begin, end] :
         bytesOfPositions(nn::typeOf(operand.get()), back.dim, lo, hi))
      if (failed(image.expect(
              of(place).read(place.offset + begin, place.offset + end),
              cut(contents->runs, begin, end), end - begin,
              place.offset + begin, faultOf)))
        return failure();
  }
  const Operand &place = later->operands[0];
  Content content = image.values.computed(layer->getResult(0));
  for (auto [begin, end] :
       bytesOfPositions(type, back.dim, back.at, type.getDimSize(back.dim)))
    of(place).write(place.offset + begin, place.offset + end,
                    {content.id, content.offset + begin});
  return success();
}

LogicalResult SplitImage::expectLive(const SplitClaim &claim) {
  const artifact::Stretch &stretch = claim.stretch;
  const artifact::Program &program = image.program;
  written.clear();
  auto visit = [&](const artifact::Operation &operation,
                   bool isWhole) -> LogicalResult {
    uint32_t outputs = image.claim.kernels[operation.kernel].outputs;
    for (const Operand &operand :
         ArrayRef(operation.operands)
             .drop_front(std::min<size_t>(outputs, operation.operands.size())))
      if (failed(expectLive(claim, operand)))
        return failure();
    if (isWhole)
      for (uint32_t i = 0; i < outputs; ++i) {
        const Operand &operand = operation.operands[i];
        written[keyOf(operand)].write(operand.offset,
                                      operand.offset + operand.size, {0, 0});
      }
    return success();
  };
  for (size_t i = stretch.first + stretch.count; i < program.operations.size();
       ++i) {
    for (const artifact::Switch &change : program.switches)
      if (change.operation == i && failed(visit(change.replacement, false)))
        return failure();
    if (failed(visit(program.operations[i], true)))
      return failure();
  }
  func::FuncOp main = image.claim.main;
  for (uint32_t i = 0; i < main.getNumResults(); ++i) {
    Operand output = {Space::Output, i, 0, 0};
    output.size = image.sizeOf(output);
    if (failed(expectLive(claim, output)))
      return failure();
  }
  return success();
}

/// Looks at an operand that is read behind the stretch, as far as nobody has
/// written it since.
LogicalResult SplitImage::expectLive(const SplitClaim &claim,
                                     const Operand &operand) {
  if (operand.space != Space::Arena && operand.space != Space::Output)
    return success();
  uint64_t at = operand.offset, end = operand.offset + operand.size;
  auto expect = [&](uint64_t until) {
    auto fault = [&] {
      return ProgramImage::fault(
                 image.claim.layers[claim.stretch.first]->getLoc())
             << "stretch " << claim.number << ": behind it: ";
    };
    return image.expect(of(operand).read(at, until),
                        image.of(operand).read(at, until), until - at, at,
                        fault);
  };
  for (const Run &run : written[keyOf(operand)].read(at, end)) {
    uint64_t begin = operand.offset + run.begin;
    if (begin > at && failed(expect(begin)))
      return failure();
    at = operand.offset + run.end;
  }
  return at < end ? expect(end) : success();
}
