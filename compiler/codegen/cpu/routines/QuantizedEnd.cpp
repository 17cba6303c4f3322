//===- QuantizedEnd.cpp - The steps behind a sum of integers --------------===//

#include "compiler/codegen/cpu/routines/QuantizedEnd.h"

#include "compiler/codegen/common/Math.h"
#include "compiler/codegen/cpu/DotProduct.h"
#include "llvm/ADT/Sequence.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

std::string QuantizedEnd::suffix() const {
  Epilogue steps;
  steps.bias = bias;
  steps.activation = activation;
  std::string name = steps.suffix();
  for (auto [isThere, text] :
       {std::pair(rows, "_rows"), std::pair(scale, "_scale"),
        std::pair(shift, "_shift"), std::pair(outScale, "_divide"),
        std::pair(outZero, "_zero"), std::pair(step, "_step"),
        std::pair(offset, "_offset"), std::pair(residual, "_residual"),
        std::pair(residualZero, "_less"), std::pair(finalScale, "_by"),
        std::pair(finalZero, "_final")})
    if (isThere)
      name += text;
  if (step) {
    Epilogue last;
    last.activation = finalActivation;
    name += last.suffix();
  }
  llvm::raw_string_ostream os(name);
  for (Type type : {middle, residualType, result})
    if (type && (type == result || step))
      os << '_' << type;
  return name;
}

LinearMemory QuantizedEnd::memory(ValueRange operands) const {
  Values args = {operands[1], operands[2], operands[0]};
  llvm::append_range(args, operands.drop_front(3));
  Value fill = padding ? args[3] : Value();
  if (padding)
    args.erase(args.begin() + 3);
  ValueRange range(args);
  LinearMemory memory = take(range);
  assert(range.empty() && "each operand is one of these");
  memory.padding = fill;
  return memory;
}

LinearMemory QuantizedEnd::take(ValueRange &args) const {
  auto next = [&](bool isThere) { return takeIf(args, isThere); };
  LinearMemory memory;
  memory.in = next(true);
  memory.weights = next(true);
  memory.out = next(true);
  memory.bias = next(bias);
  memory.residual = next(residual);
  memory.rows = next(rows);
  memory.scale = next(scale);
  memory.shift = next(shift);
  memory.outScale = next(outScale);
  memory.outZero = next(outZero);
  memory.step = next(step);
  memory.offset = next(offset);
  memory.residualScale = next(residual);
  memory.residualZero = next(residualZero);
  memory.finalScale = next(finalScale);
  memory.finalZero = next(finalZero);
  return memory;
}

QuantizedEnd::Shared QuantizedEnd::shared(KernelBuilder &k,
                                          const LinearMemory &memory) const {
  Shared s;
  Type i32 = k.b.getI32Type(), f32 = k.b.getF32Type();
  auto number = [&](bool isThere, Value from) {
    return isThere ? k.broadcast(k.load(from, 0), k.VL) : Value();
  };
  auto zeroPoint = [&](bool isThere, Value from, Type type) {
    return isThere ? emitCast(k, toCompute(k, k.load(from, 0), type), type, i32)
                   : k.iconst(0, i32);
  };
  s.outScale = number(outScale, memory.outScale);
  if (makesBytes())
    s.zero = step ? zeroPoint(finalZero, memory.finalZero, result)
                  : zeroPoint(outZero, memory.outZero, result);
  if (!step)
    return s;
  auto floats = [&](Value integer) {
    return k.broadcast(arith::SIToFPOp::create(k.b, f32, integer), k.VL);
  };
  s.residualScale = number(residual, memory.residualScale);
  if (residualZero)
    s.residualZero = floats(zeroPoint(true, memory.residualZero, residualType));
  s.finalScale = number(finalScale, memory.finalScale);
  if (outZero) {
    Value zero = zeroPoint(true, memory.outZero, middle);
    int64_t least = middle.isUnsignedInteger() ? 0 : -128;
    auto limit = [&](int64_t bound) {
      return floats(arith::SubIOp::create(k.b, k.iconst(bound, i32), zero));
    };
    s.least = limit(least);
    s.most = limit(least + 255);
  }
  return s;
}

QuantizedEnd::Columns
QuantizedEnd::columns(const LinearMemory &memory,
                      llvm::function_ref<Value(Value)> load) const {
  auto loadIf = [&](bool isThere, Value from) {
    return isThere ? load(from) : Value();
  };
  return {loadIf(scale, memory.scale), loadIf(shift, memory.shift),
          loadIf(step, memory.step), loadIf(offset, memory.offset)};
}

