//===- MatrixUnit.cpp - Products of tiles of bytes ------------------------===//

#include "compiler/codegen/cpu/MatrixUnit.h"

#include "compiler/codegen/cpu/DotProduct.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

MatrixUnit::MatrixUnit(KernelBuilder &k)
    : k(k), tile(LLVM::LLVMX86AMXType::get(k.b.getContext())),
      pointer(LLVM::LLVMPointerType::get(k.b.getContext())) {
  assert(isIn(k.target) && "a CPU has tiles");
}

Value MatrixUnit::allocate(int64_t bytes) {
  Value count = k.iconst(bytes, k.b.getI64Type());
  return LLVM::AllocaOp::create(k.b, pointer, k.b.getI8Type(), count,
                                /*alignment=*/64);
}

Value MatrixUnit::advance(Value address, Index bytes) {
  Value count = arith::IndexCastOp::create(k.b, k.b.getI64Type(), k.val(bytes));
  return LLVM::GEPOp::create(k.b, pointer, k.b.getI8Type(), address,
                             ArrayRef<LLVM::GEPArg>{count});
}

Value MatrixUnit::size(int64_t number) {
  return k.iconst(number, k.b.getI16Type());
}

Value MatrixUnit::zero(TileSize s) {
  return callIntrinsic(k, "llvm.x86.tilezero.internal",
                       {size(s.rows), size(s.bytes)}, tile);
}

Value MatrixUnit::load(Value memory, Index offset, Index stride, TileSize s) {
  assert(cast<MemRefType>(memory.getType()).getElementType().isInteger(8) &&
         "an offset is bytes");
  // For --check-bounds, which sees these loads alone; elsewhere they are dead.
  (void)k.load(memory, offset, s.bytes);
  (void)k.load(memory, k.add(offset, k.mul(stride, s.rows - 1)), s.bytes);
  Index start(memref::ExtractAlignedPointerAsIndexOp::create(k.b, memory));
  Value place = arith::IndexCastOp::create(k.b, k.b.getI64Type(),
                                           k.val(k.add(start, offset)));
  return loadFrom(LLVM::IntToPtrOp::create(k.b, pointer, place), stride, s);
}

Value MatrixUnit::loadRepeated(Value address, int64_t rows) {
  return loadFrom(address, 0, {rows, mostBytes});
}

Value MatrixUnit::loadFrom(Value address, Index stride, TileSize s) {
  Value step = arith::IndexCastOp::create(k.b, k.b.getI64Type(), k.val(stride));
  return callIntrinsic(k, "llvm.x86.tileloadd64.internal",
                       {size(s.rows), size(s.bytes), address, step}, tile);
}

void MatrixUnit::store(Value tile, Value address, TileSize s) {
  LLVM::CallIntrinsicOp::create(
      k.b, k.b.getStringAttr("llvm.x86.tilestored64.internal"),
      ValueRange{size(s.rows), size(s.bytes), address,
                 k.iconst(s.bytes, k.b.getI64Type()), tile});
}

Value MatrixUnit::multiplyAdd(Value sums, Value x, Value w, int64_t rows,
                              int64_t terms) {
  return callIntrinsic(k, "llvm.x86.tdpbusd.internal",
                       {size(rows), size(mostBytes), size(terms), sums, x, w},
                       tile);
}

Value MatrixUnit::loadRow(Value address) {
  return LLVM::LoadOp::create(k.b, k.vec(16, k.b.getI32Type()), address,
                              /*alignment=*/64);
}

void MatrixUnit::storeRow(Value row, Value address) {
  LLVM::StoreOp::create(k.b, row, address, /*alignment=*/64);
}
