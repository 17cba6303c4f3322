//===- NearWeights.cpp - Weights that fewer bits hold nearly -----------===//

#include "compiler/weights/NearWeights.h"

#include "compiler/weights/Channels.h"
#include "compiler/weights/Exact.h"
#include "compiler/weights/Narrow.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Layout.h"

#include <cassert>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace nnv12;
using plan::Narrowing;

namespace {
/// The elements of a constant, of which copies are rounded.
class Rounder {
public:
  explicit Rounder(Value constant)
      : type(nn::typeOf(constant)), data(*nn::ConstantData::get(constant)),
        values(reinterpret_cast<const float *>(data.bytes().data()),
               data.bytes().size() / sizeof(float)) {}

  /// Null where a channel has no scale, or their error is more than `most`.
  ElementsAttr toMultiples(double most) {
    unsigned axis = narrowGrid(type, Narrowing::q8)->axis;
    Channels channels(type, axis, values.data());
    std::optional<SmallVector<float>> scales = channels.scales(nearScale);
    if (!scales)
      return {};
    double errors = 0;
    ElementsAttr result = rounded([&](MutableArrayRef<float> to) {
      for (auto [channel, scale] : llvm::enumerate(*scales)) {
        double differences = 0, squares = 0;
        channels.pieces(channel, [&, scale = scale](int64_t first, int64_t n) {
          for (int64_t i = first; i < first + n; ++i) {
            to[i] = nearestMultiple(values[i], scale);
            double difference = double(to[i]) - values[i];
            differences += difference * difference;
            squares += double(values[i]) * values[i];
          }
        });
        errors += squares > 0 ? differences / squares : 0;
      }
    });
    bool isNear = std::sqrt(errors / double(scales->size())) <= most;
    return isNear ? result : ElementsAttr();
  }

  /// Null where a value is beyond the largest half, or most are so small that
  /// halves have few digits for them.
  ElementsAttr toHalves() {
    constexpr double most = 1.0 / 2048;
    if (!llvm::all_of(values,
                      [](float x) { return std::fabs(x) <= largestHalf; }))
      return {};
    double differences = 0, squares = 0;
    ElementsAttr result = rounded([&](MutableArrayRef<float> to) {
      for (auto [from, near] : llvm::zip_equal(values, to)) {
        near = nearestHalfAsFloat(from);
        double difference = double(near) - from;
        differences += difference * difference;
        squares += double(from) * from;
      }
    });
    return differences <= most * most * squares ? result : ElementsAttr();
  }

private:
  ElementsAttr rounded(llvm::function_ref<void(MutableArrayRef<float>)> fill) {
    return nn::makeConstant(data.type(), [&](MutableArrayRef<char> bytes) {
      fill({reinterpret_cast<float *>(bytes.data()), values.size()});
    });
  }

  RankedTensorType type;
  nn::ConstantData data;
  ArrayRef<float> values;
};
} // namespace

ElementsAttr nnv12::nearWeights(Value constant, WeightBits bits) {
  RankedTensorType type = nn::typeOf(constant);
  auto isWorth = [&](Narrowing narrowing) {
    return isWorthNarrowing(type, narrowing);
  };
  if (bits == WeightBits::F32 ||
      !(isWorth(Narrowing::q8) || isWorth(Narrowing::f16)))
    return {};
  std::optional<Narrowing> exact = worthNarrowing(constant);
  if (exact == Narrowing::q8 || (exact && bits == WeightBits::F16))
    return {};
  Rounder rounder(constant);
  if (bits != WeightBits::F16 && isWorth(Narrowing::q8)) {
    double most = bits == WeightBits::Auto
                      ? smallWeightError
                      : std::numeric_limits<double>::infinity();
    if (ElementsAttr found = rounder.toMultiples(most))
      return found;
  }
  if (exact || !isWorth(Narrowing::f16))
    return {};
  return rounder.toHalves();
}
