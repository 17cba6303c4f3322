//===- NNParts.cpp - Which part of an operand a part of a result needs ----===//
//
// Box and neededPart() of Box.h, and PartByPart::neededPart() of layers. A
// part that is asked for is not empty, so that no dimension of the result is.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/nn/ResizeTaps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12::nn;

static ArrayRef<int64_t> shapeOf(Value tensor) {
  return typeOf(tensor).getShape();
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

Box Box::whole(ArrayRef<int64_t> shape) {
  return {SmallVector<int64_t>(shape.size(), 0), SmallVector<int64_t>(shape)};
}

Box Box::none(int64_t rank) {
  return {SmallVector<int64_t>(rank, 0), SmallVector<int64_t>(rank, 0)};
}

bool Box::isEmpty() const {
  return llvm::any_of(llvm::zip(lo, hi), [](auto range) {
    return std::get<0>(range) >= std::get<1>(range);
  });
}

void Box::include(const Box &other) {
  if (other.isEmpty())
    return;
  if (isEmpty()) {
    *this = other;
    return;
  }
  for (size_t d = 0; d < lo.size(); ++d) {
    lo[d] = std::min(lo[d], other.lo[d]);
    hi[d] = std::max(hi[d], other.hi[d]);
  }
}

void Box::clamp(ArrayRef<int64_t> shape) {
  assert(lo.size() == shape.size() && "one range a dimension");
  for (size_t d = 0; d < shape.size(); ++d) {
    lo[d] = std::max<int64_t>(lo[d], 0);
    hi[d] = std::min(hi[d], shape[d]);
  }
  if (isEmpty())
    *this = none(shape.size());
}

/// Sets the range of one dimension.
static void set(Box &box, int64_t dim, int64_t lo, int64_t hi) {
  box.lo[dim] = lo;
  box.hi[dim] = hi;
}

/// `part` as indices of an operand that broadcasts to it.
static Box broadcastPart(const Box &part, ArrayRef<int64_t> shape) {
  assert(shape.size() <= part.lo.size() && "broadcasting adds dimensions");
  size_t front = part.lo.size() - shape.size();
  Box needed = Box::whole(shape);
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1)
      set(needed, d, part.lo[front + d], part.hi[front + d]);
  return needed;
}

/// All of `part` but for the dimensions from `from` to `to`, which are as in
/// `shape`.
static Box wholeAlong(Box part, ArrayRef<int64_t> shape, int64_t from,
                      int64_t to) {
  for (int64_t d = from; d < to; ++d)
    set(part, d, 0, shape[d]);
  return part;
}
static Box wholeAlong(const Box &part, ArrayRef<int64_t> shape, int64_t axis) {
  return wholeAlong(part, shape, axis, axis + 1);
}

/// Adds dimensions `from` to `to` of `part` at the end.
static void append(Box &box, const Box &part, int64_t from, int64_t to) {
  box.lo.append(part.lo.begin() + from, part.lo.begin() + to);
  box.hi.append(part.hi.begin() + from, part.hi.begin() + to);
}

/// Adds a dimension at the end.
static void append(Box &box, int64_t lo, int64_t hi) {
  box.lo.push_back(lo);
  box.hi.push_back(hi);
}

Box nnv12::nn::neededPart(OpOperand &operand, const Box &part,
                          unsigned result) {
  Operation *op = operand.getOwner();
  ArrayRef<int64_t> shape = shapeOf(operand.get());
  assert(part.lo.size() == shapeOf(op->getResult(result)).size() &&
         "one range a dimension");
  if (part.isEmpty())
    return Box::none(shape.size());
  Box needed = Box::whole(shape);
  if (auto layer = dyn_cast<PartByPart>(op))
    needed = layer.neededPart(operand.getOperandNumber(), part, result);
  else if (isa<Elementwise>(op))
    needed = broadcastPart(part, shape);
  needed.clamp(shape);
  return needed;
}

