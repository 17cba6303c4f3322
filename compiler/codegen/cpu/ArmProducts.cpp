//===- ArmProducts.cpp - Sums of products of bytes, AArch64 ---------------===//

#include "compiler/codegen/cpu/ArmProducts.h"

#include "compiler/codegen/cpu/DotProduct.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <limits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

/// Outputs of a panel, and of a register.
static constexpr int64_t panelOutputs = 16, registerLanes = 4,
                         panelVectors = panelOutputs / registerLanes;
/// Bytes of a register, of a quad, and of a panel's weights for a quad.
static constexpr int64_t vectorBytes = 16, quadBytes = 4,
                         quadWeights = quadBytes * panelOutputs;

static int64_t panelOf(int64_t vector) { return vector / panelVectors; }

ArmProducts::Way ArmProducts::wayOf(const Target &target) {
  if (target.has("i8mm"))
    return Way::matrices;
  return target.has("dotprod") ? Way::dots : Way::words;
}

ArmProducts::ArmProducts(KernelBuilder &k, int64_t positions, int64_t first,
                         int64_t count, bool areFlipped)
    : k(k), way(wayOf(k.target)), positions(positions), first(first),
      width(count), areFlipped(areFlipped) {
  assert((!areFlipped || canFlip(k.target)) && "others flip by themselves");
  assert(k.VL == registerLanes && "registers have 128 bits");
}

