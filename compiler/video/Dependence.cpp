//===- Dependence.cpp - Which pixels a pixel depends on -------------------===//

#include "compiler/video/Dependence.h"

#include "dialects/nn/Box.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <numeric>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::video;

static ArrayRef<int64_t> shapeOf(Value value) {
  return nn::typeOf(value).getShape();
}

std::pair<int64_t, int64_t> Window::of(int64_t i) const {
  return {llvm::divideFloorSigned(i * num + low, den),
          llvm::divideFloorSigned(i * num + high, den)};
}

//===----------------------------------------------------------------------===//
// Planes
//===----------------------------------------------------------------------===//

/// The part of an operand that positions [lo, hi) of one dimension of a result
/// need.
static nn::Box needed(OpOperand &operand, unsigned result, unsigned dim,
                      int64_t lo, int64_t hi) {
  nn::Box part = nn::Box::whole(shapeOf(operand.getOwner()->getResult(result)));
  part.lo[dim] = lo;
  part.hi[dim] = hi;
  return nn::neededPart(operand, part, result);
}

/// Whether some position of a result's dimension `of` needs less of the
/// operand's dimension `dim` than all of the result.
static bool restricts(OpOperand &operand, unsigned result, unsigned of,
                      unsigned dim) {
  int64_t extent = shapeOf(operand.getOwner()->getResult(result))[of];
  nn::Box all = needed(operand, result, of, 0, extent);
  for (int64_t i : {int64_t(0), extent / 2, extent - 1}) {
    nn::Box box = needed(operand, result, of, i, i + 1);
    if (!box.isEmpty() && box.hi[dim] - box.lo[dim] < all.hi[dim] - all.lo[dim])
      return true;
  }
  return false;
}

/// The dimension of a result that goes along dimension `dim` of an operand, and
/// along dimension `other` not.
static std::optional<unsigned> along(OpOperand &operand, unsigned result,
                                     unsigned dim, unsigned other) {
  ArrayRef<int64_t> shape = shapeOf(operand.getOwner()->getResult(result));
  std::optional<unsigned> found;
  for (unsigned d = 0; d < shape.size(); ++d) {
    if (shape[d] < 2 || !restricts(operand, result, d, dim))
      continue;
    if (found || restricts(operand, result, d, other))
      return std::nullopt;
    found = d;
  }
  return found;
}

std::optional<Plane> Planes::planeOfResult(OpResult result) const {
  Operation *op = result.getOwner();
  for (OpOperand &operand : op->getOpOperands()) {
    std::optional<Plane> from = of(operand.get());
    if (!from)
      continue;
    unsigned number = result.getResultNumber();
    auto row = along(operand, number, from->row, from->column),
         column = along(operand, number, from->column, from->row);
    if (row && column)
      return Plane{*row, *column};
  }
  return std::nullopt;
}

/// An input has the plane that a window sees, behind layers that move its
/// elements.
void Planes::findInputs(func::FuncOp main) {
  // Backwards: an operand's plane by its result's.
  auto know = [&](Value value, Plane plane) {
    ArrayRef<int64_t> shape = shapeOf(value);
    if (shape[plane.row] > 1 && shape[plane.column] > 1)
      planes.try_emplace(value, plane);
  };
  for (Operation &op : llvm::reverse(main.getBody().front())) {
    if (auto windowed = dyn_cast<nn::Windowed>(&op)) {
      if (windowed.getKernel().size() == 2)
        know(op.getOperand(0), {2, 3});
      continue;
    }
    for (OpResult result : op.getResults()) {
      auto plane = of(result);
      if (!plane)
        continue;
      for (OpOperand &operand : op.getOpOperands()) {
        ArrayRef<int64_t> shape = shapeOf(operand.get());
        std::optional<unsigned> row, column;
        for (unsigned d = 0; d < shape.size(); ++d) {
          if (shape[d] < 2)
            continue;
          unsigned number = result.getResultNumber();
          bool byRow = restricts(operand, number, plane->row, d),
               byColumn = restricts(operand, number, plane->column, d);
          if (byRow && !byColumn)
            row = row ? unsigned(shape.size()) : d;
          if (byColumn && !byRow)
            column = column ? unsigned(shape.size()) : d;
        }
        if (row && column && *row < shape.size() && *column < shape.size())
          know(operand.get(), {*row, *column});
      }
    }
  }
  // Only those of inputs stand: a layer's follow from these.
  llvm::DenseMap<Value, Plane> inputs;
  for (Value input : main.getArguments())
    if (auto plane = of(input))
      inputs.insert({input, *plane});
  planes = std::move(inputs);
}

