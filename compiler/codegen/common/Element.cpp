//===- Element.cpp - One element of a tensor, computed in place -----------===//

#include "compiler/codegen/common/Element.h"
#include "compiler/codegen/common/Math.h"

#include "dialects/nn/ConstantData.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/SaveAndRestore.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

TensorView TensorView::of(RankedTensorType type) {
  TensorView view;
  view.shape.assign(type.getShape().begin(), type.getShape().end());
  nn::Layout layout = nn::Layout::of(type);
  view.axes.assign(layout.axes().begin(), layout.axes().end());
  return view;
}

int64_t TensorView::elements() const { return llvm::product_of(shape); }

bool TensorView::isPadded() const {
  int64_t stored = 1;
  for (const nn::Layout::Axis &axis : axes)
    stored *= axis.extent;
  return stored != elements();
}

bool TensorView::isLike(const TensorView &other) const {
  return shape == other.shape && axes.size() == other.axes.size() &&
         llvm::all_of(llvm::zip(axes, other.axes), [](auto pair) {
           auto &[a, b] = pair;
           return a.dim == b.dim && a.extent == b.extent &&
                  a.stride == b.stride && a.step == b.step;
         });
}

int64_t TensorView::block(unsigned dim) const {
  for (const nn::Layout::Axis &axis : axes)
    if (axis.dim == dim)
      return axis.step; // the outer axis comes first
  return 1;
}

