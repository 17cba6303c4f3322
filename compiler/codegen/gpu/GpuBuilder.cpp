//===- GpuBuilder.cpp - Writes kernels for a GPU --------------------------===//

#include "compiler/codegen/gpu/GpuBuilder.h"

#include "compiler/codegen/gpu/SpirvModule.h"
#include "compiler/weights/Exact.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVAttributes.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"

#include <cassert>

using namespace mlir;
using namespace nnv12::codegen;

GpuBuilder::GpuBuilder(MLIRContext &context, const GpuTarget &target,
                       uint32_t half)
    : BuilderBase(context, /*lanes=*/1, /*fuses=*/false), target(target),
      half(half) {
  context.loadDialect<gpu::GPUDialect, spirv::SPIRVDialect>();
}

MemRefType GpuBuilder::memoryIn(spirv::StorageClass storage, int64_t size,
                                Type element) {
  return MemRefType::get(
      {size}, element, MemRefLayoutAttrInterface(),
      spirv::StorageClassAttr::get(element.getContext(), storage));
}

void GpuBuilder::kernel(ArrayRef<Type> operands, unsigned pushWords,
                        std::array<int32_t, 3> localSize,
                        llvm::function_ref<void(ValueRange)> body) {
  assert(module.getOps<func::FuncOp>().empty() && "one kernel a module");
  assert(pushWords > 0 && pushWords * 4 <= GpuTarget::maxPushBytes &&
         "there is a word that says how much to write, and all of them fit");
  assert(unsigned(localSize[0] * localSize[1] * localSize[2]) <=
             GpuTarget::maxInvocations &&
         "every device has as many invocations");
  assert(operands.size() <= GpuTarget::maxBindings &&
         "which ones are written is bits");
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    Type element = operand;
    if (half >> i & 1) {
      assert(getElementTypeOrSelf(element).isF32() && "it is computed in f32");
      element = withElement(element, b.getF16Type());
    }
    types.push_back(memoryIn(spirv::StorageClass::StorageBuffer,
                             ShapedType::kDynamic, element));
  }
  types.push_back(
      memoryIn(spirv::StorageClass::PushConstant, pushWords, b.getI32Type()));
  auto function =
      func::FuncOp::create(b, SpirvModule::entry, b.getFunctionType(types, {}));
  function->setAttr(GpuKernelAttributes::localSize,
                    b.getDenseI32ArrayAttr(localSize));
  function->setAttr(GpuKernelAttributes::written, b.getI64IntegerAttr(1));
  Block *entry = function.addEntryBlock();
  b.setInsertionPointToStart(entry);
  words = entry->getArguments().back();
  for (auto [i, memory] : llvm::enumerate(entry->getArguments().drop_back()))
    if (half >> i & 1)
      halves.insert(memory);
  body(entry->getArguments().drop_back());
  halves.clear();
  words = Value();
  func::ReturnOp::create(b);
}

Type GpuBuilder::valueType(Value memory) const {
  Type element = elementOf(memory);
  if (!halves.contains(memory))
    return element;
  return withElement(element, Float32Type::get(element.getContext()));
}

Value GpuBuilder::load(Value memory, Index offset) {
  Value x = BuilderBase::load(memory, offset);
  if (!halves.contains(memory))
    return x;
  return arith::ExtFOp::create(b, valueType(memory), x);
}

void GpuBuilder::store(Value x, Value memory, Index offset) {
  if (halves.contains(memory)) {
    // Comparisons leave NaN alone.
    auto bound = [&](arith::CmpFPredicate isBeyond, double most) {
      Value limit = fconst(most, x.getType());
      Value condition = arith::CmpFOp::create(b, isBeyond, x, limit);
      x = select(condition, limit, x);
    };
    bound(arith::CmpFPredicate::OGT, largestHalf);
    bound(arith::CmpFPredicate::OLT, -largestHalf);
    x = arith::TruncFOp::create(b, elementOf(memory), x);
  }
  BuilderBase::store(x, memory, offset);
}

Value GpuBuilder::groupId(Dim dim) {
  return gpu::BlockIdOp::create(b, gpu::Dimension(dim));
}

Value GpuBuilder::localId(Dim dim) {
  return gpu::ThreadIdOp::create(b, gpu::Dimension(dim));
}

Value GpuBuilder::pushWord(unsigned i) {
  assert(words && "a kernel is being written");
  return arith::IndexCastOp::create(b, b.getIndexType(), load(words, i));
}

Value GpuBuilder::pushFloat(unsigned i) {
  assert(words && "a kernel is being written");
  return arith::BitcastOp::create(b, b.getF32Type(), load(words, i));
}

Value GpuBuilder::shared(int64_t size, Type element) {
  return memref::AllocOp::create(
      b, memoryIn(spirv::StorageClass::Workgroup, size, element));
}

void GpuBuilder::barrier() { gpu::BarrierOp::create(b); }

void GpuBuilder::forEach(const Values &values,
                         llvm::function_ref<void(Value, Value)> body) {
  loop(0, int64_t(values.size()), 1, values, [&](Value i, ValueRange moving) {
    body(i, moving.front());
    Values next(moving.drop_front());
    next.push_back(moving.front());
    return next;
  });
}
