//===- Narrow.cpp - Weights stored in fewer bits --------------------------===//

#include "compiler/weights/Narrow.h"

#include "compiler/weights/Channels.h"
#include "compiler/weights/Exact.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Layout.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <cstring>

using namespace mlir;
using namespace nnv12;
using plan::Narrowing;

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

/// A unit has the elements at one index of the axis `outer`, and so many
/// scales.
static NarrowGrid gridOf(const nn::Layout &layout,
                         const nn::Layout::Axis &outer, int64_t lanes) {
  NarrowGrid grid;
  grid.axis = outer.dim;
  grid.lanes = lanes;
  grid.sets = outer.extent;
  grid.length = outer.stride;
  grid.units = layout.size() / grid.length;
  return grid;
}

/// Units that have a scale for each element of the innermost block.
static std::optional<NarrowGrid> panels(const nn::Layout &layout) {
  ArrayRef<nn::Layout::Axis> axes = layout.axes();
  const nn::Layout::Axis &inner = axes.back();
  int64_t block = layout.block(inner.dim);
  if (block != NarrowGrid::panelLanes)
    return std::nullopt;
  const auto *outer = llvm::find_if(axes, [&](const nn::Layout::Axis &axis) {
    return axis.dim == inner.dim && axis.step == block;
  });
  assert(outer != axes.end() && "a blocked dimension has two axes");
  return gridOf(layout, *outer, block);
}

/// Units that have one scale each, of a dimension in blocks or without.
static NarrowGrid rows(const nn::Layout &layout, unsigned dim) {
  auto axisOf = [&](int64_t step) {
    return *llvm::find_if(layout.axes(), [&](const nn::Layout::Axis &axis) {
      return axis.dim == dim && axis.step == step;
    });
  };
  nn::Layout::Axis inner = axisOf(1), outer = axisOf(layout.block(dim));
  NarrowGrid grid = gridOf(layout, inner, /*lanes=*/1);
  if (layout.block(dim) > 1) {
    grid.block = inner.extent;
    grid.sets = outer.extent * inner.extent;
    grid.blockUnits = outer.stride / grid.length;
  }
  return grid;
}

/// Units with the scales of the output channels, which are panels or else the
/// outermost dimension.
static std::optional<NarrowGrid> outputs(const nn::Layout &layout) {
  if (std::optional<NarrowGrid> grid = panels(layout))
    return grid;
  const nn::Layout::Axis &outer = layout.axes().front();
  if (outer.step != 1)
    return std::nullopt;
  return rows(layout, outer.dim);
}

/// Units with the scales of the input channels, the neighbour of the outputs'
/// dimension.
static std::optional<NarrowGrid> inputs(const nn::Layout &layout,
                                        unsigned rank) {
  std::optional<NarrowGrid> grid = outputs(layout);
  if (!grid || rank < 2)
    return std::nullopt;
  return rows(layout, grid->axis ? grid->axis - 1 : 1);
}

std::optional<NarrowGrid> nnv12::narrowGrid(RankedTensorType packed,
                                            Narrowing narrowing) {
  if (!packed.getElementType().isF32() || packed.getRank() == 0 ||
      packed.getNumElements() == 0)
    return std::nullopt;
  nn::Layout layout = nn::Layout::of(packed);
  if (narrowing == Narrowing::q8)
    return outputs(layout);
  std::optional<NarrowGrid> grid = NarrowGrid();
  if (narrowing == Narrowing::f16Outputs)
    grid = outputs(layout);
  else if (narrowing == Narrowing::f16Inputs)
    grid = inputs(layout, packed.getRank());
  else
    grid->length = layout.size();
  if (grid)
    grid->scaleSize = sizeof(double);
  return grid;
}

int64_t NarrowGrid::elementsAt() const {
  return llvm::alignTo(sets * lanes * scaleSize, 64);
}

Type nnv12::narrowElementType(MLIRContext *context, Narrowing narrowing) {
  return areHalves(narrowing) ? Type(Float16Type::get(context))
                              : IntegerType::get(context, 8);
}

unsigned nnv12::narrowElementSize(Narrowing narrowing) {
  return areHalves(narrowing) ? sizeof(uint16_t) : sizeof(int8_t);
}

