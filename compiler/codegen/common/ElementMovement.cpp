//===- ElementMovement.cpp - Layers that move elements --------------------===//

#include "compiler/codegen/common/ElementTypes.h"
#include "compiler/codegen/common/Math.h"

#include "mlir/IR/TypeUtilities.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

static Value zeroOf(ElementEmitter &e, Value tensor) {
  return e.k.number(0, ElementTypes::typeOf(tensor));
}

static Value emitReshape(ElementEmitter &e, Operation *op,
                         ArrayRef<Coord> index) {
  Value input = op->getOperand(0);
  ArrayRef<int64_t> to = e.view(op->getResult(0)).shape,
                    from = e.view(input).shape;
  // Matches groups of dimensions of the same product, so that an index is taken
  // apart no further than the shapes differ.
  Coords result(from.size(), Coord(0));
  size_t i = 0, j = 0;
  while (i < to.size() || j < from.size()) {
    size_t iEnd = i, jEnd = j;
    int64_t p = 1, q = 1;
    if (iEnd < to.size())
      p *= to[iEnd++];
    if (jEnd < from.size())
      q *= from[jEnd++];
    while (p != q && (iEnd < to.size() || jEnd < from.size())) {
      if ((p < q && iEnd < to.size()) || jEnd == from.size())
        p *= to[iEnd++];
      else
        q *= from[jEnd++];
    }
    assert(p == q && "both have as many elements");
    Coord linear = e.linearize(index.slice(i, iEnd - i), to.slice(i, iEnd - i));
    Coords part = e.delinearize(linear, from.slice(j, jEnd - j));
    std::copy(part.begin(), part.end(), result.begin() + j);
    i = iEnd;
    j = jEnd;
  }
  return e.element(input, result);
}

static Value emitTranspose(ElementEmitter &e, Operation *op,
                           ArrayRef<Coord> index) {
  auto transpose = cast<nn::TransposeOp>(op);
  Coords result(index.size(), Coord(0));
  for (size_t i = 0; i < index.size(); ++i)
    result[transpose.getPerm()[i]] = index[i];
  return e.element(transpose.getInput(), result);
}

static Value emitSlice(ElementEmitter &e, Operation *op,
                       ArrayRef<Coord> index) {
  auto slice = cast<nn::SliceOp>(op);
  Coords result;
  for (size_t i = 0; i < index.size(); ++i)
    result.push_back(e.at.add(e.at.mul(index[i], slice.getSteps()[i]),
                              Coord(slice.getStarts()[i])));
  return e.element(slice.getInput(), result);
}

static Value emitConcat(ElementEmitter &e, Operation *op,
                        ArrayRef<Coord> index) {
  auto concat = cast<nn::ConcatOp>(op);
  int64_t axis = concat.getAxis(), start = 0;
  struct Part {
    Value input;
    int64_t start, size;
  };
  SmallVector<Part> parts;
  for (Value input : concat.getInputs()) {
    int64_t size = e.view(input).shape[axis];
    // Parts that the index cannot reach are left out.
    if (size > 0 && index[axis].hi >= start && index[axis].lo < start + size)
      parts.push_back({input, start, size});
    start += size;
  }
  if (parts.empty())
    return zeroOf(e, op->getResult(0));
  auto at = [&](const Part &part) {
    Coords result(index);
    result[axis] = e.at.bounded(e.at.add(index[axis], Coord(-part.start)), 0,
                                part.size - 1);
    return e.element(part.input, result);
  };
  if (!index[axis].isUniform()) {
    // Lanes may lie in different inputs: each is asked for its own.
    Value result = zeroOf(e, op->getResult(0));
    for (const Part &part : parts) {
      int64_t end = part.start + part.size;
      Condition inside = e.at.within(index[axis], part.start, end);
      if (inside.varying && !index[axis].vector && index[axis].stride > 0) {
        // Most vectors lie in one input; the others are passed by.
        Index first = index[axis].base;
        Index last = e.k.add(first, (e.at.active - 1) * index[axis].stride);
        inside.uniform =
            e.k.bitAnd(e.k.less(part.start - 1, last), e.k.less(first, end));
      }
      result = e.guarded(inside, result, [&] { return at(part); });
    }
    return result;
  }
  // A binary search over the parts.
  std::function<Value(size_t, size_t)> search = [&](size_t lo,
                                                    size_t hi) -> Value {
    if (hi - lo == 1)
      return e.allLanes(at(parts[lo]));
    size_t middle = (lo + hi) / 2;
    Value condition = e.k.less(index[axis].base, parts[middle].start);
    Type type = ElementTypes::typeOf(concat);
    if (e.at.lanes > 1)
      type = e.k.vec(e.at.lanes, type);
    return e.choose(
        condition, type, [&] { return search(lo, middle); },
        [&] { return search(middle, hi); });
  };
  return search(0, parts.size());
}