Value QuantizedEnd::goOn(KernelBuilder &k, Value y, const Piece &piece,
                         const LinearMemory &memory,
                         const Shared &shared) const {
  if (shared.least) {
    // NaN becomes the least number.
    for (auto [bound, isWithin] :
         {std::pair(shared.least, arith::CmpFPredicate::OGT),
          {shared.most, arith::CmpFPredicate::OLT}})
      y = k.select(arith::CmpFOp::create(k.b, isWithin, y, bound), y, bound);
    y = emitUnary(
        k, nn::FunctionAttr::get(k.b.getContext(), nn::UnaryKind::round), y);
  }
  auto add = [&](Value other) { y = arith::AddFOp::create(k.b, y, other); };
  y = arith::MulFOp::create(k.b, y, piece.columns.step);
  if (offset)
    add(piece.columns.offset);
  if (residual) {
    Value r = k.loadPart(memory.residual, piece.at, k.VL, piece.stored);
    if (!residualType.isF32()) {
      Type i32 = k.b.getI32Type();
      r = emitCast(k, toCompute(k, r, residualType), residualType, i32);
      r = arith::SIToFPOp::create(k.b, k.vec(k.VL), r);
    }
    if (residualZero)
      r = arith::SubFOp::create(k.b, r, shared.residualZero);
    add(arith::MulFOp::create(k.b, r, shared.residualScale));
  }
  if (finalActivation)
    y = emitUnary(k, finalActivation, y);
  if (finalScale)
    y = arith::DivFOp::create(k.b, y, shared.finalScale);
  return y;
}

Value QuantizedEnd::apply(KernelBuilder &k, const Piece &piece,
                          const LinearMemory &memory,
                          const Shared &shared) const {
  if (!scale)
    return piece.sum;
  Value y = arith::SIToFPOp::create(k.b, k.vec(k.VL), piece.sum);
  y = arith::MulFOp::create(k.b, y, piece.columns.scale);
  if (shift)
    y = arith::AddFOp::create(k.b, y, piece.columns.shift);
  if (activation)
    y = emitUnary(k, activation, y);
  if (shared.outScale)
    y = arith::DivFOp::create(k.b, y, shared.outScale);
  if (step)
    y = goOn(k, y, piece, memory, shared);
  return y;
}

/// To the nearest integer, ties to even. Numbers that are too large for one
/// become a large one, NaN one far below zero.
static Value toInteger(KernelBuilder &k, Value y) {
  Type floats = y.getType(), ints = withElement(floats, k.b.getI32Type());
  if (k.target.architecture == "aarch64") {
    // The instruction makes zero of NaN.
    y = arith::MaxNumFOp::create(k.b, y, k.fconst(-(1 << 20), floats));
    return callIntrinsic(k, "llvm.aarch64.neon.fcvtns", {y}, ints);
  }
  Value large = k.fconst(1 << 20, floats);
  Value isLarge =
      arith::CmpFOp::create(k.b, arith::CmpFPredicate::OLT, large, y);
  y = k.select(isLarge, large, y);
  return callIntrinsic(k, "llvm.lrint", {y}, ints);
}