int64_t nnv12::narrowBytes(RankedTensorType packed, Narrowing narrowing) {
  std::optional<NarrowGrid> grid = narrowGrid(packed, narrowing);
  assert(grid && "the layout has narrow weights");
  return grid->elementsAt() + grid->elements() * narrowElementSize(narrowing);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {
/// The elements of a constant that has a grid.
struct Elements {
  std::optional<NarrowGrid> grid;
  RankedTensorType type;
  std::optional<nn::ConstantData> constant;
  ArrayRef<float> values;

  Elements(Value value, Narrowing narrowing)
      : grid(narrowGrid(nn::typeOf(value), narrowing)),
        type(nn::typeOf(value)) {
    if (!grid || !(constant = nn::ConstantData::get(value)))
      return;
    ArrayRef<char> bytes = constant->bytes();
    values = {reinterpret_cast<const float *>(bytes.data()),
              bytes.size() / sizeof(float)};
  }
  bool areExactHalves() const {
    return !values.empty() &&
           llvm::all_of(values, [](float x) { return exactHalf(x); });
  }
  template <typename Scale>
  std::optional<SmallVector<Scale>>
  scales(std::optional<Scale> (*find)(const float *, size_t)) const {
    if (values.empty())
      return std::nullopt;
    return Channels(type, grid->axis, values.data()).scales(find);
  }
};
} // namespace

/// The dense numbers in the places that the layout of `type` has for them.
static void packTo(RankedTensorType type, unsigned bits, const void *dense,
                   char *target) {
  Type element = IntegerType::get(type.getContext(), bits);
  nn::pack(RankedTensorType::get(type.getShape(), element, type.getEncoding()),
           static_cast<const char *>(dense), target);
}

/// Elements by `narrow` of a value and its channel's scale, which `find` finds.
template <typename Scale, typename Narrow>
static std::optional<std::vector<char>>
narrowedByScales(const Elements &from, Narrowing narrowing,
                 std::optional<Scale> (*find)(const float *, size_t),
                 Narrow (*narrow)(float, Scale)) {
  std::optional<SmallVector<Scale>> scales = from.scales(find);
  if (!scales)
    return std::nullopt;
  assert(sizeof(Scale) == from.grid->scaleSize &&
         sizeof(Narrow) == narrowElementSize(narrowing) &&
         int64_t(scales->size()) <= from.grid->sets * from.grid->lanes &&
         "there is a scale for each channel, and for padding");
  std::vector<Narrow> dense(from.values.size());
  Channels channels(from.type, from.grid->axis, from.values.data());
  for (auto [channel, scale] : llvm::enumerate(*scales))
    channels.pieces(channel, [&, scale = scale](int64_t first, int64_t size) {
      for (int64_t i = first; i < first + size; ++i)
        dense[i] = narrow(from.values[i], scale);
    });
  std::vector<char> result(narrowBytes(from.type, narrowing), 0);
  std::memcpy(result.data(), scales->data(), scales->size() * sizeof(Scale));
  packTo(from.type, 8 * sizeof(Narrow), dense.data(),
         result.data() + from.grid->elementsAt());
  return result;
}

static std::vector<char> narrowedToHalves(const Elements &from) {
  std::vector<uint16_t> dense;
  dense.reserve(from.values.size());
  for (float value : from.values)
    dense.push_back(nearestHalf(value));
  std::vector<char> result(narrowBytes(from.type, Narrowing::f16));
  packTo(from.type, 16, dense.data(), result.data());
  return result;
}

bool nnv12::fitHalves(Value constant) {
  Elements from(constant, Narrowing::f16);
  return !from.values.empty() &&
         fitHalves(from.values.data(), from.values.size());
}

std::optional<std::vector<char>> nnv12::narrowed(Value constant,
                                                 Narrowing narrowing) {
  Elements from(constant, narrowing);
  switch (narrowing) {
  case Narrowing::q8:
    return narrowedByScales(from, narrowing, exactScale, quantized);
  case Narrowing::f16Outputs:
  case Narrowing::f16Inputs:
    return narrowedByScales(from, narrowing, exactHalfScale, scaledHalf);
  case Narrowing::f16:
    if (!from.areExactHalves())
      return std::nullopt;
    [[fallthrough]];
  case Narrowing::rounded:
    return narrowedToHalves(from);
  }
  llvm_unreachable("all narrowings are there");
}

bool nnv12::canNarrow(Value constant, Narrowing narrowing) {
  assert(isExact(narrowing) && "any number can be rounded");
  Elements from(constant, narrowing);
  switch (narrowing) {
  case Narrowing::q8:
    return from.scales(exactScale).has_value();
  case Narrowing::f16Outputs:
  case Narrowing::f16Inputs:
    return from.scales(exactHalfScale).has_value();
  default:
    return from.areExactHalves();
  }
}

bool nnv12::isWorthNarrowing(RankedTensorType packed, Narrowing narrowing) {
  constexpr int64_t leastSaved = 2048;
  return narrowGrid(packed, narrowing) &&
         narrowBytes(packed, narrowing) + leastSaved <= nn::storageSize(packed);
}

std::optional<Narrowing> nnv12::worthNarrowing(Value constant) {
  RankedTensorType type = nn::typeOf(constant);
  SmallVector<Narrowing, 2> all;
  for (Narrowing narrowing : {Narrowing::q8, Narrowing::f16,
                              Narrowing::f16Outputs, Narrowing::f16Inputs})
    if (isWorthNarrowing(type, narrowing))
      all.push_back(narrowing);
  llvm::stable_sort(all, [&](Narrowing a, Narrowing b) {
    return narrowBytes(type, a) < narrowBytes(type, b);
  });
  for (Narrowing narrowing : all)
    if (canNarrow(constant, narrowing))
      return narrowing;
  return std::nullopt;
}
