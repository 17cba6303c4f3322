//===- WidenTest.cpp - Narrow weights become the floats that they were ----===//

#include "compiler/codegen/cpu/Widen.h"
#include "KernelTest.h"

#include "compiler/weights/Narrow.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

#include <gtest/gtest.h>
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
  Bytes dense = toBytes(narrowFloats(type, narrowing));
  Bytes narrow = narrowedWeights(type, narrowing, dense);
  Bytes expected(nn::storageSize(type));
  nn::pack(type, dense.data(), expected.data());

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
      {narrow});
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