/// Where element `i` of a padded dimension of `size` elements comes from.
static Coord paddedSource(ElementEmitter &e, Coord i, int64_t size,
                          nn::PadMode mode) {
  if (i.lo >= 0 && i.hi < size)
    return i;
  assert(size > 0 && "there is an element to repeat");
  auto modulo = [&](int64_t period) {
    int64_t shift = (-i.lo + period - 1) / period * period;
    return e.at.rem(e.at.add(i, Coord(std::max<int64_t>(shift, 0))), period);
  };
  switch (mode) {
  case nn::PadMode::constant:
    return i;
  case nn::PadMode::edge:
    return e.at.clamp(i, 0, size - 1);
  case nn::PadMode::wrap:
    return modulo(size);
  case nn::PadMode::reflect: {
    if (size == 1)
      return Coord(0);
    int64_t period = 2 * (size - 1);
    Coord m = modulo(period);
    Coord back = e.at.add(e.at.mul(m, -1), Coord(period));
    Coord result = e.at.select(e.at.less(m, size), m, back);
    result.lo = 0;
    result.hi = size - 1;
    return result;
  }
  }
  return i;
}

static Value emitPad(ElementEmitter &e, Operation *op, ArrayRef<Coord> index) {
  auto pad = cast<nn::PadOp>(op);
  ArrayRef<int64_t> shape = e.view(pad.getInput()).shape;
  Value outside = zeroOf(e, op->getResult(0));
  if (pad.getValue())
    outside = e.element(pad.getValue(),
                        Coords(e.view(pad.getValue()).shape.size(), Coord(0)));
  if (llvm::is_contained(shape, 0))
    return outside;
  Coords result;
  Condition inside;
  for (size_t d = 0; d < index.size(); ++d) {
    Coord i = e.at.add(index[d], Coord(-pad.getLow()[d]));
    i = paddedSource(e, i, shape[d], pad.getMode());
    if (pad.getMode() == nn::PadMode::constant) {
      inside = e.at.both(inside, e.at.within(i, 0, shape[d]));
      i = e.at.bounded(i, 0, shape[d] - 1);
    }
    result.push_back(i);
  }
  return e.guarded(inside, outside,
                   [&] { return e.element(pad.getInput(), result); });
}

static Value emitGather(ElementEmitter &e, Operation *op,
                        ArrayRef<Coord> index) {
  auto gather = cast<nn::GatherOp>(op);
  int64_t axis = gather.getAxis();
  ArrayRef<int64_t> shape = e.view(gather.getInput()).shape;
  size_t indexRank = e.view(gather.getIndices()).shape.size();
  if (llvm::is_contained(shape, 0))
    return zeroOf(e, op->getResult(0));
  Coords result(index.take_front(axis));
  result.push_back(e.indexFrom(gather.getIndices(),
                               index.slice(axis, indexRank), shape[axis]));
  result.append(index.begin() + axis + indexRank, index.end());
  return e.element(gather.getInput(), result);
}

static Value emitGatherElements(ElementEmitter &e, Operation *op,
                                ArrayRef<Coord> index) {
  auto gather = cast<nn::GatherElementsOp>(op);
  int64_t axis = gather.getAxis();
  ArrayRef<int64_t> shape = e.view(gather.getInput()).shape;
  if (llvm::is_contained(shape, 0))
    return zeroOf(e, op->getResult(0));
  Coords result;
  for (size_t d = 0; d < index.size(); ++d)
    result.push_back(e.at.clamp(index[d], 0, shape[d] - 1));
  result[axis] = e.indexFrom(gather.getIndices(), index, shape[axis]);
  return e.element(gather.getInput(), result);
}

static Value emitGatherND(ElementEmitter &e, Operation *op,
                          ArrayRef<Coord> index) {
  auto gather = cast<nn::GatherNDOp>(op);
  ArrayRef<int64_t> shape = e.view(gather.getInput()).shape;
  ArrayRef<int64_t> indices = e.view(gather.getIndices()).shape;
  if (llvm::is_contained(shape, 0))
    return zeroOf(e, op->getResult(0));
  size_t batch = gather.getBatchDims(), tuple = indices.size() - 1;
  Coords result(index.take_front(batch)), where(index.take_front(tuple));
  where.push_back(Coord(0));
  for (int64_t i = 0; i < indices.back(); ++i) {
    where.back() = Coord(i);
    result.push_back(e.indexFrom(gather.getIndices(), where, shape[batch + i]));
  }
  result.append(index.begin() + tuple, index.end());
  return e.element(gather.getInput(), result);
}

