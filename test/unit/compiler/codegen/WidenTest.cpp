//===- WidenTest.cpp - Narrow weights become the floats that they were ----===//

#include "compiler/codegen/cpu/Widen.h"
#include "KernelTest.h"

#include "compiler/weights/Narrow.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>
#ifdef __SSE__
#include <immintrin.h>
#endif

using namespace mlir;
using namespace nnv12;
using namespace nnv12::test;
using plan::Narrowing;

namespace {

struct Case {
  llvm::SmallVector<int64_t> shape;
  const char *tag;
};

/// Panels, with padding and without; rows and a rest of them; units that
/// are several tiles.
const Case cases[] = {{{40, 24, 3, 3}, "ABcd16b16a"},
                      {{24, 1, 3, 3}, "Abcd16a"},
                      {{70, 50}, "Ba16b"},
                      {{16, 2100, 1, 1}, "Abcd16a"},
                      {{3, 40, 2, 2}, "aBcd16b"},
                      {{9, 33}, ""},
                      {{3, 20000}, ""},
                      {{32, 5, 7}, ""},
                      {{5000}, ""}};

/// As sessions run kernels: denormals are zeros.
class FlushDenormals {
public:
#ifdef __SSE__
  FlushDenormals() : saved(_mm_getcsr()) { _mm_setcsr(saved | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(saved); }

private:
  unsigned saved;
#endif
};

/// Dense numbers that are narrow, of all sizes that such have.
std::vector<float> numbers(RankedTensorType type, Narrowing narrowing,
                           unsigned axis) {
  std::mt19937 random(5);
  int64_t inner = 1;
  for (int64_t extent : type.getShape().drop_front(axis + 1))
    inner *= extent;
  std::vector<float> values;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    if (narrowing == Narrowing::q8) {
      int64_t channel = i / inner % type.getDimSize(axis);
      float scale = std::ldexp(1 + 0.0123f * float(channel % 50),
                               int(channel % 240) - 125);
      values.push_back(float(int(random() % 256) - 128) * scale);
      continue;
    }
    if (narrowing != Narrowing::f16) {
      int64_t channel = i / inner % type.getDimSize(axis);
      double half = int(random() % 4096) - 2048;
      values.push_back(float(half * (0.01 + 0.0123 * double(channel % 50))));
      continue;
    }
    // Denormals among the halves, too, and both zeros.
    float value = std::ldexp(float(random() % 2048), -int(random() % 25));
    values.push_back(random() % 2 ? value : -value);
  }
  return values;
}

void check(const Case &c, Narrowing narrowing, StringRef target) {
  SCOPED_TRACE(target.str() + " " + c.tag + " of " +
               std::to_string(c.shape[0]));
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect>();
  auto typeIn = [&](MLIRContext &context) {
    return nn::withLayout(
        RankedTensorType::get(c.shape, Float32Type::get(&context)), c.tag);
  };
  RankedTensorType type = typeIn(context);
  auto grid = narrowGrid(type, narrowing);
  if (!grid && narrowing == Narrowing::f16Inputs)
    return; // in blocks, or there are none
  ASSERT_TRUE(grid);
  std::vector<float> dense = numbers(type, narrowing, grid->axis);
  OpBuilder builder(&context);
  Block block;
  builder.setInsertionPointToEnd(&block);
  Value constant = nn::ConstantOp::create(
      builder, builder.getUnknownLoc(), type,
      nn::makeConstant(nn::withLayout(type, ""),
                       {reinterpret_cast<const char *>(dense.data()),
                        dense.size() * sizeof(float)}));
  auto narrow = narrowed(constant, narrowing);
  ASSERT_TRUE(narrow);
  Bytes expected(nn::storageSize(type));
  nn::pack(type, reinterpret_cast<const char *>(dense.data()), expected.data());

  FlushDenormals flush;
  Bytes found = LayerKernel::runLone(
      target,
      [&](codegen::KernelBuilder &k) {
        RankedTensorType packed = typeIn(*k.b.getContext());
        Type bits = narrowElementType(k.b.getContext(), narrowing);
        return LayerKernel::Lone{
            codegen::emitWiden(k, packed, narrowing, "kernel"),
            {{nn::storageSize(packed), packed.getElementType()},
             {narrowBytes(packed, narrowing), bits}}};
      },
      {*narrow});
  EXPECT_TRUE(found == expected);
}

} // namespace

TEST(Widen, IntsBecomeTheirFloats) {
  for (const std::string &target : testTargets())
    for (const Case &c : cases)
      check(c, Narrowing::q8, target);
}

TEST(Widen, HalvesBecomeTheirFloats) {
  for (const std::string &target : testTargets())
    for (const Case &c : cases)
      check(c, Narrowing::f16, target);
}

TEST(Widen, ScaledHalvesBecomeTheirFloats) {
  for (const std::string &target : testTargets())
    for (const Case &c : cases)
      for (Narrowing narrowing : {Narrowing::f16Outputs, Narrowing::f16Inputs})
        check(c, narrowing, target);
}
