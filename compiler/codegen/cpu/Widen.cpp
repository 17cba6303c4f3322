//===- Widen.cpp - Packed weights of those in fewer bits ------------------===//
//
// A tile is a part of a unit, and one vector of scales serves all elements of a
// unit. The cost of an element is its memory: it is written once, in order, and
// its narrow form is a quarter or half of that. Nothing here is contracted or
// rounded twice: an int8 and a half are f32 exactly, and there is one
// multiplication.
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
        chunk(chunks > 1 ? tileElements : grid.length) {
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
    return {grid.units * chunks,
            0,
            {TileMap::grid({{grid.units, grid.length}, {grid.length, 1}},
                           {{0, grid.units, 1}, {1, chunks, chunk}})}};
  }

private:
  void tile(Value to, Value from, Index tile) {
    Index unit = k.div(tile, chunks);
    Index first = k.mul(k.rem(tile, chunks), chunk);
    Index last = chunks > 1 ? k.min(k.add(first, chunk), grid.length)
                            : Index(grid.length);
    Index start = k.mul(unit, grid.length);
    Value scale = grid.sets ? scaleOf(from, k.rem(unit, grid.sets)) : Value();
    auto element = [&](Index i, int64_t count) {
      Index at = k.add(start, i);
      Index source = k.add(at, grid.elementsAt());
      Value x = count == 1 ? k.load(from, source) : k.load(from, source, count);
      k.store(widened(x, scale, count), to, at);
    };
    Index whole =
        grid.length % lanes
            ? k.add(first, k.mul(k.div(k.sub(last, first), lanes), lanes))
            : last;
    k.loop(first, whole, lanes, [&](Value i) { element(i, lanes); });
    if (grid.length % lanes)
      k.loop(whole, last, 1, [&](Value i) { element(i, 1); });
  }

  /// The scales of a set, as a vector of all lanes. They lie among bytes.
  Value scaleOf(Value from, Index set) {
    constexpr int64_t bytes = sizeof(float);
    Value raw =
        k.load(from, k.mul(set, grid.lanes * bytes), grid.lanes * bytes);
    Value scales = vector::BitCastOp::create(k.b, k.vec(grid.lanes), raw);
    return grid.lanes == lanes ? scales
                               : k.broadcast(k.extract(scales, 0), lanes);
  }

  Value widened(Value x, Value scale, int64_t count) {
    Type f32 = k.b.getF32Type(), i32 = k.b.getI32Type();
    auto type = [&](Type element) {
      return count == 1 ? element : Type(k.vec(count, element));
    };
    if (narrowing == Narrowing::f16)
      return arith::ExtFOp::create(k.b, type(f32), x);
    Value whole = arith::ExtSIOp::create(k.b, type(i32), x);
    Value number = arith::SIToFPOp::create(k.b, type(f32), whole);
    return arith::MulFOp::create(k.b, number,
                                 count == 1 ? k.extract(scale, 0) : scale);
  }

  KernelBuilder &k;
  Narrowing narrowing;
  NarrowGrid grid;
  int64_t chunks, chunk; ///< of a unit, and the elements of one
};

} // namespace

KernelInfo codegen::emitWiden(KernelBuilder &k, RankedTensorType packed,
                              Narrowing narrowing, StringRef symbol) {
  return WidenEmitter(k, packed, narrowing).emit(symbol);
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