Value QuantizedEnd::bytesOf(KernelBuilder &k, ArrayRef<Value> y,
                            const Shared &shared) const {
  assert(y.size() == 4 && "four quarters");
  Type i8 = k.b.getI8Type(), i16 = k.b.getI16Type(), i32 = k.b.getI32Type();
  Values whole;
  for (Value part : y)
    whole.push_back(toInteger(k, part));
  bool isUnsigned = result.isUnsignedInteger();
  VectorType words = k.vec(2 * k.VL, i16), bytes = k.vec(4 * k.VL, i8);
  if (k.target.architecture == "x86-64") {
    // These instructions pack, with saturation, each 128 bits for themselves.
    bool isWide = k.VL == 16;
    Value zero =
        k.broadcast(arith::TruncIOp::create(k.b, i16, shared.zero), 2 * k.VL);
    auto half = [&](Value low, Value high) {
      Value both = callIntrinsic(
          k, isWide ? "llvm.x86.avx512.packssdw.512" : "llvm.x86.avx2.packssdw",
          {low, high}, words);
      return callIntrinsic(k, "llvm.sadd.sat", {both, zero}, words);
    };
    StringRef name = isUnsigned ? (isWide ? "llvm.x86.avx512.packuswb.512"
                                          : "llvm.x86.avx2.packuswb")
                                : (isWide ? "llvm.x86.avx512.packsswb.512"
                                          : "llvm.x86.avx2.packsswb");
    Value packed = callIntrinsic(
        k, name, {half(whole[0], whole[1]), half(whole[2], whole[3])}, bytes);
    Value quads = vector::BitCastOp::create(k.b, k.vec(k.VL, i32), packed);
    SmallVector<int64_t> order;
    for (int64_t part = 0; part < 4; ++part)
      for (int64_t lane = 0; lane < k.VL / 4; ++lane)
        order.push_back(lane * 4 + part);
    quads = vector::ShuffleOp::create(k.b, quads, quads, order);
    return vector::BitCastOp::create(k.b, bytes, quads);
  }
  // NEON's instructions narrow a vector, with saturation, to half a vector.
  auto joined = [&](Value low, Value high) -> Value {
    SmallVector<int64_t> all;
    for (int64_t lane = 0,
                 lanes = cast<VectorType>(low.getType()).getDimSize(0);
         lane < 2 * lanes; ++lane)
      all.push_back(lane);
    return vector::ShuffleOp::create(k.b, low, high, all);
  };
  Value zero =
      k.broadcast(arith::TruncIOp::create(k.b, i16, shared.zero), 2 * k.VL);
  Values halves;
  for (size_t i = 0; i < whole.size(); i += 2) {
    auto narrow = [&](Value part) {
      return callIntrinsic(k, "llvm.aarch64.neon.sqxtn", {part},
                           k.vec(k.VL, i16));
    };
    Value both = joined(narrow(whole[i]), narrow(whole[i + 1]));
    both = callIntrinsic(k, "llvm.sadd.sat", {both, zero}, words);
    halves.push_back(callIntrinsic(
        k, isUnsigned ? "llvm.aarch64.neon.sqxtun" : "llvm.aarch64.neon.sqxtn",
        {both}, k.vec(2 * k.VL, i8)));
  }
  return joined(halves[0], halves[1]);
}

/// Whether the second piece's results are right behind the first one's, all of
/// both.
static bool areAdjacent(const QuantizedEnd::Piece &a,
                        const QuantizedEnd::Piece &b, int64_t lanes) {
  auto isWhole = [&](const QuantizedEnd::Piece &piece) {
    return piece.stored == lanes && piece.kept.isConstant() &&
           piece.kept.constant >= lanes;
  };
  return isWhole(a) && isWhole(b) && a.at.value == b.at.value &&
         b.at.constant == a.at.constant + lanes;
}

void QuantizedEnd::store(KernelBuilder &k, ArrayRef<Piece> pieces,
                         const LinearMemory &memory,
                         const Shared &shared) const {
  auto storeOne = [&](Value x, const Piece &piece) {
    k.storePart(k.keepLanes(x, piece.kept), memory.out, piece.at, piece.stored);
  };
  if (!makesBytes()) {
    for (const Piece &piece : pieces)
      storeOne(apply(k, piece, memory, shared), piece);
    return;
  }
  for (; !pieces.empty();
       pieces = pieces.drop_front(std::min<size_t>(4, pieces.size()))) {
    ArrayRef<Piece> four = pieces.take_front(4);
    Values y;
    for (const Piece &piece : four)
      y.push_back(apply(k, piece, memory, shared));
    y.resize(4, y[0]);
    Value bytes = bytesOf(k, y, shared);
    // As many at a time as follow each other: four, two or one.
    for (size_t i = 0, count; i < four.size(); i += count) {
      count = 1;
      while (i % (2 * count) == 0 && i + 2 * count <= four.size() &&
             llvm::all_of(llvm::seq(i, i + 2 * count - 1), [&](size_t at) {
               return areAdjacent(four[at], four[at + 1], k.VL);
             }))
        count *= 2;
      int64_t lanes = int64_t(count) * k.VL;
      Value x = bytes;
      if (count < 4)
        x = vector::ExtractStridedSliceOp::create(
            k.b, bytes, {int64_t(i) * k.VL}, {lanes}, {1});
      if (count > 1)
        k.store(x, memory.out, four[i].at);
      else
        storeOne(x, four[i]);
    }
  }
}