Box FuseOp::neededPart(unsigned operand, const Box &part, unsigned) {
  Block &block = getBody().front();
  llvm::DenseMap<Value, Box> needed;
  auto need = [&](Value value, const Box &box) {
    auto [it, isNew] = needed.try_emplace(value, box);
    if (!isNew)
      it->second.include(box);
  };
  need(block.getTerminator()->getOperand(0), part);
  for (Operation &op : llvm::reverse(block.without_terminator()))
    for (OpResult result : op.getResults())
      if (auto it = needed.find(result); it != needed.end()) {
        const Box here = it->second;
        for (OpOperand &use : op.getOpOperands())
          need(use.get(),
               nnv12::nn::neededPart(use, here, result.getResultNumber()));
      }
  Value argument = block.getArgument(operand);
  auto it = needed.find(argument);
  return it == needed.end() ? Box::none(typeOf(argument).getRank())
                            : it->second;
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

/// Appends the box around elements [first, last] of `shape`, row by row.
static void appendRange(Box &box, int64_t first, int64_t last,
                        ArrayRef<int64_t> shape) {
  int64_t stride = llvm::product_of(shape);
  bool together = true; // all elements agree in the dimensions so far
  for (int64_t size : shape) {
    stride /= size;
    int64_t from = first / stride % size, to = last / stride % size;
    append(box, together ? from : 0, together ? to + 1 : size);
    together &= from == to;
  }
}

Box ReshapeOp::neededPart(unsigned, const Box &part, unsigned) {
  ArrayRef<int64_t> to = getType().getShape(), from = shapeOf(getInput());
  Box needed;
  // Takes groups of dimensions of the same product one by one.
  for (size_t i = 0, j = 0; i < to.size() || j < from.size();) {
    size_t iEnd = i, jEnd = j;
    int64_t p = iEnd < to.size() ? to[iEnd++] : 1;
    int64_t q = jEnd < from.size() ? from[jEnd++] : 1;
    while (p != q)
      if (p < q)
        p *= to[iEnd++];
      else
        q *= from[jEnd++];
    int64_t first = 0, last = 0;
    for (size_t d = i; d < iEnd; ++d) {
      first = first * to[d] + part.lo[d];
      last = last * to[d] + part.hi[d] - 1;
    }
    appendRange(needed, first, last, from.slice(j, jEnd - j));
    i = iEnd;
    j = jEnd;
  }
  return needed;
}

Box TransposeOp::neededPart(unsigned, const Box &part, unsigned) {
  Box needed = part;
  for (auto [i, dim] : llvm::enumerate(getPerm()))
    set(needed, dim, part.lo[i], part.hi[i]);
  return needed;
}

Box SliceOp::neededPart(unsigned, const Box &part, unsigned) {
  Box needed;
  for (size_t d = 0; d < part.lo.size(); ++d) {
    int64_t first = getStarts()[d] + part.lo[d] * getSteps()[d];
    int64_t last = getStarts()[d] + (part.hi[d] - 1) * getSteps()[d];
    append(needed, std::min(first, last), std::max(first, last) + 1);
  }
  return needed;
}

Box ConcatOp::neededPart(unsigned operand, const Box &part, unsigned) {
  Box needed = part;
  for (Value before : getInputs().take_front(operand)) {
    needed.lo[getAxis()] -= shapeOf(before)[getAxis()];
    needed.hi[getAxis()] -= shapeOf(before)[getAxis()];
  }
  return needed;
}

/// Where element `i` of a padded dimension of `size` elements comes from; it
/// may lie outside.
static int64_t paddedSource(int64_t i, int64_t size, PadMode mode) {
  switch (mode) {
  case PadMode::constant:
    return i;
  case PadMode::edge:
    return std::clamp<int64_t>(i, 0, size - 1);
  case PadMode::wrap:
    return llvm::mod(i, size);
  case PadMode::reflect: {
    int64_t period = std::max<int64_t>(2 * (size - 1), 1);
    int64_t m = llvm::mod(i, period);
    return std::min(m, period - m);
  }
  }
  llvm_unreachable("all modes are above");
}

Box PadOp::neededPart(unsigned operand, const Box &part, unsigned) {
  if (operand == 1)
    return Box::whole(shapeOf(getValue()));
  ArrayRef<int64_t> shape = shapeOf(getInput());
  if (llvm::is_contained(shape, 0))
    return Box::none(shape.size());
  Box needed;
  for (size_t d = 0; d < shape.size(); ++d) {
    int64_t lo = shape[d], hi = 0;
    for (int64_t i = part.lo[d]; i < part.hi[d]; ++i) {
      int64_t source = paddedSource(i - getLow()[d], shape[d], getMode());
      lo = std::min(lo, source);
      hi = std::max(hi, source + 1);
    }
    append(needed, lo, hi);
  }
  return needed;
}

Box GatherOp::neededPart(unsigned operand, const Box &part, unsigned) {
  int64_t axis = getAxis(), count = shapeOf(getIndices()).size();
  Box needed;
  if (operand == 1) {
    append(needed, part, axis, axis + count);
    return needed;
  }
  append(needed, part, 0, axis);
  append(needed, 0, shapeOf(getInput())[axis]);
  append(needed, part, axis + count, part.lo.size());
  return needed;
}

Box GatherElementsOp::neededPart(unsigned operand, const Box &part, unsigned) {
  if (operand == 1)
    return part;
  return wholeAlong(part, shapeOf(getInput()), getAxis());
}

Box GatherNDOp::neededPart(unsigned operand, const Box &part, unsigned) {
  ArrayRef<int64_t> input = shapeOf(getInput()),
                    indices = shapeOf(getIndices());
  int64_t batch = getBatchDims(), tuple = indices.size() - 1;
  Box needed;
  if (operand == 1) {
    append(needed, part, 0, tuple);
    append(needed, 0, indices.back());
    return needed;
  }
  append(needed, part, 0, batch);
  for (int64_t i = 0; i < indices.back(); ++i)
    append(needed, 0, input[batch + i]);
  append(needed, part, tuple, part.lo.size());
  return needed;
}

Box ScatterElementsOp::neededPart(unsigned operand, const Box &part, unsigned) {
  return operand == 0 ? part
                      : wholeAlong(part, shapeOf(getIndices()), getAxis());
}

Box ScatterNDOp::neededPart(unsigned operand, const Box &part, unsigned) {
  return operand == 0
             ? part
             : Box::whole(shapeOf(getOperation()->getOperand(operand)));
}

Box ReverseSequenceOp::neededPart(unsigned operand, const Box &part, unsigned) {
  Box needed;
  if (operand == 1) {
    append(needed, part, getBatchAxis(), getBatchAxis() + 1);
    return needed;
  }
  return wholeAlong(part, getType().getShape(), getTimeAxis());
}

//===----------------------------------------------------------------------===//
// Reductions and layers along an axis
//===----------------------------------------------------------------------===//

/// The box of an operand of `shape`, reduced along `axes`, that belongs to a
/// result's part.
static Box reducedPart(const Box &part, ArrayRef<int64_t> shape,
                       ArrayRef<int64_t> axes, bool keepDims) {
  Box needed;
  int64_t next = 0;
  for (auto [d, size] : llvm::enumerate(shape)) {
    bool isReduced = llvm::is_contained(axes, static_cast<int64_t>(d));
    if (isReduced)
      append(needed, 0, size);
    else
      append(needed, part, next, next + 1);
    next += !isReduced || keepDims;
  }
  return needed;
}

Box ReduceOp::neededPart(unsigned, const Box &part, unsigned) {
  return reducedPart(part, shapeOf(getInput()), getAxes(), getKeepDims());
}

Box ArgReduceOp::neededPart(unsigned, const Box &part, unsigned) {
  return reducedPart(part, shapeOf(getInput()),
                     {static_cast<int64_t>(getAxis())}, getKeepDims());
}

Box CumSumOp::neededPart(unsigned, const Box &part, unsigned) {
  Box needed = part;
  int64_t axis = getAxis();
  if (getReverse()) {
    needed.lo[axis] += getExclusive();
    needed.hi[axis] = shapeOf(getInput())[axis];
  } else {
    needed.lo[axis] = 0;
    needed.hi[axis] -= getExclusive();
  }
  return needed;
}

Box TopKOp::neededPart(unsigned, const Box &part, unsigned) {
  return wholeAlong(part, shapeOf(getInput()), getAxis());
}

// Images are apart, and classes but for the boxes, which they share.
Box NonMaxSuppressionOp::neededPart(unsigned operand, const Box &part,
                                    unsigned) {
  Box needed = Box::whole(shapeOf(getOperation()->getOperand(operand)));
  if (operand < 2)
    set(needed, 0, part.lo[0], part.hi[0]);
  if (operand == 1)
    set(needed, 1, part.lo[1], part.hi[1]);
  return needed;
}

Box SoftmaxOp::neededPart(unsigned, const Box &part, unsigned) {
  return wholeAlong(part, shapeOf(getInput()), getAxis());
}

Box NormalizeOp::neededPart(unsigned, const Box &part, unsigned) {
  return wholeAlong(part, shapeOf(getInput()), getAxis(), part.lo.size());
}

// Batches are apart. Along time everything counts: a step may go either way,
// and lengths decide where it begins.
Box RecurrentOp::neededPart(unsigned operand, const Box &part,
                            unsigned result) {
  Value value = getOperation()->getOperand(operand);
  int64_t from = part.lo[result == 0 ? 1 : 0],
          to = part.hi[result == 0 ? 1 : 0];
  Box needed = Box::whole(shapeOf(value));
  auto inBatch = [&](int64_t dim) {
    set(needed, dim, from, to);
    return needed;
  };
  if (operand == 0)
    return inBatch(1);
  for (MutableOperandRange states :
       {getInitialHMutable(), getInitialCMutable(), getLengthsMutable()})
    for (OpOperand &state : states)
      if (state.getOperandNumber() == operand)
        return inBatch(0);
  return needed;
}

//===----------------------------------------------------------------------===//
// Convolution, matrix multiplication, pooling, resampling
//===----------------------------------------------------------------------===//

/// The elements that the windows of the part cover.
template <typename OpTy> static Box windowPart(OpTy layer, const Box &part) {
  Box needed;
  append(needed, part, 0, 2);
  for (size_t d = 0; d < layer.getKernel().size(); ++d) {
    int64_t stride = layer.getStrides()[d], low = layer.getPadsLow()[d];
    int64_t reach = (layer.getKernel()[d] - 1) * layer.getDilations()[d];
    append(needed, part.lo[d + 2] * stride - low,
           (part.hi[d + 2] - 1) * stride - low + reach + 1);
  }
  return needed;
}

/// The groups that a part's channels belong to, in a layer whose result has
/// `channels` channels.
static std::pair<int64_t, int64_t> groupsOf(const Box &part, int64_t channels,
                                            int64_t groups) {
  int64_t size = channels / groups;
  return {part.lo[1] / size, (part.hi[1] - 1) / size + 1};
}

/// The part of bias and residual, the operands behind the first two.
template <typename OpTy>
static Box convRest(OpTy op, unsigned operand, const Box &part) {
  if (operand == 3 || !op.getBias())
    return part;
  Box needed;
  append(needed, part, 1, 2);
  return needed;
}

/// The part of the input, or of the weights, of a convolution.
template <typename OpTy>
static Box convFactor(OpTy op, unsigned operand, const Box &part) {
  ArrayRef<int64_t> weights = shapeOf(op.getWeights());
  Box needed;
  if (operand == 1) {
    needed = Box::whole(weights);
    set(needed, 0, part.lo[1], part.hi[1]);
    return needed;
  }
  needed = windowPart(op, part);
  auto [from, to] = groupsOf(part, weights[0], op.getGroups());
  set(needed, 1, from * weights[1], to * weights[1]);
  return needed;
}

Box ConvOp::neededPart(unsigned operand, const Box &part, unsigned) {
  return operand > 1 ? convRest(*this, operand, part)
                     : convFactor(*this, operand, part);
}

/// The part of a vector with an element for each position of dimension `dim` of
/// the result, or of a scalar.
static Box vectorPart(Value operand, const Box &part, int64_t dim) {
  Box needed;
  if (!shapeOf(operand).empty())
    append(needed, part, dim, dim + 1);
  return needed;
}

/// The same, or the part of an operand that has all positions of the result, or
/// one alone along dimension `dim`.
static Box endPart(Value operand, const Box &part, int64_t dim) {
  if (shapeOf(operand).size() <= 1)
    return vectorPart(operand, part, dim);
  Box needed = part;
  if (shapeOf(operand)[dim] == 1)
    set(needed, dim, 0, 1);
  return needed;
}

Box QConvOp::neededPart(unsigned operand, const Box &part, unsigned) {
  return operand > 1 ? endPart(getOperation()->getOperand(operand), part, 1)
                     : convFactor(*this, operand, part);
}

Box ConvTransposeOp::neededPart(unsigned operand, const Box &part, unsigned) {
  if (operand > 1)
    return convRest(*this, operand, part);
  ArrayRef<int64_t> weights = shapeOf(getWeights());
  int64_t groups = getGroups(), outputs = weights[1];
  auto [from, to] = groupsOf(part, outputs * groups, groups);
  int64_t inputs = weights[0] / groups;
  Box needed;
  if (operand == 1) {
    needed = Box::whole(weights);
    set(needed, 0, from * inputs, to * inputs);
    if (from + 1 == to)
      set(needed, 1, part.lo[1] - from * outputs, part.hi[1] - from * outputs);
    return needed;
  }
  append(needed, part, 0, 1);
  append(needed, from * inputs, to * inputs);
  // Element i is added to those at stride * i + dilation * tap - pad.
  for (size_t d = 0; d < getKernel().size(); ++d) {
    int64_t stride = getStrides()[d], low = getPadsLow()[d];
    int64_t reach = (getKernel()[d] - 1) * getDilations()[d];
    append(needed, llvm::divideCeilSigned(part.lo[d + 2] + low - reach, stride),
           llvm::divideFloorSigned(part.hi[d + 2] - 1 + low, stride) + 1);
  }
  return needed;
}

/// The part of operand 0 or 1 of a matrix product; `sumsLast`: its last
/// dimension is the one that products are summed over.
static Box factorPart(const Box &part, ArrayRef<int64_t> shape,
                      unsigned operand, bool sumsLast) {
  // Rows of the result are those of lhs, columns those of rhs.
  int64_t rank = part.lo.size(), own = shape.size();
  int64_t shared = operand == 0 ? rank - 2 : rank - 1;
  Box needed = wholeAlong(broadcastPart(part, shape), shape, own - 2, own);
  set(needed, own - (sumsLast ? 2 : 1), part.lo[shared], part.hi[shared]);
  return needed;
}

Box MatMulOp::neededPart(unsigned operand, const Box &part, unsigned) {
  ArrayRef<int64_t> shape = shapeOf(getOperation()->getOperand(operand));
  if (operand > 1)
    return broadcastPart(part, shape);
  return factorPart(part, shape, operand,
                    operand == 0 ? !getTransposeLhs() : getTransposeRhs());
}

Box QMatMulOp::neededPart(unsigned operand, const Box &part, unsigned) {
  int64_t rank = part.lo.size();
  Value value = getOperation()->getOperand(operand);
  if (operand > 1)
    return endPart(value, part, rank - 1);
  return factorPart(part, shapeOf(value), operand,
                    operand == 0 || getTransposeRhs());
}

Box BitsMatMulOp::neededPart(unsigned operand, const Box &part, unsigned) {
  Value value = getOperation()->getOperand(operand);
  if (shapeOf(value).size() == 1)
    return vectorPart(value, part, part.lo.size() - 1);
  if (value == getLhsScales())
    operand = 0; // rows are those of lhs
  return factorPart(part, shapeOf(value), operand, /*sumsLast=*/true);
}

Box PoolOp::neededPart(unsigned, const Box &part, unsigned) {
  return windowPart(*this, part);
}

Box MaxPoolIndicesOp::neededPart(unsigned, const Box &part, unsigned) {
  return windowPart(*this, part);
}

Box ResizeOp::neededPart(unsigned, const Box &part, unsigned) {
  ArrayRef<int64_t> in = shapeOf(getInput()), out = getType().getShape();
  Box needed;
  for (unsigned d = 0; d < in.size(); ++d) {
    auto [lo, hi] =
        ResizeTaps::sourcesOf(*this, d, in[d], out[d], part.lo[d], part.hi[d]);
    append(needed, lo, hi);
  }
  return needed;
}

Box GridSampleOp::neededPart(unsigned operand, const Box &part, unsigned) {
  ArrayRef<int64_t> shape = shapeOf(getOperation()->getOperand(operand));
  int64_t rank = shape.size();
  if (operand == 0)
    return wholeAlong(part, shape, 2, rank);
  Box needed;
  append(needed, part, 0, 1);
  append(needed, part, 2, rank);
  append(needed, 0, shape.back());
  return needed;
}

Box RoiAlignOp::neededPart(unsigned operand, const Box &part, unsigned) {
  Box needed = Box::whole(shapeOf(getOperation()->getOperand(operand)));
  unsigned shared = operand == 0 ? 1 : 0; // channels, or regions
  set(needed, shared, part.lo[shared], part.hi[shared]);
  return needed;
}
