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
#include <vector>

using namespace mlir;
using namespace nnv12;
using plan::Narrowing;

namespace {
/// The elements of a constant, of which copies are rounded.
class Rounder {
public:
  Rounder(Value constant, std::optional<unsigned> outputs)
      : type(nn::typeOf(constant)), data(*nn::ConstantData::get(constant)),
        values(reinterpret_cast<const float *>(data.bytes().data()),
               data.bytes().size() / sizeof(float)),
        outputs(outputs), numbers(values.size()) {}

  /// Null where a channel has no scale, or their error is more than `most`.
  ElementsAttr toMultiples(double most) {
    unsigned axis = narrowGrid(type, Narrowing::q8)->axis;
    Channels channels(type, axis, values.data());
    std::optional<SmallVector<float>> scales = channels.scales(nearScale);
    if (!scales)
      return {};
    double errors = 0;
    for (auto [channel, scale] : llvm::enumerate(*scales)) {
      double differences = 0, squares = 0;
      channels.pieces(channel, [&, scale = scale](int64_t first, int64_t n) {
        for (int64_t i = first; i < first + n; ++i) {
          numbers[i] = multiplesAround(values[i], scale);
          double difference = double(numbers[i].near) - values[i];
          differences += difference * difference;
          squares += double(values[i]) * values[i];
        }
      });
      errors += squares > 0 ? differences / squares : 0;
    }
    bool isNear = std::sqrt(errors / double(scales->size())) <= most;
    return isNear ? rounded() : ElementsAttr();
  }

  /// Null where a value is beyond the largest half, or most are so small that
  /// halves have few digits for them.
  ElementsAttr toHalves() {
    constexpr double most = 1.0 / 2048;
    if (!llvm::all_of(values,
                      [](float x) { return std::fabs(x) <= largestHalf; }))
      return {};
    double differences = 0, squares = 0;
    for (auto [value, around] : llvm::zip_equal(values, numbers)) {
      around = halvesAround(value);
      double difference = double(around.near) - value;
      differences += difference * difference;
      squares += double(value) * value;
    }
    bool isNear = differences <= most * most * squares;
    return isNear ? rounded() : ElementsAttr();
  }

private:
  /// The values by `numbers`.
  ElementsAttr rounded() {
    return nn::makeConstant(data.type(), [&](MutableArrayRef<char> bytes) {
      MutableArrayRef<float> to(reinterpret_cast<float *>(bytes.data()),
                                values.size());
      if (outputs)
        return keepSums(to);
      for (auto [around, near] : llvm::zip_equal(numbers, to))
        near = around.near;
    });
  }

  /// Outputs that lie side by side are read together: a cache line at a time.
  void keepSums(MutableArrayRef<float> to) {
    constexpr int64_t atOnce = 16;
    Channels channels(type, *outputs, values.data());
    int64_t count = type.getDimSize(*outputs);
    for (int64_t begin = 0; begin < count; begin += atOnce) {
      int64_t end = std::min(begin + atOnce, count);
      std::vector<float> from[atOnce], found[atOnce];
      std::vector<Neighbours> around[atOnce];
      channels.pieces(begin, end, [&](int64_t channel, int64_t i, int64_t n) {
        int64_t output = channel - begin;
        llvm::append_range(from[output], values.slice(i, n));
        llvm::append_range(around[output], ArrayRef(numbers).slice(i, n));
      });
      for (int64_t output = 0; output < end - begin; ++output) {
        found[output].resize(from[output].size());
        roundKeepingSum(from[output].data(), around[output].data(),
                        found[output].data(), found[output].size());
      }
      size_t next[atOnce] = {};
      channels.pieces(begin, end, [&](int64_t channel, int64_t i, int64_t n) {
        int64_t output = channel - begin;
        std::copy_n(&found[output][next[output]], n, &to[i]);
        next[output] += size_t(n);
      });
    }
  }

  RankedTensorType type;
  nn::ConstantData data;
  ArrayRef<float> values;
  std::optional<unsigned> outputs;
  std::vector<Neighbours> numbers; ///< by values
};
} // namespace

ElementsAttr nnv12::nearWeights(Value constant, WeightBits bits,
                                std::optional<unsigned> outputs) {
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
  Rounder rounder(constant, outputs);
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