Planes::Planes(func::FuncOp main) {
  findInputs(main);
  for (Operation &op : main.getBody().front())
    for (OpResult result : op.getResults())
      if (auto plane = planeOfResult(result))
        planes.insert({result, *plane});
}

std::optional<Plane> Planes::of(Value value) const {
  auto it = planes.find(value);
  return it == planes.end() ? std::nullopt : std::optional(it->second);
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// The positions of an operand that a position of a result needs; none where
/// it is empty.
struct Needed {
  int64_t first, last;
};
} // namespace

/// The smallest of some windows that hold these ranges, by position of the
/// result.
static Window fit(ArrayRef<Needed> ranges, int64_t extent) {
  auto count = static_cast<int64_t>(ranges.size());
  Window best;
  int64_t bestWidth = -1;
  auto consider = [&](int64_t num, int64_t den) {
    Window window = {num, den, 0, 0};
    bool isFirst = true;
    for (auto [i, range] : llvm::enumerate(ranges)) {
      if (range.last < range.first)
        continue;
      // So that floor((i * num + low) / den) is at most the first one, and
      // floor((i * num + high) / den) at least the last one.
      int64_t at = static_cast<int64_t>(i) * num;
      int64_t low = range.first * den + den - 1 - at;
      int64_t high = range.last * den - at;
      if (isFirst) {
        window.low = low;
        window.high = high;
        isFirst = false;
      }
      window.low = std::min(window.low, low);
      window.high = std::max(window.high, high);
    }
    // The widest position, in sixteenths of a pixel.
    int64_t width = (window.high - window.low) * 16 / den;
    if (bestWidth < 0 || width < bestWidth) {
      best = window;
      bestWidth = width;
    }
  };
  int64_t common = std::gcd(extent, count);
  consider(extent / common, count / common);
  consider(1, 1);
  for (int64_t factor : {2, 3, 4, 8}) {
    consider(factor, 1);
    consider(1, factor);
  }
  return best;
}

std::optional<Window> video::windowAlong(OpOperand &operand, unsigned result,
                                         unsigned dim, unsigned operandDim,
                                         int64_t together) {
  int64_t count = shapeOf(operand.getOwner()->getResult(result))[dim];
  SmallVector<Needed> ranges;
  bool isNone = true;
  for (int64_t i = 0; i < count; ++i) {
    int64_t lo = i / together * together;
    nn::Box box =
        needed(operand, result, dim, lo, std::min(count, lo + together));
    isNone &= box.isEmpty();
    ranges.push_back(box.isEmpty()
                         ? Needed{0, -1}
                         : Needed{box.lo[operandDim], box.hi[operandDim] - 1});
  }
  if (isNone)
    return std::nullopt;
  return fit(ranges, shapeOf(operand.get())[operandDim]);
}

Dependence video::dependence(OpOperand &operand, unsigned result,
                             const Planes &planes, int64_t together) {
  assert(together > 0 && "a position at least is computed");
  Dependence all;
  Dependence none = {Dependence::Kind::None};
  if (operand.get().getDefiningOp<nn::ConstantOp>())
    return none;
  auto from = planes.of(operand.get()),
       to = planes.of(operand.getOwner()->getResult(result));
  if (!from || !to)
    return all;
  auto rows = windowAlong(operand, result, to->row, from->row, together),
       columns =
           windowAlong(operand, result, to->column, from->column, together);
  if (!rows || !columns)
    return none;
  return {Dependence::Kind::Window, *rows, *columns};
}
