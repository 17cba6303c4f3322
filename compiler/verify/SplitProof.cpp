//===- SplitProof.cpp - Proves that CPU and GPU share layers --------------===//

#include "compiler/verify/SplitProof.h"

#include "compiler/emit/OverlayEmitter.h"
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

SplitImage::SplitImage(ProgramImage &image, const SplitClaim &claim)
    : claim(claim), image(image) {
  // Others stay as they are in a run of the CPU alone.
  for (uint32_t i = 0; i < claim.stretch.count; ++i)
    for (const Operand &operand :
         image.program.operations[claim.stretch.first + i].operands)
      (void)of(operand);
}

MemoryImage &SplitImage::of(const Operand &operand) {
  auto [it, isNew] = images.try_emplace(keyOf(operand));
  if (isNew)
    it->second = image.of(operand);
  return it->second;
}

void SplitImage::leaveToGpu(const Operand &host) {
  of(host).erase(host.offset, host.offset + host.size);
}

void SplitImage::takeBack(const Operand &host, const Runs &contents) {
  of(host).write(host.offset, contents);
}

LogicalResult SplitImage::follow() {
  const artifact::Stretch &stretch = claim.stretch;
  ArrayRef<artifact::Operation> parts = stretch.parts;
  for (uint32_t i = 0; i < stretch.count; ++i)
    if (failed(followLayer(stretch.first + i, parts)))
      return failure();
  if (!parts.empty())
    return ProgramImage::fault(image.claim.main->getLoc())
           << "stretch " << claim.number << ": found " << parts.size()
           << " parts behind those of its executes, expected none";
  return success();
}

/// Follows the first of `parts`, and takes them away.
LogicalResult SplitImage::followLayer(uint32_t execute,
                                      ArrayRef<artifact::Operation> &parts) {
  mlir::Operation *layer = image.claim.layers[execute];
  auto fault = [&] {
    InFlightDiagnostic result = ProgramImage::fault(layer->getLoc());
    result << "stretch " << claim.number << ": parts of execute " << execute
           << ": ";
    return result;
  };
  plan::StretchOp stretch = claim.planned;
  auto all = stretch.getBody().getOps<plan::PartOp>();
  auto planned = llvm::find_if(all, [&](plan::PartOp part) {
    return claim.layers[part.getLayer()] == layer;
  });
  if (planned == all.end())
    return fault() << "expected one in the plan";
  const artifact::Operation &later = laterOf(image.program, execute);
  Cut back = {unsigned(*stretch.getDim()),
              static_cast<int64_t>((*planned).getBack())};
  const Routine *routine =
      hostRoutines().named(image.claim.kernels[later.kernel].name);
  RankedTensorType type = nn::typeOf(layer->getResult(0));
  if (!routine || layer->getNumResults() != 1 ||
      back.dim >= unsigned(type.getRank()))
    return fault() << "expected a layer with one result, by a routine";
  // All of it is the GPU's.
  if (back.at >= type.getDimSize(back.dim))
    return success();
  if (failed(checkTiles(layer, later, *routine, back, parts, fault)) ||
      failed(checkReads(layer, later, *routine, back, fault)))
    return failure();
  const Operand &place = later.operands[0];
  Content content = image.values.computed(layer->getResult(0));
  for (auto [begin, end] :
       bytesOfPositions(type, back.dim, back.at, type.getDimSize(back.dim)))
    of(place).write(place.offset + begin, place.offset + end,
                    {content.id, content.offset + begin});
  return success();
}

/// Whether the first of `parts` are those that compute the back, which it takes
/// away. `later`: the operation that computes the layer in later inferences.
LogicalResult SplitImage::checkTiles(mlir::Operation *layer,
                                     const artifact::Operation &later,
                                     const Routine &routine, Cut back,
                                     ArrayRef<artifact::Operation> &parts,
                                     ProgramImage::Fault fault) const {
  const KernelTable &kernels = image.claim.kernels;
  if (parts.empty())
    return fault() << "found none";
  uint32_t number = parts[0].kernel;
  if (number != later.kernel &&
      (number >= kernels.kernels().size() ||
       kernels[number].id != kernels.partId(layer, routine, back.dim)))
    return fault() << "found kernel " << number
                   << ", expected the one for parts of '" << routine.name()
                   << "'";
  const codegen::KernelInfo &info = kernels[number].info;
  if (info.maps.empty())
    return fault() << "expected a kernel with a map";
  RankedTensorType type = nn::typeOf(layer->getResult(0));
  auto wanted = tilesBehind(info.maps.front(), type, back);
  if (!wanted || back.at % nn::Layout::of(type).block(back.dim))
    return fault() << "found a tile, or a block of channels, on both sides of "
                   << "position " << back.at;
  for (auto [i, range] : llvm::enumerate(*wanted)) {
    uint64_t begin = range.begin, tiles = range.end - range.begin;
    if (i == parts.size() || parts[i].kernel != number ||
        parts[i].tileBegin != begin || parts[i].tiles != tiles)
      return fault() << "expected tiles " << begin << " to " << begin + tiles
                     << " of kernel " << number
                     << " among those that compute position " << back.at
                     << " and all behind it";
    if (!std::equal(parts[i].operands.begin(), parts[i].operands.end(),
                    later.operands.begin(), later.operands.end(),
                    ProgramImage::isSame))
      return fault() << "expected the operands of later inferences";
  }
  parts = parts.drop_front(wanted->size());
  for (unsigned k = 1; k < later.operands.size(); ++k)
    if (ProgramImage::overlap(later.operands[0], later.operands[k]) &&
        !llvm::is_contained(info.inPlaceOperands, k - 1))
      return fault() << "expected no bytes of operand " << k
                     << " where the result is";
  return success();
}

/// Whether parts find all that they read.
LogicalResult SplitImage::checkReads(mlir::Operation *layer,
                                     const artifact::Operation &later,
                                     const Routine &routine, Cut back,
                                     ProgramImage::Fault fault) {
  llvm::BitVector done(image.program.preparations.size());
  image.waitFor(claim.stretch.after, done);
  for (OpOperand &operand : layer->getOpOperands()) {
    unsigned number = 1 + operand.getOperandNumber();
    const Operand &place = later.operands[number];
    auto contents = image.contentsFor(operand, routine);
    auto faultOf = [&] { return fault() << "operand " << number << ": "; };
    if (!contents || contents->size != place.size)
      return faultOf() << "found " << place.size << " bytes, expected others";
    if (place.space == Space::Weights || place.space == Space::Prepared) {
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
  return success();
}

LogicalResult SplitImage::expectLive() {
  const artifact::Stretch &stretch = claim.stretch;
  const artifact::Program &program = image.program;
  written.clear();
  auto visit = [&](const artifact::Operation &operation,
                   bool isWhole) -> LogicalResult {
    uint32_t outputs = image.claim.kernels[operation.kernel].outputs;
    for (const Operand &operand :
         ArrayRef(operation.operands)
             .drop_front(std::min<size_t>(outputs, operation.operands.size())))
      if (failed(expectLive(operand)))
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
    if (failed(expectLive(output)))
      return failure();
  }
  return success();
}

/// Looks at an operand that is read behind the stretch, as far as nobody has
/// written it since.
LogicalResult SplitImage::expectLive(const Operand &operand) {
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