const TensorView &ElementEmitter::view(Value tensor) {
  std::unique_ptr<TensorView> &entry = views[tensor];
  if (!entry)
    entry = std::make_unique<TensorView>(TensorView::of(nn::typeOf(tensor)));
  return *entry;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

const ElementFunction *codegen::elementFunction(Operation *op) {
  for (auto table :
       {pointwiseFunctions(), movementFunctions(), quantizedFunctions(),
        reductionFunctions(), resamplingFunctions()})
    for (const ElementFunction &f : table)
      if (f.layer == op->getName().getStringRef())
        return &f;
  return nullptr;
}

Value ElementEmitter::element(Value tensor, ArrayRef<Coord> index) {
  for (const Memo &memo : llvm::reverse(memos))
    if (memo.tensor == tensor && memo.mask == mask && memo.lanes == at.lanes &&
        memo.active == at.active && ArrayRef<Coord>(memo.index) == index)
      return memo.result;
  Value result = computeElement(tensor, index);
  memos.push_back({tensor, mask, Coords(index), at.lanes, at.active, result});
  return result;
}

Value ElementEmitter::computeElement(Value tensor, ArrayRef<Coord> index) {
  if (Value known = values.lookup(tensor))
    return known;
  auto leaf = leaves.find(tensor);
  if (leaf != leaves.end()) {
    bool atRoot = ArrayRef<Coord>(root) == index;
    if (!atRoot)
      readElsewhere[tensor] = 1;
    const TensorView &own = view(tensor);
    assert(index.size() == own.shape.size() &&
           "a coordinate for each dimension");
    bool alike = atRoot && rootMemory && own.isLike(*rootMemory);
    Value stored = load(leaf->second, alike ? rootOffset : offset(own, index));
    return toCompute(k, stored, elementType(tensor));
  }
  addCost(1);
  Operation *op = tensor.getDefiningOp();
  assert(op && elementFunction(op) && "hasElementKernel() has looked");
  return elementFunction(op)->emit(*this, op, index);
}

Value ElementEmitter::allLanes(Value x) {
  if (at.lanes == 1 || isa<VectorType>(x.getType()))
    return x;
  return k.broadcast(x, at.lanes);
}

void ElementEmitter::unify(Value &x, Value &y) {
  if (isa<VectorType>(x.getType()) || isa<VectorType>(y.getType())) {
    x = allLanes(x);
    y = allLanes(y);
  }
}

Value ElementEmitter::binary(nn::BinaryKind kind, Value x, Value y,
                             bool isUnsigned) {
  unify(x, y);
  return emitBinary(k, kind, x, y, isUnsigned);
}

Value ElementEmitter::select(Value condition, Value x, Value y) {
  unify(x, y);
  if (isa<VectorType>(condition.getType())) {
    x = allLanes(x);
    y = allLanes(y);
  }
  return k.select(condition, x, y);
}

Value ElementEmitter::select(const Condition &condition, Value x, Value y) {
  if (condition.always())
    return x;
  if (condition.never)
    return y;
  unify(x, y);
  if (condition.varying) {
    x = allLanes(x);
    y = allLanes(y);
  }
  return k.select(at.toMask(condition), x, y);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

Value ElementEmitter::guarded(const Condition &inside, Value otherwise,
                              llvm::function_ref<Value()> then) {
  if (inside.always())
    return then();
  if (inside.never)
    return otherwise;
  auto masked = [&] {
    if (!inside.varying)
      return then();
    Value outer = mask;
    mask = outer ? k.bitAnd(outer, inside.varying) : inside.varying;
    Value result = then();
    mask = outer;
    return k.select(inside.varying, allLanes(result), allLanes(otherwise));
  };
  if (!inside.uniform)
    return masked();
  // Whether then() gives a scalar is not known before it is emitted.
  otherwise = allLanes(otherwise);
  return choose(
      inside.uniform, otherwise.getType(), [&] { return allLanes(masked()); },
      [&] { return otherwise; });
}

Value ElementEmitter::choose(Value condition, Type type,
                             llvm::function_ref<Value()> then,
                             llvm::function_ref<Value()> otherwise) {
  auto scoped = [&](llvm::function_ref<Value()> body) {
    Scope scope(*this, 0.5);
    return Values{body()};
  };
  return k.ifElse(
      condition, type, [&] { return scoped(then); },
      [&] { return scoped(otherwise); })[0];
}

Values
ElementEmitter::loop(Index lo, Index hi, Index step, const Values &init,
                     llvm::function_ref<Values(Value, ValueRange)> body) {
  double times = 8;
  if (lo.isConstant() && hi.isConstant() && step.isConstant())
    times =
        std::max<double>(1, double(hi.constant - lo.constant) / step.constant);
  Scope scope(*this, times);
  return k.loop(lo, hi, step, init, body);
}

Values ElementEmitter::accumulate(
    ArrayRef<int64_t> extents, const Values &init,
    llvm::function_ref<Values(ArrayRef<Coord>, ValueRange)> body) {
  Coords index;
  std::function<Values(size_t, Values)> nest = [&](size_t depth,
                                                   Values carried) {
    if (depth == extents.size())
      return body(index, carried);
    int64_t extent = extents[depth];
    auto at = [&](Coord i, Values values) {
      index.push_back(i);
      Values result = nest(depth + 1, values);
      index.pop_back();
      return result;
    };
    if (extent == 0)
      return carried;
    if (extent == 1)
      return at(Coord(0), carried);
    return loop(0, extent, 1, carried, [&](Value i, ValueRange values) {
      return at(Coord(i, 0, extent - 1), Values(values));
    });
  };
  return nest(0, init);
}

void ElementEmitter::withLanes(int64_t lanes, int64_t active,
                               llvm::function_ref<void()> body) {
  assert(at.lanes == 1 && active >= 1 && active <= lanes &&
         "lanes are split once, and some count");
  Scope scope(*this);
  llvm::SaveAndRestore atLanes(at.lanes, lanes), atActive(at.active, active);
  llvm::SaveAndRestore masked(mask, active < lanes ? k.firstLanes(lanes, active)
                                                   : Value());
  body();
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Coord ElementEmitter::linearize(ArrayRef<Coord> index,
                                ArrayRef<int64_t> shape) {
  assert(index.size() == shape.size() && "a coordinate for each dimension");
  Coord result(0);
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1)
      result = at.add(result, at.mul(index[i], stride));
    stride *= shape[i];
  }
  return result;
}

Coords ElementEmitter::delinearize(Coord linear, ArrayRef<int64_t> shape) {
  Coords result(shape.size(), Coord(0));
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1)
      result[i] = at.rem(at.div(linear, stride), shape[i]);
    stride *= shape[i];
  }
  return result;
}

Coords ElementEmitter::broadcastIndex(ArrayRef<Coord> index,
                                      ArrayRef<int64_t> shape) {
  Coords result;
  assert(shape.size() <= index.size() && "broadcasting adds dimensions");
  size_t skip = index.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    result.push_back(shape[i] == 1 ? Coord(0) : index[skip + i]);
  return result;
}

