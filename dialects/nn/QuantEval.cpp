//===- QuantEval.cpp - Quantisation of constants --------------------------===//

#include "dialects/nn/QuantEval.h"

#include "dialects/nn/ElementBlocks.h"
#include "dialects/nn/Layout.h"

#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// f(input, scale, zero) for all elements, which are loaded as doubles.
template <typename Function>
static ElementsAttr
evalEach(const ConstantData &input, const ConstantData &scale,
         const ConstantData *zero, RankedTensorType type, Function f) {
  SmallVector<const ConstantData *, 3> operands = {&input, &scale};
  if (zero)
    operands.push_back(zero);
  return evalBlocks(
      operands, type, /*asFloat=*/true, /*storesFloat=*/true,
      [&](MutableArrayRef<ElementBlock> blocks, int64_t n) {
        for (int64_t i = 0; i < n; ++i)
          blocks[0].floats[i] =
              f(blocks[0].floats[i], static_cast<float>(blocks[1].floats[i]),
                zero ? blocks[2].floats[i] : 0.0);
      },
      Growth::any);
}

ElementsAttr nn::evalQuantize(const ConstantData &input,
                              const ConstantData &scale,
                              const ConstantData *zero, RankedTensorType type) {
  // The store clamps, and makes 0 of NaN.
  return evalEach(input, scale, zero, type, [](double x, float s, double z) {
    return std::nearbyint(double(static_cast<float>(x) / s)) + z;
  });
}

ElementsAttr nn::evalDequantize(const ConstantData &input,
                                const ConstantData &scale,
                                const ConstantData *zero,
                                RankedTensorType type) {
  auto wrapped = [](double difference) {
    return static_cast<int32_t>(static_cast<int64_t>(difference));
  };
  return evalEach(input, scale, zero, type,
                  [&](double x, float s, double z) -> double {
                    return static_cast<float>(wrapped(x - z)) * s;
                  });
}
