//===- BuilderBase.cpp - Writes arithmetic in arith/scf/vector ------------===//

#include "compiler/codegen/common/BuilderBase.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12::codegen;

Type nnv12::codegen::withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return VectorType::get(vector.getShape(), element);
  return element;
}

BuilderBase::BuilderBase(MLIRContext &context, int lanes, bool fuses)
    : b(UnknownLoc::get(&context), &context), VL(lanes), fuses(fuses) {
  assert(VL > 0 && 16 % VL == 0 && "a block of 16 channels is whole vectors");
  context
      .loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                   func::FuncDialect, math::MathDialect, memref::MemRefDialect,
                   scf::SCFDialect, vector::VectorDialect>();
  module = ModuleOp::create(b.getLoc());
  b.setInsertionPointToEnd(module.getBody());
}

MemRefType BuilderBase::memory(Type element) {
  if (auto type = dyn_cast<IntegerType>(element))
    element = b.getIntegerType(std::max(8u, type.getWidth()));
  return MemRefType::get({int64_t(1) << 40}, element);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value BuilderBase::val(Index i) {
  if (i.isConstant())
    return constant(i.constant);
  if (i.constant == 0)
    return i.value;
  return arith::AddIOp::create(b, i.value, constant(i.constant));
}

Index BuilderBase::add(Index x, Index y) {
  Value sum = x.value && y.value
                  ? Value(arith::AddIOp::create(b, x.value, y.value))
                  : (x.value ? x.value : y.value);
  return Index(sum, x.constant + y.constant);
}

Index BuilderBase::sub(Index x, Index y) {
  if (y.isConstant())
    return Index(x.value, x.constant - y.constant);
  return Index(
      arith::SubIOp::create(b, x.value ? x.value : constant(0), y.value),
      x.constant - y.constant);
}

Index BuilderBase::mul(Index x, Index y) {
  if (x.isConstant())
    std::swap(x, y);
  if (!y.isConstant())
    return Index(Value(arith::MulIOp::create(b, val(x), val(y))));
  int64_t k = y.constant;
  if (x.isConstant() || k == 0)
    return Index(x.constant * k);
  if (k == 1)
    return x;
  return Index(arith::MulIOp::create(b, x.value, constant(k)), x.constant * k);
}

Index BuilderBase::div(Index x, int64_t k) {
  assert(k > 0 && (!x.isConstant() || x.constant >= 0) && "it is unsigned");
  if (k == 1)
    return x;
  if (x.isConstant())
    return Index(x.constant / k);
  return Index(Value(arith::DivUIOp::create(b, val(x), constant(k))));
}

Index BuilderBase::rem(Index x, int64_t k) {
  assert(k > 0 && (!x.isConstant() || x.constant >= 0) && "it is unsigned");
  if (k == 1)
    return Index(0);
  if (x.isConstant())
    return Index(x.constant % k);
  return Index(Value(arith::RemUIOp::create(b, val(x), constant(k))));
}

Index BuilderBase::min(Index x, Index y) {
  if (x.isConstant() && y.isConstant())
    return Index(std::min(x.constant, y.constant));
  return Index(Value(arith::MinSIOp::create(b, val(x), val(y))));
}

Index BuilderBase::max(Index x, Index y) {
  if (x.isConstant() && y.isConstant())
    return Index(std::max(x.constant, y.constant));
  return Index(Value(arith::MaxSIOp::create(b, val(x), val(y))));
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static Value splatConstant(ImplicitLocOpBuilder &b, Type type,
                           TypedAttr element) {
  if (auto vector = dyn_cast<VectorType>(type))
    element = DenseElementsAttr::get(vector, ArrayRef<Attribute>(element));
  return arith::ConstantOp::create(b, element);
}

Value BuilderBase::fconst(double c, Type type) {
  return splatConstant(b, type, b.getFloatAttr(getElementTypeOrSelf(type), c));
}

Value BuilderBase::iconst(int64_t c, Type type) {
  Type element = getElementTypeOrSelf(type);
  // Made through APInt: c may be a value that only fits when taken unsigned.
  if (auto integer = dyn_cast<IntegerType>(element))
    return splatConstant(b, type,
                         IntegerAttr::get(element, llvm::APInt(64, c).trunc(
                                                       integer.getWidth())));
  return splatConstant(b, type, b.getIntegerAttr(element, c));
}

Value BuilderBase::number(int64_t c, Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type)) ? fconst(double(c), type)
                                                    : iconst(c, type);
}

VectorType BuilderBase::vec(int64_t lanes, Type element) {
  return VectorType::get({lanes}, element ? element : b.getF32Type());
}

Type BuilderBase::elementOf(Value memory) {
  return cast<MemRefType>(memory.getType()).getElementType();
}

llvm::MaybeAlign BuilderBase::alignOf(Type element) {
  return llvm::Align(std::max(1u, element.getIntOrFloatBitWidth() / 8));
}

