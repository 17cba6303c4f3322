//===- Moves.cpp - Which bytes of its operands a layer's result is --------===//

#include "compiler/verify/Moves.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;
using namespace nnv12;

namespace {

/// A loop over elements, and how far each step of it moves in two tensors.
struct Loop {
  int64_t extent, resultStride, sourceStride;
};

/// Where an element goes: along each dimension, index `i` of the smaller tensor
/// is index `start + step * i` of the larger one, of which it is a part.
struct Part {
  SmallVector<int64_t> starts, steps;
};

class Collector {
public:
  /// More than any plan that is a good one has.
  static constexpr size_t most = 1 << 16;

  /// Adds the moves between tensor `small` and the part of `large` that it is.
  /// `smallIsResult` says which of the two is the layer's result.
  bool add(unsigned operand, RankedTensorType small, RankedTensorType large,
           const Part &part, bool smallIsResult) {
    if (nn::layoutTag(small) != nn::layoutTag(large))
      return false;
    nn::Layout smallLayout = nn::Layout::of(small),
               largeLayout = nn::Layout::of(large);
    int64_t element = nn::storageElementSize(small.getElementType());
    if (smallLayout.size() == 0)
      return true;
    int64_t base = 0; // in the larger tensor
    SmallVector<Loop> loops;
    for (auto [a, b] :
         llvm::zip_equal(smallLayout.axes(), largeLayout.axes())) {
      int64_t start = part.starts[a.dim], step = part.steps[a.dim];
      int64_t block = smallLayout.block(a.dim);
      bool isOuter = a.step == block;
      if (block != 1) {
        int64_t end = start + small.getDimSize(a.dim);
        if (step != 1 || start % block ||
            (end % block && end != large.getDimSize(a.dim)))
          return false; // through a block
      }
      if (isOuter)
        base += start / block * b.stride * element;
      int64_t inSmall = a.stride * element, inLarge = step * b.stride * element;
      if (a.extent != 1)
        loops.push_back(smallIsResult ? Loop{a.extent, inSmall, inLarge}
                                      : Loop{a.extent, inLarge, inSmall});
    }
    int64_t whole = element; // bytes that stay together
    while (!loops.empty() && loops.back().resultStride == whole &&
           loops.back().sourceStride == whole)
      whole *= loops.pop_back_val().extent;
    return walk(loops, operand, smallIsResult ? 0 : base,
                smallIsResult ? base : 0, whole);
  }

  /// The moves, if each byte of the result is the target of one.
  std::optional<std::vector<Move>> finish(uint64_t size) {
    llvm::sort(moves, [](const Move &a, const Move &b) {
      return a.result < b.result;
    });
    uint64_t end = 0;
    for (const Move &move : moves) {
      if (move.result != end)
        return std::nullopt;
      end += move.size;
    }
    if (end != size)
      return std::nullopt;
    return std::move(moves);
  }

private:
  bool walk(ArrayRef<Loop> loops, unsigned operand, int64_t result,
            int64_t source, int64_t whole) {
    if (loops.empty()) {
      if (moves.size() == most)
        return false;
      moves.push_back(
          {uint64_t(result), operand, uint64_t(source), uint64_t(whole)});
      return true;
    }
    const Loop &loop = loops.front();
    for (int64_t i = 0; i < loop.extent; ++i)
      if (!walk(loops.drop_front(), operand, result + i * loop.resultStride,
                source + i * loop.sourceStride, whole))
        return false;
    return true;
  }

  std::vector<Move> moves;
};

} // namespace

/// Whether element i, row by row, lies at place i, and nothing else anywhere.
static bool liesFlat(RankedTensorType type) {
  if (nn::layoutTag(type).empty())
    return true;
  nn::Layout layout = nn::Layout::of(type);
  SmallVector<int64_t> strides = computeSuffixProduct(type.getShape());
  return layout.size() == type.getNumElements() &&
         llvm::all_of(layout.axes(), [&](const nn::Layout::Axis &axis) {
           return axis.extent <= 1 ||
                  axis.stride == strides[axis.dim] * axis.step;
         });
}

/// A reshape, a bitcast of whole bytes, or a change of layout: the same bytes
/// in the same order.
static bool addFlat(Operation *layer, Collector &moves) {
  auto in = nn::typeOf(layer->getOperand(0)),
       out = nn::typeOf(layer->getResult(0));
  if (!liesFlat(in) || !liesFlat(out))
    return false;
  auto flat = [](RankedTensorType type) {
    return RankedTensorType::get({type.getNumElements()},
                                 type.getElementType());
  };
  return moves.add(0, flat(out), flat(in), {{0}, {1}}, true);
}

static bool addSlice(nn::SliceOp slice, Collector &moves) {
  return moves.add(0, nn::typeOf(slice.getOutput()),
                   nn::typeOf(slice.getInput()),
                   {SmallVector<int64_t>(slice.getStarts()),
                    SmallVector<int64_t>(slice.getSteps())},
                   true);
}

static bool addConcat(nn::ConcatOp concat, Collector &moves) {
  auto out = nn::typeOf(concat.getOutput());
  int64_t axis = concat.getAxis();
  Part part{SmallVector<int64_t>(out.getRank(), 0),
            SmallVector<int64_t>(out.getRank(), 1)};
  for (auto [i, input] : llvm::enumerate(concat.getInputs())) {
    auto in = nn::typeOf(input);
    if (!moves.add(i, in, out, part, false))
      return false;
    part.starts[axis] += in.getDimSize(axis);
  }
  return true;
}

std::optional<std::vector<Move>> nnv12::movesOf(Operation *layer) {
  Collector moves;
  bool good = false;
  // Layers by name, not by the facts that they state: a wrong one would fool
  // the compiler and its proof alike.
  if (isa<nn::ReshapeOp, nn::AdaptOp>(layer) ||
      (isa<nn::BitCastOp>(layer) &&
       nn::typeOf(layer->getResult(0)).getElementTypeBitWidth() >= 8))
    good = addFlat(layer, moves);
  else if (auto slice = dyn_cast<nn::SliceOp>(layer))
    good = addSlice(slice, moves);
  else if (auto concat = dyn_cast<nn::ConcatOp>(layer))
    good = addConcat(concat, moves);
  if (!good)
    return std::nullopt;
  return moves.finish(nn::storageSize(nn::typeOf(layer->getResult(0))));
}