Coord ElementEmitter::indexFrom(Value tensor, ArrayRef<Coord> index,
                                int64_t size) {
  Value x = element(tensor, index);
  Type element = getElementTypeOrSelf(x);
  // i32 is wide enough for any index but those beyond 2^31.
  if (!element.isInteger(64) &&
      (!element.isInteger(32) || isUnsigned(tensor))) {
    Type wide = withElement(x.getType(), k.b.getI64Type());
    x = isUnsigned(tensor) ? Value(arith::ExtUIOp::create(k.b, wide, x))
                           : Value(arith::ExtSIOp::create(k.b, wide, x));
  }
  return at.fromValue(clampIndex(k, x, size), 0,
                      std::max<int64_t>(size - 1, 0));
}

Coord ElementEmitter::offset(const TensorView &view, ArrayRef<Coord> index) {
  Coord result(0);
  for (const nn::Layout::Axis &axis : view.axes) {
    int64_t block = view.block(axis.dim);
    const Coord &i = index[axis.dim];
    if (view.shape[axis.dim] == 1 && block == 1)
      continue;
    Coord step = block == 1           ? i
                 : axis.step == block ? at.div(i, block)
                 : axis.step == 1     ? at.rem(i, axis.extent)
                                      : at.div(at.rem(i, block), axis.step);
    result = at.add(result, at.mul(step, axis.stride));
  }
  return result;
}

Value ElementEmitter::load(Value memory, const Coord &offset) {
  addCost(1);
  if (offset.isUniform())
    return k.load(memory, offset.base);
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  VectorType type = k.vec(at.lanes, element);
  if (!offset.vector && offset.stride == 1) {
    if (!mask)
      return k.load(memory, offset.base, at.lanes);
    return vector::MaskedLoadOp::create(k.b, type, memory,
                                        ValueRange{k.val(offset.base)}, mask,
                                        k.number(0, type));
  }
  addCost(double(at.lanes));
  Value all = mask ? mask : k.iconst(1, k.vec(at.lanes, k.b.getI1Type()));
  Value base = k.constant(0), lanes;
  if (offset.vector) {
    lanes = offset.vector;
  } else {
    base = k.val(offset.base);
    lanes = at.iota(offset.stride);
  }
  return vector::GatherOp::create(k.b, type, memory, ValueRange{base}, lanes,
                                  all, k.number(0, type));
}

Value ElementEmitter::table(ArrayRef<double> values, Type element) {
  assert(!values.empty() && "there is something to look up");
  MemRefType type = MemRefType::get({int64_t(values.size())}, element);
  SmallVector<Attribute> attributes;
  for (double v : values)
    attributes.push_back(
        isa<FloatType>(element)
            ? Attribute(k.b.getFloatAttr(element, v))
            : Attribute(k.b.getIntegerAttr(element, int64_t(v))));
  auto data = DenseElementsAttr::get(
      RankedTensorType::get(type.getShape(), element), attributes);
  // One global for equal tables.
  memref::GlobalOp global;
  int count = 0;
  for (auto other : k.module.getOps<memref::GlobalOp>()) {
    ++count;
    if (other.getInitialValueAttr() == data)
      global = other;
  }
  if (!global) {
    OpBuilder::InsertionGuard guard(k.b);
    k.b.setInsertionPointToStart(k.module.getBody());
    global = memref::GlobalOp::create(
        k.b, "table" + std::to_string(count), k.b.getStringAttr("private"),
        type, data, /*constant=*/true, k.b.getI64IntegerAttr(64));
  }
  return memref::GetGlobalOp::create(k.b, type, global.getSymName());
}

int ElementEmitter::contiguousDim(Value tensor) {
  int rank = view(tensor).shape.size();
  if (leaves.count(tensor)) {
    const TensorView &v = view(tensor);
    for (const nn::Layout::Axis &axis : llvm::reverse(v.axes))
      if (axis.extent > 1)
        return axis.dim;
    return -1;
  }
  Operation *op = tensor.getDefiningOp();
  if (auto transpose = dyn_cast<nn::TransposeOp>(op)) {
    int inner = contiguousDim(transpose.getInput());
    for (int d = 0; d < rank; ++d)
      if (transpose.getPerm()[d] == inner)
        return d;
    return -1;
  }
  if (isa<nn::Elementwise>(op))
    for (Value operand : op->getOperands())
      if (view(operand).shape == view(tensor).shape)
        return contiguousDim(operand);
  // The last one that is longer than one.
  while (--rank >= 0 && view(tensor).shape[rank] <= 1)
    continue;
  return rank;
}