Value BuilderBase::load(Value memory, Index offset) {
  return memref::LoadOp::create(b, memory, ValueRange{val(offset)});
}

Value BuilderBase::load(Value memory, Index offset, int64_t lanes) {
  Type element = elementOf(memory);
  return vector::LoadOp::create(b, vec(lanes, element), memory,
                                ValueRange{val(offset)}, /*nontemporal=*/false,
                                alignOf(element));
}

void BuilderBase::store(Value x, Value memory, Index offset) {
  if (x.getType() == elementOf(memory)) {
    memref::StoreOp::create(b, x, memory, ValueRange{val(offset)});
    return;
  }
  vector::StoreOp::create(b, x, memory, ValueRange{val(offset)},
                          /*nontemporal=*/false, alignOf(elementOf(memory)));
}

Value BuilderBase::broadcast(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(b, vec(lanes, scalar.getType()), scalar);
}

Value BuilderBase::extract(Value vector, int64_t lane) {
  return vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{lane});
}

Value BuilderBase::insert(Value scalar, Value vector, int64_t lane) {
  return vector::InsertOp::create(b, scalar, vector, ArrayRef<int64_t>{lane});
}

Value BuilderBase::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, x, y, z);
}

Value BuilderBase::firstLanes(int64_t lanes, int64_t count) {
  return vector::ConstantMaskOp::create(b, vec(lanes, b.getI1Type()),
                                        ArrayRef<int64_t>{count});
}

Value BuilderBase::horizontal(Value x,
                              llvm::function_ref<Value(Value, Value)> combine) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  assert(llvm::isPowerOf2_64(lanes) && "it is halved until one is left");
  while (lanes > 1) {
    lanes /= 2;
    auto half = [&](int64_t start) -> Value {
      return vector::ExtractStridedSliceOp::create(
          b, x, ArrayRef<int64_t>{start}, ArrayRef<int64_t>{lanes},
          ArrayRef<int64_t>{1});
    };
    Value low = half(0), high = half(lanes);
    x = combine(low, high);
  }
  return extract(x, 0);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

Values BuilderBase::loop(Index lo, Index hi, Index step, const Values &init,
                         llvm::function_ref<Values(Value, ValueRange)> body) {
  assert((!step.isConstant() || step.constant > 0) && "the loop ends");
  auto op = scf::ForOp::create(b, val(lo), val(hi), val(step), init);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.getBody());
  Values results = body(op.getInductionVar(), op.getRegionIterArgs());
  assert(results.size() == init.size() && "all that is carried goes on");
  if (!init.empty()) // without carried values the terminator is there already
    scf::YieldOp::create(b, results);
  return Values(op.getResults());
}

void BuilderBase::loop(Index lo, Index hi, Index step,
                       llvm::function_ref<void(Value)> body) {
  loop(lo, hi, step, {}, [&](Value i, ValueRange) {
    body(i);
    return Values();
  });
}

void BuilderBase::repeat(int64_t count, llvm::function_ref<void(Index)> body) {
  if (count == 1)
    body(Index(0));
  else if (count > 1)
    loop(0, count, 1, [&](Value i) { body(Index(i)); });
}

Values BuilderBase::loopWhile(
    const Values &init, TypeRange types,
    llvm::function_ref<std::pair<Value, Values>(ValueRange)> test,
    llvm::function_ref<Values(ValueRange)> body) {
  auto op = scf::WhileOp::create(b, types, init);
  OpBuilder::InsertionGuard guard(b);
  auto enter = [&](Region &region, TypeRange arguments) {
    return b.createBlock(&region, {}, arguments,
                         SmallVector<Location>(arguments.size(), b.getLoc()));
  };
  Block *before = enter(op.getBefore(), ValueRange(init).getTypes());
  auto [goesOn, forwarded] = test(before->getArguments());
  scf::ConditionOp::create(b, goesOn, forwarded);
  Block *after = enter(op.getAfter(), types);
  scf::YieldOp::create(b, body(after->getArguments()));
  return Values(op.getResults());
}

Values BuilderBase::ifElse(Value condition, TypeRange types,
                           llvm::function_ref<Values()> then,
                           llvm::function_ref<Values()> otherwise) {
  auto op = scf::IfOp::create(b, types, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  auto fill = [&](Block *block, llvm::function_ref<Values()> body) {
    b.setInsertionPointToStart(block);
    Values results = body();
    assert(results.size() == types.size() && "both branches give all results");
    if (!types.empty())
      scf::YieldOp::create(b, results);
  };
  fill(op.thenBlock(), then);
  fill(op.elseBlock(), otherwise);
  return Values(op.getResults());
}

void BuilderBase::ifThen(Value condition, llvm::function_ref<void()> then) {
  auto op = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  then();
}
