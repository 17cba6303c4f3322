//===- KernelBuilder.cpp - Writes kernels in vector/scf/arith -------------===//

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/Backend.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/MLIRContext.h"

#include <cassert>

using namespace mlir;
using namespace nnv12::codegen;

/// Vector accesses promise no more than the alignment of an element.
static llvm::MaybeAlign elementAlign(Type element) {
  return llvm::Align(std::max(1u, element.getIntOrFloatBitWidth() / 8));
}

KernelBuilder::KernelBuilder(MLIRContext &context, const Target &target)
    : b(UnknownLoc::get(&context), &context), target(target),
      VL(target.vectorLanes) {
  assert(VL > 0 && 16 % VL == 0 && "a block of 16 channels is whole vectors");
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                      func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                      memref::MemRefDialect, scf::SCFDialect,
                      vector::VectorDialect>();
  module = ModuleOp::create(b.getLoc());
  b.setInsertionPointToEnd(module.getBody());
}

MemRefType KernelBuilder::memory(Type element) {
  if (auto type = dyn_cast<IntegerType>(element))
    element = b.getIntegerType(std::max(8u, type.getWidth()));
  return MemRefType::get({int64_t(1) << 40}, element);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value KernelBuilder::constant(int64_t c) {
  return arith::ConstantIndexOp::create(b, c);
}

Value KernelBuilder::val(Index i) {
  if (i.isConstant())
    return constant(i.constant);
  if (i.constant == 0)
    return i.value;
  return arith::AddIOp::create(b, i.value, constant(i.constant));
}

Index KernelBuilder::add(Index x, Index y) {
  Value sum = x.value && y.value
                  ? Value(arith::AddIOp::create(b, x.value, y.value))
                  : (x.value ? x.value : y.value);
  return Index(sum, x.constant + y.constant);
}

Index KernelBuilder::sub(Index x, Index y) {
  if (y.isConstant())
    return Index(x.value, x.constant - y.constant);
  return Index(
      arith::SubIOp::create(b, x.value ? x.value : constant(0), y.value),
      x.constant - y.constant);
}

Index KernelBuilder::mul(Index x, Index y) {
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

Index KernelBuilder::div(Index x, int64_t k) {
  assert(k > 0 && (!x.isConstant() || x.constant >= 0) && "it is unsigned");
  if (k == 1)
    return x;
  if (x.isConstant())
    return Index(x.constant / k);
  return Index(Value(arith::DivUIOp::create(b, val(x), constant(k))));
}

Index KernelBuilder::rem(Index x, int64_t k) {
  assert(k > 0 && (!x.isConstant() || x.constant >= 0) && "it is unsigned");
  if (k == 1)
    return Index(0);
  if (x.isConstant())
    return Index(x.constant % k);
  return Index(Value(arith::RemUIOp::create(b, val(x), constant(k))));
}

Index KernelBuilder::min(Index x, Index y) {
  if (x.isConstant() && y.isConstant())
    return Index(std::min(x.constant, y.constant));
  return Index(Value(arith::MinSIOp::create(b, val(x), val(y))));
}

Index KernelBuilder::max(Index x, Index y) {
  if (x.isConstant() && y.isConstant())
    return Index(std::max(x.constant, y.constant));
  return Index(Value(arith::MaxSIOp::create(b, val(x), val(y))));
}

Value KernelBuilder::less(Index x, Index y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::slt, val(x), val(y));
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

Value KernelBuilder::fconst(double c, Type type) {
  return splatConstant(b, type, b.getFloatAttr(getElementTypeOrSelf(type), c));
}

Value KernelBuilder::iconst(int64_t c, Type type) {
  Type element = getElementTypeOrSelf(type);
  // Made through APInt: c may be a value that only fits when taken unsigned.
  if (auto integer = dyn_cast<IntegerType>(element))
    return splatConstant(b, type,
                         IntegerAttr::get(element, llvm::APInt(64, c).trunc(
                                                       integer.getWidth())));
  return splatConstant(b, type, b.getIntegerAttr(element, c));
}

VectorType KernelBuilder::vec(int64_t lanes, Type element) {
  return VectorType::get({lanes}, element ? element : b.getF32Type());
}

static Type elementOf(Value memory) {
  return cast<MemRefType>(memory.getType()).getElementType();
}

Value KernelBuilder::load(Value memory, Index offset) {
  return memref::LoadOp::create(b, memory, ValueRange{val(offset)});
}

Value KernelBuilder::load(Value memory, Index offset, int64_t lanes) {
  Type element = elementOf(memory);
  return vector::LoadOp::create(b, vec(lanes, element), memory,
                                ValueRange{val(offset)}, /*nontemporal=*/false,
                                elementAlign(element));
}

void KernelBuilder::store(Value x, Value memory, Index offset) {
  if (!isa<VectorType>(x.getType())) {
    memref::StoreOp::create(b, x, memory, ValueRange{val(offset)});
    return;
  }
  vector::StoreOp::create(b, x, memory, ValueRange{val(offset)},
                          /*nontemporal=*/false,
                          elementAlign(elementOf(memory)));
}

/// Whether a masked access of this element type is one instruction.
static bool hasMaskedAccess(const Target &target, Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  return target.hasMasks && (width == 32 || width == 64);
}

static Value firstLanes(KernelBuilder &k, int64_t lanes, int64_t count) {
  return vector::ConstantMaskOp::create(k.b, k.vec(lanes, k.b.getI1Type()),
                                        ArrayRef<int64_t>{count});
}

static Value zeroOf(KernelBuilder &k, Type type) {
  return isa<FloatType>(getElementTypeOrSelf(type)) ? k.fconst(0, type)
                                                    : k.iconst(0, type);
}

Value KernelBuilder::loadPart(Value memory, Index offset, int64_t lanes,
                              int64_t count) {
  if (count >= lanes)
    return load(memory, offset, lanes);
  Type element = elementOf(memory);
  VectorType type = vec(lanes, element);
  Value result = zeroOf(*this, type);
  if (count <= 0)
    return result;
  if (hasMaskedAccess(target, element))
    return vector::MaskedLoadOp::create(
        b, type, memory, ValueRange{val(offset)},
        firstLanes(*this, lanes, count), result, elementAlign(element));
  for (int64_t i = 0; i < count; ++i)
    result = insert(load(memory, add(offset, i)), result, i);
  return result;
}

void KernelBuilder::storePart(Value x, Value memory, Index offset,
                              int64_t count) {
  int64_t lanes = cast<VectorType>(x.getType()).getNumElements();
  if (count >= lanes)
    return store(x, memory, offset);
  if (count <= 0)
    return;
  // LLVM makes one lane of a masked store a store of the whole register's
  // element, which is wider than what a truncated vector holds.
  if (count == 1)
    return store(extract(x, 0), memory, offset);
  Type element = elementOf(memory);
  if (hasMaskedAccess(target, element)) {
    vector::MaskedStoreOp::create(b, memory, ValueRange{val(offset)},
                                  firstLanes(*this, lanes, count), x,
                                  elementAlign(element));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    store(extract(x, i), memory, add(offset, i));
}

Value KernelBuilder::broadcast(Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(b, vec(lanes, scalar.getType()), scalar);
}

Value KernelBuilder::extract(Value vector, int64_t lane) {
  return vector::ExtractOp::create(b, vector, ArrayRef<int64_t>{lane});
}

Value KernelBuilder::insert(Value scalar, Value vector, int64_t lane) {
  return vector::InsertOp::create(b, scalar, vector, ArrayRef<int64_t>{lane});
}

Value KernelBuilder::fma(Value x, Value y, Value z) {
  return math::FmaOp::create(b, x, y, z);
}

void KernelBuilder::prefetch(Value memory, Index offset) {
  memref::PrefetchOp::create(b, memory, ValueRange{val(offset)},
                             /*isWrite=*/false, /*localityHint=*/3,
                             /*isDataCache=*/true);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

Values KernelBuilder::loop(Index lo, Index hi, Index step, Values init,
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

void KernelBuilder::loop(Index lo, Index hi, Index step,
                         llvm::function_ref<void(Value)> body) {
  loop(lo, hi, step, {}, [&](Value i, ValueRange) {
    body(i);
    return Values();
  });
}

void KernelBuilder::repeat(int64_t count,
                           llvm::function_ref<void(Index)> body) {
  if (count == 1)
    body(Index(0));
  else if (count > 1)
    loop(0, count, 1, [&](Value i) { body(Index(i)); });
}

Values KernelBuilder::ifElse(Value condition, TypeRange types,
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

void KernelBuilder::ifThen(Value condition, llvm::function_ref<void()> then) {
  auto op = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(op.thenBlock());
  then();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static func::FuncOp
internalFunction(KernelBuilder &k, StringRef name, ArrayRef<Type> memories,
                 int indices, llvm::function_ref<void(ValueRange)> body) {
  OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPointToEnd(k.module.getBody());
  llvm::SmallVector<Type> types;
  for (Type element : memories)
    types.push_back(k.memory(element));
  types.append(indices, k.b.getIndexType());
  auto function =
      func::FuncOp::create(k.b, name, k.b.getFunctionType(types, {}));
  function->setAttr(
      "llvm.linkage",
      LLVM::LinkageAttr::get(k.b.getContext(), LLVM::Linkage::Internal));
  Block *entry = function.addEntryBlock();
  k.b.setInsertionPointToStart(entry);
  body(entry->getArguments());
  func::ReturnOp::create(k.b);
  return function;
}

func::FuncOp
KernelBuilder::microKernel(StringRef name, ArrayRef<Type> memories, int indices,
                           llvm::function_ref<void(ValueRange)> body) {
  if (auto function = module.lookupSymbol<func::FuncOp>(name)) {
    assert(function.getNumArguments() == memories.size() + indices &&
           "what shares a name shares a signature");
    return function;
  }
  return internalFunction(*this, name, memories, indices, body);
}

void KernelBuilder::call(func::FuncOp f, ValueRange memories,
                         ArrayRef<Index> indices) {
  assert(f.getNumArguments() == memories.size() + indices.size() &&
         "an operand for each argument");
  Values operands(memories);
  for (Index i : indices)
    operands.push_back(val(i));
  func::CallOp::create(b, f, operands);
}

void KernelBuilder::kernel(
    StringRef name, ArrayRef<Type> memories,
    llvm::function_ref<void(ValueRange, Value, Value, Value)> body) {
  // The entry point itself, which unpacks the operand table, can only be
  // written in the LLVM dialect: the backend adds it.
  llvm::SmallVector<Type> types(memories);
  types.push_back(b.getF32Type()); // scratch
  size_t n = memories.size();
  auto function = internalFunction(
      *this, (name + kernelBodySuffix).str(), types, 2, [&](ValueRange args) {
        body(args.take_front(n), args[n], args[n + 1], args[n + 2]);
      });
  function->setAttr(kernelEntryAttribute, b.getStringAttr(name));
}
