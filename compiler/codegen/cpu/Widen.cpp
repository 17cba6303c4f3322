//===- Widen.cpp - Packed weights of those in fewer bits ------------------===//
//
// A tile is a part of a unit, or several units, and one vector of scales serves
// all elements of a unit. The cost of an element is its memory: it is written
// once, in order, and its narrow form is a quarter or half of that. Nothing
// here is contracted or rounded twice but as the scale was found: an int8 and a
// half are floats exactly, and there is one multiplication, of halves in f64.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cpu/Widen.h"

#include "compiler/routines/KernelKey.h"
#include "compiler/weights/Narrow.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using plan::Narrowing;

namespace {

/// Elements that are made at a time, on every target: those of a panel. LLVM
/// cuts them into registers.
constexpr int64_t lanes = NarrowGrid::panelLanes;
/// Elements of a tile: 64 KiB of result.
constexpr int64_t tileElements = 16384;

class WidenEmitter {
public:
  WidenEmitter(KernelBuilder &k, RankedTensorType packed, Narrowing narrowing)
      : k(k), narrowing(narrowing), grid(*narrowGrid(packed, narrowing)),
        chunks(llvm::divideCeil(grid.length, tileElements)),
        chunk(chunks > 1 ? tileElements : grid.length),
        group(std::clamp<int64_t>(tileElements / grid.length, 1, grid.units)),
        elementSize(narrowElementSize(narrowing)) {
    assert((grid.sets == 0 || grid.lanes == 1 || grid.lanes == lanes) &&
           (grid.lanes != lanes || grid.length % lanes == 0) &&
           "a unit has one scale, or whole panels");
  }

  KernelInfo emit(StringRef symbol) {
    Type narrow = narrowElementType(k.b.getContext(), narrowing);
    k.kernel(symbol, {k.b.getF32Type(), narrow},
             [&](ValueRange operands, Value, Value begin, Value end) {
               k.loop(begin, end, 1, [&](Value tile) {
                 this->tile(operands[0], operands[1], tile);
               });
             });
    int64_t groups = llvm::divideCeil(grid.units, group);
    return {groups * chunks,
            0,
            {TileMap::grid({{grid.units, grid.length}, {grid.length, 1}},
                           {{0, groups, group}, {1, chunks, chunk}})}};
  }

  /// Elements [first, first + count): whole vectors, and whole units where
  /// these have scales.
  void part(Value to, Index start, Value from, Index first, int64_t count) {
    assert(count % (grid.sets ? grid.length : lanes) == 0 && "a part is whole");
    if (!grid.sets)
      return elements(to, k.sub(start, first), from, 0, first,
                      k.add(first, count));
    Index unit = k.div(first, grid.length);
    k.repeat(count / grid.length, [&](Index i) {
      elements(to, k.add(start, k.mul(i, grid.length)), from, k.add(unit, i), 0,
               grid.length);
    });
  }

private:
  void tile(Value to, Value from, Index tile) {
    Index begin = k.mul(k.div(tile, chunks), group);
    Index first = k.mul(k.rem(tile, chunks), chunk);
    if (group == 1)
      return this->unit(to, from, begin, first);
    Index end = k.min(k.add(begin, group), grid.units);
    k.loop(begin, end, 1,
           [&](Value unit) { this->unit(to, from, unit, first); });
  }

  void unit(Value to, Value from, Index unit, Index first) {
    Index last = chunks > 1 ? k.min(k.add(first, chunk), grid.length)
                            : Index(grid.length);
    elements(to, k.mul(unit, grid.length), from, unit, first, last);
  }

  /// Elements [first, last) of a unit, whose element 0 becomes that at `start`.
  void elements(Value to, Index start, Value from, Index unit, Index first,
                Index last) {
    Index begin =
        k.add(k.mul(unit, grid.length), grid.elementsAt() / elementSize);
    Value scale = grid.sets ? scaleOf(from, setOf(unit)) : Value();
    auto element = [&](Index i, int64_t count) {
      Index source = k.add(begin, i);
      Value x = count == 1 ? k.load(from, source) : k.load(from, source, count);
      k.store(widened(x, scale, count), to, k.add(start, i));
    };
    Index whole =
        grid.length % lanes
            ? k.add(first, k.mul(k.div(k.sub(last, first), lanes), lanes))
            : last;
    k.loop(first, whole, lanes, [&](Value i) { element(i, lanes); });
    if (grid.length % lanes)
      k.loop(whole, last, 1, [&](Value i) { element(i, 1); });
  }

