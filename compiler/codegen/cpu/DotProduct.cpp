//===- DotProduct.cpp - Sums of four products of bytes --------------------===//

#include "compiler/codegen/cpu/DotProduct.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/STLExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

DotProduct::DotProduct(KernelBuilder &k, bool isSmall)
    : k(k), way(wayOf(k.target, isSmall)) {}

DotProduct::Way DotProduct::wayOf(const Target &target, bool isSmall) {
  if (target.architecture != "x86-64")
    return target.has("dotprod") ? Way::signedDot : Way::words;
  if (target.has("avx512vnni") || target.has("avxvnni"))
    return Way::dot;
  return isSmall ? Way::bytePairs : Way::pairs;
}

int64_t DotProduct::steps(const Target &target, bool isSmall) {
  Way way = wayOf(target, isSmall);
  return way == Way::pairs ? 4 : way == Way::bytePairs ? 3 : 1;
}

int64_t DotProduct::readySteps(const Target &target, bool isSmall) {
  return wayOf(target, isSmall) == Way::pairs ? 3 : 1;
}

int64_t DotProduct::maxPositions(const Target &target, int64_t panels,
                                 bool isSmall) {
  int64_t vectors = panels * 16 / target.vectorLanes;
  Way way = wayOf(target, isSmall);
  // Other registers hold a step's weights, in two forms for pairs, and the
  // input of a position. The register allocator needs some more.
  int64_t others = way == Way::pairs ? 2 * vectors + 4 : vectors + 6;
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

/// Lanes [first, first + count) of x and y, by turns.
static Value interleaved(KernelBuilder &k, Value x, Value y, int64_t first,
                         int64_t count) {
  int64_t second = cast<VectorType>(x.getType()).getNumElements() + first;
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < count; ++lane)
    lanes.append({first + lane, second + lane});
  return vector::ShuffleOp::create(k.b, x, y, lanes);
}

Value codegen::interleavedQuads(KernelBuilder &k, ArrayRef<Value> four) {
  auto whole = [&](Value x, Value y) {
    return interleaved(k, x, y, 0,
                       cast<VectorType>(x.getType()).getNumElements());
  };
  assert(four.size() == 4 && "a quad has four bytes");
  return whole(whole(four[0], four[2]), whole(four[1], four[3]));
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
  return unsignedQuads(as(k, k.broadcast(quad, k.VL), k.b.getI8Type()));
}

Values DotProduct::unsignedQuads(Value bytes) const {
  if (way != Way::pairs && way != Way::words)
    return {bytes};
  bool isPair = way == Way::pairs;
  Value words = as(k, bytes, isPair ? k.b.getI16Type() : k.b.getI32Type());
  Values parts;
  for (int64_t i = 0; i < (isPair ? 2 : 4); ++i)
    parts.push_back(k.bitAnd(shiftUnsigned(k, words, 8 * i),
                             k.iconst(255, words.getType())));
  return parts;
}

Values DotProduct::neighbours(Value memory, Index offset, int64_t step,
                              int64_t first) const {
  assert(isFast(k.target) && "others sum floats");
  constexpr int64_t bytes = 16, taps = 4;
  if (way == Way::signedDot) {
    // Half of a register at a time: neighbouring windows share the first steps.
    auto half = [&](Value x, Value y, bool isUpper) {
      return interleaved(k, x, y, isUpper ? bytes / 2 : 0, bytes / 2);
    };
    Values pixels;
    for (int64_t tap = 0; tap < taps; ++tap)
      pixels.push_back(k.load(memory, k.add(offset, tap * step), bytes));
    bool isUpper = first >= bytes / 2;
    return {half(half(pixels[0], pixels[2], isUpper),
                 half(pixels[1], pixels[3], isUpper), first / 4 % 2)};
  }
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
  if (way != Way::pairs && way != Way::words)
    return {bytes};
  if (way == Way::words) {
    Value words = as(k, bytes, k.b.getI32Type());
    Values parts;
    for (int64_t i = 0; i < 4; ++i)
      parts.push_back(shiftSigned(k, shiftLeft(k, words, 24 - 8 * i), 24));
    return parts;
  }
  Value pairs = as(k, bytes, k.b.getI16Type());
  return {shiftSigned(k, shiftLeft(k, pairs, 8), 8), shiftSigned(k, pairs, 8)};
}

Value DotProduct::add(Value acc, const Values &x, const Values &w) const {
  bool isWide = k.VL == 16;
  if (way == Way::dot)
    return callIntrinsic(k,
                         isWide ? "llvm.x86.avx512.vpdpbusd.512"
                                : "llvm.x86.avx512.vpdpbusd.256",
                         {acc, x[0], w[0]}, acc.getType());
  if (way == Way::signedDot)
    return callIntrinsic(k, "llvm.aarch64.neon.sdot", {acc, x[0], w[0]},
                         acc.getType());
  StringRef multiplyPairs =
      isWide ? "llvm.x86.avx512.pmaddw.d.512" : "llvm.x86.avx2.pmadd.wd";
  if (way == Way::bytePairs) {
    VectorType words = k.vec(2 * k.VL, k.b.getI16Type());
    Value sums = callIntrinsic(k,
                               isWide ? "llvm.x86.avx512.pmaddubs.w.512"
                                      : "llvm.x86.avx2.pmadd.ub.sw",
                               {x[0], w[0]}, words);
    sums = callIntrinsic(k, multiplyPairs, {sums, k.iconst(1, words)},
                         acc.getType());
    return arith::AddIOp::create(k.b, acc, sums);
  }
  for (auto [a, b] : llvm::zip_equal(x, w)) {
    Value product = way == Way::pairs
                        ? callIntrinsic(k, multiplyPairs, {a, b}, acc.getType())
                        : Value(arith::MulIOp::create(k.b, a, b));
    acc = arith::AddIOp::create(k.b, acc, product);
  }
  return acc;
}

Value DotProduct::start(Value acc, ArrayRef<Values> w) const {
  if (way != Way::signedDot)
    return acc;
  // The sum for x = 0 is not 0.
  Value zero = k.iconst(-128, k.vec(4 * k.VL, k.b.getI8Type())),
        sum = k.iconst(0, acc.getType());
  for (const Values &weights : w)
    sum = add(sum, {zero}, weights);
  return arith::SubIOp::create(k.b, acc, sum);
}
