//===- DotProduct.cpp - Sums of four products of bytes --------------------===//

#include "compiler/codegen/cpu/DotProduct.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/STLExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

DotProduct::DotProduct(KernelBuilder &k) : k(k), way(wayOf(k.target)) {}

DotProduct::Way DotProduct::wayOf(const Target &target) {
  if (target.architecture != "x86-64")
    return Way::plain;
  if (target.has("avx512vnni") || target.has("avxvnni"))
    return Way::dot;
  return Way::pairs;
}

int64_t DotProduct::steps(const Target &target) {
  switch (wayOf(target)) {
  case Way::dot:
    return 1;
  case Way::pairs:
    return 4;
  case Way::plain:
    return 16;
  }
  llvm_unreachable("all ways are listed");
}

int64_t DotProduct::maxPositions(const Target &target, int64_t panels) {
  int64_t vectors = panels * 16 / target.vectorLanes;
  Way way = wayOf(target);
  // Other registers hold a step's weights, in two forms for pairs, and the
  // input of a position. The register allocator needs some more.
  int64_t others = way == Way::dot ? vectors + 6 : 2 * vectors + 4;
  int64_t positions = (target.vectorRegisters - others) / vectors;
  return std::max<int64_t>(positions, vectors + 4 <= target.vectorRegisters);
}

/// A vector's bits as another vector.
static Value as(KernelBuilder &k, Value x, Type element) {
  auto type = cast<VectorType>(x.getType());
  int64_t bits = type.getNumElements() * type.getElementTypeBitWidth();
  return vector::BitCastOp::create(
      k.b, k.vec(bits / element.getIntOrFloatBitWidth(), element), x);
}

Value codegen::callIntrinsic(KernelBuilder &k, StringRef name,
                             ValueRange operands, Type result) {
  return LLVM::CallIntrinsicOp::create(k.b, result, k.b.getStringAttr(name),
                                       operands)
      .getResult(0);
}

Value codegen::interleavedQuads(KernelBuilder &k, ArrayRef<Value> four) {
  auto interleaved = [&](Value x, Value y) -> Value {
    int64_t count = cast<VectorType>(x.getType()).getNumElements();
    SmallVector<int64_t> lanes;
    for (int64_t lane = 0; lane < count; ++lane)
      lanes.append({lane, count + lane});
    return vector::ShuffleOp::create(k.b, x, y, lanes);
  };
  assert(four.size() == 4 && "a quad has four bytes");
  return interleaved(interleaved(four[0], four[2]),
                     interleaved(four[1], four[3]));
}

static Value shiftLeft(KernelBuilder &k, Value x, int64_t bits) {
  return arith::ShLIOp::create(k.b, x, k.iconst(bits, x.getType()));
}
static Value shiftSigned(KernelBuilder &k, Value x, int64_t bits) {
  return arith::ShRSIOp::create(k.b, x, k.iconst(bits, x.getType()));
}
static Value shiftUnsigned(KernelBuilder &k, Value x, int64_t bits) {
  if (bits == 0)
    return x;
  return arith::ShRUIOp::create(k.b, x, k.iconst(bits, x.getType()));
}

Values DotProduct::x(Value memory, Index offset, int64_t count) const {
  Type i32 = k.b.getI32Type();
  Value bytes = k.loadPart(memory, offset, 4, count);
  Value quad = k.extract(as(k, bytes, i32), 0);
  if (way == Way::plain) {
    Values parts;
    for (int64_t i = 0; i < 4; ++i) {
      Value byte = k.bitAnd(shiftUnsigned(k, quad, 8 * i), k.iconst(255, i32));
      parts.push_back(k.broadcast(byte, k.VL));
    }
    return parts;
  }
  return unsignedQuads(as(k, k.broadcast(quad, k.VL), k.b.getI8Type()));
}

Values DotProduct::unsignedQuads(Value bytes) const {
  if (way == Way::dot)
    return {bytes};
  bool isPlain = way == Way::plain;
  Value words = as(k, bytes, isPlain ? k.b.getI32Type() : k.b.getI16Type());
  Values parts;
  for (int64_t i = 0; i < (isPlain ? 4 : 2); ++i)
    parts.push_back(k.bitAnd(shiftUnsigned(k, words, 8 * i),
                             k.iconst(255, words.getType())));
  return parts;
}

Values DotProduct::neighbours(Value memory, Index offset, int64_t step,
                              int64_t first) const {
  assert(way == Way::dot && "others sum floats");
  constexpr int64_t bytes = 16, taps = 4;
  if (step == bytes) {
    Value all = k.load(memory, offset, taps * bytes);
    SmallVector<int64_t> lanes;
    for (int64_t lane = first; lane < first + k.VL; ++lane)
      for (int64_t tap = 0; tap < taps; ++tap)
        lanes.push_back(tap * bytes + lane);
    return {vector::ShuffleOp::create(k.b, all, all, lanes)};
  }
  Values parts;
  for (int64_t tap = 0; tap < taps; ++tap)
    parts.push_back(k.load(memory, k.add(offset, tap * step + first), k.VL));
  return {interleavedQuads(k, parts)};
}

Values DotProduct::w(Value memory, Index offset) const {
  return signedQuads(k.load(memory, offset, 4 * k.VL));
}

Values DotProduct::signedQuads(Value bytes) const {
  if (way == Way::dot)
    return {bytes};
  if (way == Way::pairs) {
    Value pairs = as(k, bytes, k.b.getI16Type());
    return {shiftSigned(k, shiftLeft(k, pairs, 8), 8),
            shiftSigned(k, pairs, 8)};
  }
  Value quads = as(k, bytes, k.b.getI32Type());
  Values parts;
  for (int64_t i = 0; i < 4; ++i)
    parts.push_back(shiftSigned(k, shiftLeft(k, quads, 24 - 8 * i), 24));
  return parts;
}

Value DotProduct::add(Value acc, const Values &x, const Values &w) const {
  bool isWide = k.VL == 16;
  if (way == Way::dot)
    return callIntrinsic(k,
                         isWide ? "llvm.x86.avx512.vpdpbusd.512"
                                : "llvm.x86.avx512.vpdpbusd.256",
                         {acc, x[0], w[0]}, acc.getType());
  for (auto [a, b] : llvm::zip_equal(x, w)) {
    Value product = way == Way::pairs
                        ? callIntrinsic(k,
                                        isWide ? "llvm.x86.avx512.pmaddw.d.512"
                                               : "llvm.x86.avx2.pmadd.wd",
                                        {a, b}, acc.getType())
                        : Value(arith::MulIOp::create(k.b, a, b));
    acc = arith::AddIOp::create(k.b, acc, product);
  }
  return acc;
}