static Value emitReverseSequence(ElementEmitter &e, Operation *op,
                                 ArrayRef<Coord> index) {
  auto reverse = cast<nn::ReverseSequenceOp>(op);
  int64_t time = reverse.getTimeAxis();
  int64_t size = e.view(reverse.getInput()).shape[time];
  Value length = e.element(reverse.getLengths(), index[reverse.getBatchAxis()]);
  auto integer = cast<IntegerType>(getElementTypeOrSelf(length));
  Value t = e.at.toValue(index[time], integer);
  e.unify(length, t);
  // Lengths beyond the axis are clamped.
  Type type = t.getType();
  length = arith::MinSIOp::create(e.k.b, length, e.k.iconst(size, type));
  Value inside = e.k.compare(Order::slt, t, length);
  Value back = arith::SubIOp::create(
      e.k.b, arith::SubIOp::create(e.k.b, length, e.k.iconst(1, type)), t);
  Coords result(index);
  result[time] = e.at.fromValue(e.k.select(inside, back, t), 0, size - 1);
  return e.element(reverse.getInput(), result);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

static bool isEmptyTensor(Value tensor) {
  return nn::typeOf(tensor).getNumElements() == 0;
}

static void concatTypes(ElementTypes &t, Operation *op) {
  unsigned parts = 0;
  for (Value input : op->getOperands())
    if (!isEmptyTensor(input)) {
      t.read(input);
      ++parts;
    }
  // One of several is chosen; of none there is a zero.
  if (parts != 1)
    t.computeIn(op->getResult(0));
}

static void padTypes(ElementTypes &t, Operation *op) {
  auto pad = cast<nn::PadOp>(op);
  auto isSome = [](int64_t count) { return count > 0; };
  bool isOutside = isEmptyTensor(pad.getInput()) ||
                   (pad.getMode() == nn::PadMode::constant &&
                    (llvm::any_of(pad.getLow(), isSome) ||
                     llvm::any_of(pad.getHigh(), isSome)));
  if (isOutside && pad.getValue())
    t.read(pad.getValue());
  if (isOutside)
    t.computeIn(op->getResult(0));
  if (!isEmptyTensor(pad.getInput()))
    t.read(pad.getInput());
}

/// Reads the first operand where the second one says, one of `sizes` places.
static void gatheredTypes(ElementTypes &t, Operation *op,
                          ArrayRef<int64_t> sizes) {
  if (isEmptyTensor(op->getOperand(0)))
    return t.computeIn(op->getResult(0));
  for (int64_t size : sizes)
    t.readIndices(op->getOperand(1), size);
  t.read(op->getOperand(0));
}

template <typename OpTy>
static void gatherTypes(ElementTypes &t, Operation *op) {
  auto gather = cast<OpTy>(op);
  gatheredTypes(t, op,
                nn::typeOf(gather.getInput()).getDimSize(gather.getAxis()));
}

static void gatherNDTypes(ElementTypes &t, Operation *op) {
  auto gather = cast<nn::GatherNDOp>(op);
  gatheredTypes(t, op,
                nn::typeOf(gather.getInput())
                    .getShape()
                    .slice(gather.getBatchDims(),
                           nn::typeOf(gather.getIndices()).getShape().back()));
}

static void reverseSequenceTypes(ElementTypes &t, Operation *op) {
  auto reverse = cast<nn::ReverseSequenceOp>(op);
  if (nn::typeOf(reverse.getInput()).getDimSize(reverse.getTimeAxis()) > 1) {
    t.read(reverse.getLengths());
    t.computeIn(reverse.getLengths());
  }
  t.read(reverse.getInput());
}

ArrayRef<ElementFunction> codegen::movementFunctions() {
  static const ElementFunction functions[] = {
      {"nn.reshape", emitReshape, ElementTypes::moved},
      {"nn.transpose", emitTranspose, ElementTypes::moved},
      {"nn.slice", emitSlice, ElementTypes::moved},
      {"nn.concat", emitConcat, concatTypes},
      {"nn.pad", emitPad, padTypes},
      {"nn.gather", emitGather, gatherTypes<nn::GatherOp>},
      {"nn.gather_elements", emitGatherElements,
       gatherTypes<nn::GatherElementsOp>},
      {"nn.gather_nd", emitGatherND, gatherNDTypes},
      {"nn.reverse_sequence", emitReverseSequence, reverseSequenceTypes},
  };
  return functions;
}
