//===- Counted.cpp - Elements whose number only a run tells ---------------===//

#include "compiler/import/Counted.h"
#include "compiler/import/RunTimeNumbers.h"

#include <cassert>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

static Value iota(LayerBuilder &b, int64_t size) {
  return b.generate({size}, b.i64(), [](int64_t i) { return double(i); });
}

Value importer::atMost(LayerBuilder &b, Value count, int64_t most) {
  count = b.cast(b.reshape(count, {}), b.i64());
  if (auto limit = knownLimit(b, count, 0); limit && *limit <= most)
    return count;
  return b.binary(BinaryKind::min, count, double(most));
}

ImportValue importer::select(LayerBuilder &b, Value mask) {
  int64_t size = b.size(mask);
  ImportValue v(ImportValue::Columns, {});
  v.mask = b.cast(mask, b.i1());
  Value flat = b.reshape(v.mask, {size});
  Value numbers = b.cast(flat, b.i64());
  v.count = atMost(b, b.reduce(ReduceKind::sum, numbers, {0}, false), size);
  Value before = b.create<nn::CumSumOp>(
      {numbers},
      {b.attr("axis", 0), b.flag("exclusive", true), b.flag("reverse", false)});
  // Elements that are not selected go to one place behind the others.
  Value target = b.select(flat, before, b.scalar(b.i64(), double(size)));
  Value places = b.create<nn::ScatterElementsOp>(
      {b.splat({size + 1}, b.i64(), 0), target, iota(b, size)},
      {b.attr("axis", 0), b.kind<nn::ScatterReductionAttr>(
                              "reduction", nn::ScatterReduction::none)});
  v.places = b.slice(places, 0, 0, size);
  return v;
}

/// The selected slices of `all` along dimension 0.
static ImportValue picked(LayerBuilder &b, const ImportValue &v) {
  Ints s = b.shape(v.all);
  if (b.failed())
    return {};
  s.erase(s.begin(), s.begin() + b.rank(v.mask));
  s.insert(s.begin(), b.size(v.mask));
  return ImportValue::counted(b.gather(b.reshape(v.all, s), v.places, 0), 0,
                              v.count);
}

ImportValue importer::compact(LayerBuilder &b, Value all, Value mask,
                              int64_t axis) {
  int64_t rank = b.rank(all);
  ImportValue places = select(b, mask);
  if (b.failed())
    return {};
  Ints perm = llvm::to_vector(llvm::seq<int64_t>(rank)), back(rank);
  std::rotate(perm.begin(), perm.begin() + axis, perm.begin() + axis + 1);
  for (auto [i, p] : llvm::enumerate(perm))
    back[p] = i;
  Value front = b.transpose(all, perm);
  ImportValue v = picked(b, places.as(ImportValue::Picked, front));
  if (b.failed())
    return {};
  return ImportValue::counted(b.transpose(v.all, back), axis, v.count);
}

/// Indices into a tensor of the mask's shape, along `axis` of the result, whose
/// other dimension is the counted one.
static ImportValue indices(LayerBuilder &b, const ImportValue &v,
                           int64_t axis) {
  Values parts;
  int64_t stride = b.size(v.mask);
  for (int64_t size : b.shape(v.mask)) {
    size = std::max<int64_t>(size, 1);
    stride = std::max<int64_t>(stride / size, 1);
    Value index = b.binary(BinaryKind::mod, b.div(v.places, double(stride)),
                           double(size));
    parts.push_back(b.unsqueeze(index, {axis}));
  }
  if (b.failed())
    return {};
  return ImportValue::counted(b.concat(parts, axis), 1 - axis, v.count);
}

ImportValue importer::toCounted(LayerBuilder &b, const ImportValue &value) {
  assert(value.hasRunTimeSize() && "others are tensors");
  switch (value.kind) {
  case ImportValue::Columns:
    return indices(b, value, 0);
  case ImportValue::Rows:
    return indices(b, value, 1);
  case ImportValue::Picked:
    return picked(b, value);
  default:
    return value;
  }
}

Value importer::positions(LayerBuilder &b, const ImportValue &value) {
  Ints s(std::max<int64_t>(b.rank(value.all), 1), 1);
  int64_t size = b.dim(value.all, value.axis);
  if (b.failed())
    return {};
  s[value.axis] = size;
  return b.reshape(iota(b, size), s);
}

Value importer::countingMask(LayerBuilder &b, const ImportValue &value) {
  return b.binary(BinaryKind::less, positions(b, value), value.count);
}

Value importer::fill(LayerBuilder &b, const ImportValue &value,
                     double padding) {
  return fill(b, value, b.scalar(b.elem(value.all), padding));
}

Value importer::fill(LayerBuilder &b, const ImportValue &value, Value padding) {
  return b.select(countingMask(b, value), value.all, padding);
}

double importer::emptyMaximum(Type type, bool isMaximum) {
  if (isa<FloatType>(type))
    return isMaximum ? -std::numeric_limits<double>::infinity()
                     : std::numeric_limits<double>::infinity();
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 1 || type.isUnsignedInteger())
    return isMaximum ? 0 : std::ldexp(1.0, width) - (width < 64);
  return isMaximum ? -std::ldexp(1.0, width - 1)
                   : std::ldexp(1.0, width - 1) - (width < 64);
}

Value importer::commonElement(LayerBuilder &b, const ImportValue &value) {
  if (!value.isCounted() || b.failed())
    return {};
  Value v = value.all;
  while (b.size(v) != 1 &&
         isa_and_nonnull<nn::ReshapeOp, nn::BroadcastOp>(v.getDefiningOp()))
    v = v.getDefiningOp()->getOperand(0);
  if (b.size(v) == 1)
    return b.reshape(v, {});
  auto data = b.data(v);
  std::optional<double> splat = data ? data->splat() : std::nullopt;
  return splat ? b.scalar(b.elem(v), *splat) : Value();
}

std::optional<CountedShape> importer::countedShape(LayerBuilder &b,
                                                   Value shape) {
  if (b.failed() || b.isFloat(shape) || b.rank(shape) != 1)
    return std::nullopt;
  CountedShape result{{}, -1, {}};
  for (int64_t i = 0; i < b.size(shape); ++i) {
    std::optional<int64_t> size = knownElement(b, shape, i);
    if (!size) {
      size = knownLimit(b, shape, i);
      if (!size || *size < 0 || result.axis >= 0)
        return std::nullopt;
      result.axis = i;
      result.count = atMost(b, b.slice(shape, 0, i, 1), *size);
    }
    result.sizes.push_back(*size);
  }
  return result.axis < 0 ? std::nullopt : std::optional(result);
}