int64_t ArmProducts::mostVectors(const Target &target, int64_t positions) {
  // Products of matrices take a panel and a half at a time: inputs have to be
  // paired, and more products share that. Other ways have tiles that fit.
  return wayOf(target) == Way::matrices
             ? std::max<int64_t>(1, 24 / int64_t(llvm::alignTo(positions, 2)))
             : std::numeric_limits<int64_t>::max();
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// A register's bits as elements of another type.
static Value bitsAs(KernelBuilder &k, Value x, Type element) {
  int64_t count = 8 * vectorBytes / element.getIntOrFloatBitWidth();
  return vector::BitCastOp::create(k.b, k.vec(count, element), x);
}

static Value shuffled(KernelBuilder &k, Value x, Value y,
                      ArrayRef<int64_t> from) {
  return vector::ShuffleOp::create(k.b, x, y, from);
}

/// A quad in all lanes.
static Value quadOf(KernelBuilder &k, Value bytes, int64_t quad) {
  Value quads = bitsAs(k, bytes, k.b.getI32Type());
  quads = shuffled(k, quads, quads, SmallVector<int64_t>(registerLanes, quad));
  return bitsAs(k, quads, k.b.getI8Type());
}

/// The lower half of both, or the upper one, of 64 bits.
static Value halvesOf(KernelBuilder &k, Value x, Value y, bool isUpper) {
  Type type = cast<VectorType>(x.getType()).getElementType(),
       i64 = k.b.getI64Type();
  Value halves =
      isUpper ? shuffled(k, bitsAs(k, x, i64), bitsAs(k, y, i64), {1, 3})
              : shuffled(k, bitsAs(k, x, i64), bitsAs(k, y, i64), {0, 2});
  return bitsAs(k, halves, type);
}

/// Lanes of 32 bits of x and y by turns, out of the lower half of both or the
/// upper one.
static Value turnsOf(KernelBuilder &k, Value x, Value y, bool isUpper) {
  Type type = cast<VectorType>(x.getType()).getElementType(),
       i32 = k.b.getI32Type();
  Value turns =
      isUpper ? shuffled(k, bitsAs(k, x, i32), bitsAs(k, y, i32), {2, 6, 3, 7})
              : shuffled(k, bitsAs(k, x, i32), bitsAs(k, y, i32), {0, 4, 1, 5});
  return bitsAs(k, turns, type);
}

//===----------------------------------------------------------------------===//
// Forms of sums
//===----------------------------------------------------------------------===//

int64_t ArmProducts::registers() const {
  switch (way) {
  case Way::dots:
    return positions * width;
  case Way::words:
    return 2 * positions * width;
  case Way::matrices:
    return llvm::alignTo(positions, 2) * width;
  }
  llvm_unreachable("all ways are listed");
}

Values ArmProducts::enter(const Values &sums) const {
  Values result;
  if (way == Way::dots)
    return sums;
  if (way == Way::words) {
    // Each sum is that of two lanes.
    Value none = k.iconst(0, sums[0].getType());
    for (Value sum : sums)
      for (bool isUpper : {false, true})
        result.push_back(turnsOf(k, sum, none, isUpper));
    return result;
  }
  // A register has two outputs of a position and the same two of the next one.
  for (int64_t p = 0; p < positions; p += 2)
    for (int64_t j = 0; j < width; ++j) {
      int64_t next = std::min(p + 1, positions - 1);
      for (bool isUpper : {false, true})
        result.push_back(
            halvesOf(k, sums[p * width + j], sums[next * width + j], isUpper));
    }
  return result;
}

Values ArmProducts::leave(const Values &registers) const {
  if (way == Way::dots)
    return registers;
  Values result(positions * width);
  for (int64_t p = 0; p < positions; ++p)
    for (int64_t j = 0; j < width; ++j) {
      Value &sum = result[p * width + j];
      if (way == Way::words) {
        Value low = registers[2 * (p * width + j)],
              high = registers[2 * (p * width + j) + 1];
        sum = callIntrinsic(k, "llvm.aarch64.neon.addp", {low, high},
                            low.getType());
      } else {
        size_t at = 2 * (p / 2 * width + j);
        sum = halvesOf(k, registers[at], registers[at + 1], p % 2);
      }
    }
  return result;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

Values ArmProducts::steps(Values registers, int64_t count, Inputs x,
                          Weights w) const {
  assert(count >= 1 && count <= 4 && "a register has four quads");
  switch (way) {
  case Way::dots:
    return dotSteps(std::move(registers), count, x, w);
  case Way::words:
    return wordSteps(std::move(registers), count, x, w);
  case Way::matrices:
    return matrixSteps(std::move(registers), count, x, w);
  }
  llvm_unreachable("all ways are listed");
}

Values ArmProducts::dotSteps(Values sums, int64_t count, Inputs x,
                             Weights w) const {
  Values inputs;
  for (int64_t p = 0; p < positions; ++p) {
    Value bytes = x(p, count);
    inputs.push_back(
        areFlipped ? bytes : k.bitXor(bytes, k.iconst(-128, bytes.getType())));
  }
  for (int64_t quad = 0; quad < count; ++quad)
    for (int64_t j = 0; j < width; ++j) {
      Value weights =
          w(panelOf(first + j),
            quad * quadWeights + (first + j) % panelVectors * vectorBytes);
      for (int64_t p = 0; p < positions; ++p) {
        Value &sum = sums[p * width + j];
        sum = callIntrinsic(k, "llvm.aarch64.neon.sdot",
                            {sum, weights, quadOf(k, inputs[p], quad)},
                            sum.getType());
      }
    }
  return sums;
}

/// (x - 128) * w of the first, third quad, less (127 - x) * w of the second,
/// fourth: such a difference is at most 32,640, which 16 bits hold, where two
/// products of (x - 128) * w may be 32,768.
Values ArmProducts::wordSteps(Values sums, int64_t count, Inputs x,
                              Weights w) const {
  VectorType words = k.vec(8, k.b.getI16Type());
  auto half = [&](Value bytes, bool isUpper) -> Value {
    return vector::ExtractStridedSliceOp::create(k.b, bytes, {isUpper ? 8 : 0},
                                                 {8}, {1});
  };
  auto product = [&](Value a, Value b, bool isUpper) {
    return callIntrinsic(k, "llvm.aarch64.neon.smull",
                         {half(a, isUpper), half(b, isUpper)}, words);
  };
  // In the bytes of one quad and of the next.
  int32_t flips[] = {int32_t(0x80808080), 0x7f7f7f7f, int32_t(0x80808080),
                     0x7f7f7f7f};
  VectorType quads = k.vec(registerLanes, k.b.getI32Type());
  Value mask = arith::ConstantOp::create(
      k.b, DenseElementsAttr::get(quads, ArrayRef<int32_t>(flips)));
  mask = bitsAs(k, mask, k.b.getI8Type());
  Values inputs;
  for (int64_t p = 0; p < positions; ++p)
    inputs.push_back(k.bitXor(x(p, count), mask));
  for (int64_t quad = 0; quad < count; quad += 2) {
    bool isPair = quad + 1 < count;
    Values even, odd;
    for (Value bytes : inputs) {
      even.push_back(quadOf(k, bytes, quad));
      odd.push_back(isPair ? quadOf(k, bytes, quad + 1) : Value());
    }
    for (int64_t j = 0; j < width; ++j) {
      int64_t panel = panelOf(first + j),
              at =
                  quad * quadWeights + (first + j) % panelVectors * vectorBytes;
      Value first = w(panel, at),
            second = isPair ? w(panel, at + quadWeights) : Value();
      for (int64_t p = 0; p < positions; ++p)
        for (bool isUpper : {false, true}) {
          Value &sum = sums[2 * (p * width + j) + isUpper];
          Value pair = product(first, even[p], isUpper);
          if (second)
            pair = arith::SubIOp::create(k.b, pair,
                                         product(second, odd[p], isUpper));
          pair = callIntrinsic(k, "llvm.aarch64.neon.saddlp", {pair},
                               sum.getType());
          sum = arith::AddIOp::create(k.b, sum, pair);
        }
    }
  }
  return sums;
}

/// Two positions by two outputs by two quads are an instruction.
Values ArmProducts::matrixSteps(Values sums, int64_t count, Inputs x,
                                Weights w) const {
  Values inputs;
  for (int64_t p = 0; p < positions; ++p)
    inputs.push_back(x(p, count));
  for (int64_t quad = 0; quad < count; quad += 2) {
    Values pairs;
    for (int64_t p = 0; p < positions; p += 2)
      pairs.push_back(halvesOf(
          k, inputs[p], inputs[std::min(p + 1, positions - 1)], quad > 0));
    for (int64_t j = 0; j < 2 * width; ++j) {
      int64_t half = 2 * first + j; // two outputs
      Value weights =
          w(panelOf(half / 2),
            quad * quadWeights + half % (2 * panelVectors) * vectorBytes);
      for (size_t p = 0; p < pairs.size(); ++p) {
        Value &sum = sums[2 * int64_t(p) * width + j];
        sum = callIntrinsic(k, "llvm.aarch64.neon.usmmla",
                            {sum, pairs[p], weights}, sum.getType());
      }
    }
  }
  return sums;
}

//===----------------------------------------------------------------------===//
// Prepared weights
//===----------------------------------------------------------------------===//

int64_t ArmProducts::preparedBytes(const Target &target, int64_t panels,
                                   int64_t size) {
  return panels * (movesWeights(target)
                       ? size
                       : panelOutputs * int64_t(sizeof(int32_t)));
}

/// The sums of a panel's outputs for x = 0, negated.
static void lackingSums(KernelBuilder &k, int64_t size, int64_t run,
                        Value memory, Index at, Value scratch, Index to) {
  VectorType bytes = k.vec(vectorBytes, k.b.getI8Type());
  ArmProducts one(k, /*positions=*/1, /*first=*/0, panelVectors);
  Values zeros(panelVectors,
               k.iconst(0, k.vec(registerLanes, k.b.getI32Type())));
  Values sums = k.loop(
      0, size, run * quadWeights, one.enter(zeros),
      [&](Value i, ValueRange sums) {
        return one.steps(
            Values(sums), run,
            [&](int64_t, int64_t) { return k.iconst(0, bytes); },
            [&](int64_t, int64_t offset) {
              return k.load(memory, k.add(k.add(at, i), offset), vectorBytes);
            });
      });
  for (auto [j, sum] : llvm::enumerate(one.leave(sums))) {
    Value negated = arith::SubIOp::create(k.b, zeros[0], sum);
    k.store(bitsAs(k, negated, k.b.getI8Type()), scratch,
            k.add(to, int64_t(j) * vectorBytes));
  }
}

/// A panel [..][2 quads][16 outputs][4] as [..][16 outputs][8]: two quads of an
/// output side by side.
static void pairQuads(KernelBuilder &k, int64_t size, Value memory, Index at,
                      Value scratch, Index to) {
  k.loop(0, size, 2 * quadWeights, [&](Value i) {
    for (int64_t v = 0; v < quadWeights; v += vectorBytes) {
      auto load = [&](int64_t offset) {
        return k.load(memory, k.add(k.add(at, i), v + offset), vectorBytes);
      };
      Value first = load(0), second = load(quadWeights);
      for (bool isUpper : {false, true})
        k.store(turnsOf(k, first, second, isUpper), scratch,
                k.add(k.add(to, i), 2 * v + (isUpper ? vectorBytes : 0)));
    }
  });
}

void ArmProducts::prepare(KernelBuilder &k, const Panels &panels, Value scratch,
                          Index to) {
  assert(panels.size % (panels.run * quadWeights) == 0 && "blocks are whole");
  bool moves = movesWeights(k.target);
  assert((!moves || panels.run % 2 == 0) && "quads are pairs");
  int64_t each = preparedBytes(k.target, 1, panels.size);
  std::string name = "prepare_" + std::to_string(panels.size) + "_" +
                     std::to_string(panels.run);
  for (int64_t i = 0; i < panels.count; ++i)
    k.callMicroKernel(
        name, {panels.memory, scratch},
        {k.add(panels.at, k.mul(panels.distance, i)), k.add(to, i * each)},
        [&](ValueRange args) {
          if (moves)
            pairQuads(k, panels.size, args[0], args[2], args[1], args[3]);
          else
            lackingSums(k, panels.size, panels.run, args[0], args[2], args[1],
                        args[3]);
        });
}