  /// NarrowGrid::setOf() of a unit.
  Index setOf(Index unit) {
    Index set = k.rem(k.div(unit, grid.blockUnits), grid.sets / grid.block);
    return k.add(k.mul(set, grid.block), k.rem(unit, grid.block));
  }

  /// The scales of a set, as a vector of all lanes. They lie among elements.
  Value scaleOf(Value from, Index set) {
    int64_t size = grid.lanes * grid.scaleSize / elementSize;
    Type scale =
        grid.scaleSize == sizeof(double) ? k.b.getF64Type() : k.b.getF32Type();
    Value raw = k.load(from, k.mul(set, size), size);
    Value scales =
        vector::BitCastOp::create(k.b, k.vec(grid.lanes, scale), raw);
    return grid.lanes == lanes ? scales
                               : k.broadcast(k.extract(scales, 0), lanes);
  }

  Value widened(Value x, Value scale, int64_t count) {
    Type f32 = k.b.getF32Type(), f64 = k.b.getF64Type(), i32 = k.b.getI32Type();
    auto type = [&](Type element) {
      return count == 1 ? element : Type(k.vec(count, element));
    };
    if (scale && count == 1)
      scale = k.extract(scale, 0);
    if (areHalves(narrowing)) {
      Value number = arith::ExtFOp::create(k.b, type(f32), x);
      if (!scale)
        return number;
      Value wide = arith::ExtFOp::create(k.b, type(f64), number);
      Value product = arith::MulFOp::create(k.b, wide, scale);
      return arith::TruncFOp::create(k.b, type(f32), product);
    }
    Value whole = arith::ExtSIOp::create(k.b, type(i32), x);
    Value number = arith::SIToFPOp::create(k.b, type(f32), whole);
    return arith::MulFOp::create(k.b, number, scale);
  }

  KernelBuilder &k;
  Narrowing narrowing;
  NarrowGrid grid;
  int64_t chunks, chunk; ///< of a unit, and the elements of one
  int64_t group;         ///< units of a tile, where a unit is one chunk
  int64_t elementSize;
};

} // namespace

KernelInfo codegen::emitWiden(KernelBuilder &k, RankedTensorType packed,
                              Narrowing narrowing, StringRef symbol) {
  return WidenEmitter(k, packed, narrowing).emit(symbol);
}

void codegen::emitWidened(KernelBuilder &k, RankedTensorType packed,
                          Narrowing narrowing, Value from, Index first,
                          int64_t count, Value to, Index start) {
  WidenEmitter(k, packed, narrowing).part(to, start, from, first, count);
}

StringRef codegen::narrowSummary(Narrowing narrowing) {
  switch (narrowing) {
  case Narrowing::f16Outputs:
    return "weights are halves times a scale of the output channel";
  case Narrowing::f16Inputs:
    return "weights are halves times a scale of the input channel";
  case Narrowing::q8:
    return "weights are int8 times a scale of the output channel";
  default:
    return "weights are halves";
  }
}

std::optional<WeightForm> codegen::narrowForm(Operation *layer,
                                              std::optional<Narrowing> narrow) {
  if (!narrow)
    return std::nullopt;
  auto packed = cast<RankedTensorType>(layer->getOperand(1).getType());
  return WeightForm::narrowed(1, *narrow, narrowBytes(packed, *narrow));
}

KernelFacts codegen::widenFacts(RankedTensorType packed, Narrowing narrowing,
                                StringRef target) {
  auto elements = double(narrowGrid(packed, narrowing)->elements());
  StringRef bits = plan::text(narrowing);
  return {{elements,
           elements * sizeof(float) + double(narrowBytes(packed, narrowing))},
          transformName(bits),
          widenKey(packed, bits, target)};
}
