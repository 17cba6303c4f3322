//===- KernelBuilder.cpp - Writes kernels for a CPU -----------------------===//

#include "compiler/codegen/cpu/KernelBuilder.h"

#include "compiler/codegen/common/Math.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <cassert>

using namespace mlir;
using namespace nnv12::codegen;

KernelBuilder::KernelBuilder(MLIRContext &context, const Target &target)
    : BuilderBase(context, target.vectorLanes),
      target(target.upTo(Extension::None)), all(target) {
  context.loadDialect<LLVM::LLVMDialect>();
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// Whether a masked access of this element type is one instruction.
static bool hasMaskedAccess(const Target &target, Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  return target.hasMasks && (width == 32 || width == 64);
}

Value KernelBuilder::loadPart(Value memory, Index offset, int64_t lanes,
                              int64_t count) {
  if (count >= lanes)
    return load(memory, offset, lanes);
  Type element = elementOf(memory);
  VectorType type = vec(lanes, element);
  Value result = number(0, type);
  if (count <= 0)
    return result;
  if (hasMaskedAccess(target, element))
    return vector::MaskedLoadOp::create(
        b, type, memory, ValueRange{val(offset)}, firstLanes(lanes, count),
        result, alignOf(element));
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
  // element, which is wider than an element of a truncated vector.
  if (count == 1)
    return store(extract(x, 0), memory, offset);
  Type element = elementOf(memory);
  if (hasMaskedAccess(target, element)) {
    vector::MaskedStoreOp::create(b, memory, ValueRange{val(offset)},
                                  firstLanes(lanes, count), x,
                                  alignOf(element));
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    store(extract(x, i), memory, add(offset, i));
}

Value KernelBuilder::keepLanes(Value x, Index count) {
  auto type = cast<VectorType>(x.getType());
  int64_t lanes = type.getNumElements();
  if (count.isConstant() && count.constant >= lanes)
    return x;
  Value zero = number(0, type);
  if (count.isConstant() && count.constant <= 0)
    return zero;
  VectorType bits = vec(lanes, b.getI1Type());
  Value isKept = count.isConstant()
                     ? firstLanes(lanes, count.constant)
                     : vector::CreateMaskOp::create(b, bits, val(count));
  return select(isKept, x, zero);
}

/// Into the cache nearest to the core.
static void createPrefetch(KernelBuilder &k, Value memory, Index offset,
                           bool isWrite) {
  memref::PrefetchOp::create(k.b, memory, ValueRange{k.val(offset)}, isWrite,
                             /*localityHint=*/3, /*isDataCache=*/true);
}

void KernelBuilder::prefetch(Value memory, Index offset) {
  createPrefetch(*this, memory, offset, /*isWrite=*/false);
}

void KernelBuilder::prefetchForStore(Value memory, Index offset) {
  createPrefetch(*this, memory, offset, /*isWrite=*/true);
}

Index KernelBuilder::hide(Index x) {
  Type word = b.getI64Type();
  Value number = arith::IndexCastOp::create(b, word, val(x));
  auto copy = LLVM::InlineAsmOp::create(
      b, word, number, /*asm_string=*/"", /*constraints=*/"=r,0",
      /*has_side_effects=*/false, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None, /*asm_dialect=*/nullptr,
      /*operand_attrs=*/nullptr);
  return Index(
      arith::IndexCastOp::create(b, b.getIndexType(), copy.getResult(0)));
}

Value KernelBuilder::within(Index x, int64_t limit) {
  // One unsigned comparison: a negative number is a huge one.
  return compare(Order::ult, val(x), constant(std::max<int64_t>(limit, 0)));
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// For LLVM, in place of the features of the module's machine, which are the
/// base's.
static Attribute featuresOf(MLIRContext *context, const Target &target) {
  std::string text = target.features;
  for (const std::string &name : target.added)
    text += (text.empty() ? "+" : ",+") + name;
  return LLVM::TargetFeaturesAttr::get(context, text);
}

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
  if (!k.target.isBase())
    function->setAttr("target_features",
                      featuresOf(k.b.getContext(), k.target));
  Block *entry = function.addEntryBlock();
  k.b.setInsertionPointToStart(entry);
  body(entry->getArguments());
  func::ReturnOp::create(k.b);
  return function;
}

void KernelBuilder::callMicroKernel(StringRef name, ValueRange memories,
                                    ArrayRef<Index> indices,
                                    llvm::function_ref<void(ValueRange)> body) {
  // A kernel of the base calls none whose code has instructions of an
  // extension.
  std::string symbol = name.str();
  if (!target.isBase())
    symbol += "." + target.name;
  auto function = module.lookupSymbol<func::FuncOp>(symbol);
  if (!function)
    function = internalFunction(
        *this, symbol, llvm::to_vector(llvm::map_range(memories, elementOf)),
        indices.size(), body);
  assert(function.getNumArguments() == memories.size() + indices.size() &&
         "functions of one name have one signature");
  Values operands(memories);
  for (Index i : indices)
    operands.push_back(val(i));
  func::CallOp::create(b, function, operands);
}

void KernelBuilder::kernel(StringRef name, Operation *layer, KernelBody body,
                           Type weights, Type scratch) {
  llvm::SmallVector<Type> memories;
  for (TypeRange types : {TypeRange(layer->getResultTypes()),
                          TypeRange(layer->getOperandTypes())})
    for (Type tensor : types)
      memories.push_back(storageType(getElementTypeOrSelf(tensor)));
  if (weights)
    memories[layer->getNumResults() + 1] = weights;
  kernel(name, memories, body, scratch);
}

void KernelBuilder::kernel(StringRef name, ArrayRef<Type> memories,
                           KernelBody body, Type scratch) {
  // The entry point itself, which unpacks the operand table, can only be
  // written in the LLVM dialect: the backend adds it.
  llvm::SmallVector<Type> types(memories);
  types.push_back(scratch ? scratch : b.getF32Type());
  size_t n = memories.size();
  auto function = internalFunction(
      *this, (name + kernelBodySuffix).str(), types, 2, [&](ValueRange args) {
        body(args.take_front(n), args[n], args[n + 1], args[n + 2]);
      });
  function->setAttr(kernelEntryAttribute, b.getStringAttr(name));
}
