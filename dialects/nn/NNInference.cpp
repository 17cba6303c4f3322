//===- NNInference.cpp - Result types of layers ---------------------------===//
//
// Shape and element type of results from operands and attributes. Messages say
// what was found and what was expected: they reach the author of an ONNX model.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/NNInference.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/nn/SmallTypes.h"
#include "mlir/Dialect/Traits.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace nnv12::nn;

using Types = SmallVectorImpl<Type>;
using Shape = SmallVector<int64_t>;
using OptLoc = std::optional<Location>;

static RankedTensorType ranked(Value v) {
  return dyn_cast_or_null<RankedTensorType>(v ? v.getType() : Type());
}

/// Adds a dense result; refuses one that could not be addressed.
static LogicalResult result(OptLoc loc, Types &types, ArrayRef<int64_t> shape,
                            Type element) {
  int64_t count = 1;
  for (int64_t d : shape) {
    if (d < 0)
      return emitOptionalError(loc, "found result shape ", str(shape),
                               ", expected no negative dimension");
    if (llvm::MulOverflow(count, d, count) || count > (int64_t(1) << 37))
      return emitOptionalError(loc, "found result shape ", str(shape),
                               ", expected at most 2^37 elements");
  }
  types.push_back(RankedTensorType::get(shape, element));
  return success();
}

static LogicalResult sameAsInput(OptLoc loc, Types &types, Value input) {
  auto t = ranked(input);
  return result(loc, types, t.getShape(), t.getElementType());
}

static LogicalResult checkAxis(OptLoc loc, int64_t axis, int64_t rank) {
  if (axis >= 0 && axis < rank)
    return success();
  return emitOptionalError(loc, "found axis ", axis, ", expected 0 to ",
                           rank - 1);
}

static FailureOr<Shape> broadcast(OptLoc loc, ArrayRef<Value> values) {
  Shape out;
  for (Value v : values) {
    ArrayRef<int64_t> s = ranked(v).getShape();
    if (s.size() > out.size())
      out.insert(out.begin(), s.size() - out.size(), 1);
    for (size_t i = 0; i < s.size(); ++i) {
      int64_t &o = out[out.size() - s.size() + i];
      if (s[i] == o || s[i] == 1)
        continue;
      if (o != 1)
        return emitOptionalError(loc, "found shape ", str(s),
                                 ", expected one that broadcasts with ",
                                 str(out));
      o = s[i];
    }
  }
  return out;
}

/// Fails unless both have elements of one type.
static LogicalResult checkSameElement(OptLoc loc, Value lhs, Value rhs) {
  Type l = ranked(lhs).getElementType(), r = ranked(rhs).getElementType();
  if (l == r)
    return success();
  return emitOptionalError(loc, "found element types ", l, " and ", r,
                           ", expected the same");
}

static LogicalResult checkComputes(OptLoc loc, ArrayRef<Value> values) {
  for (Value v : values)
    if (Type element = ranked(v).getElementType(); isSmall(element))
      return emitOptionalError(loc, "found elements of ", element,
                               ", which are moved and cast alone, expected a "
                               "type to compute with");
  return success();
}

#define INFER(Op)                                                              \
  LogicalResult Op::inferReturnTypes(MLIRContext *context, OptLoc loc,         \
                                     Op::Adaptor op, Types &types)

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

INFER(UnaryOp) {
  auto t = ranked(op.getInput());
  UnaryKind kind = op.getFunction().getKind();
  if (kind != UnaryKind::identity && failed(checkComputes(loc, op.getInput())))
    return failure();
  bool boolean = kind == UnaryKind::is_nan || kind == UnaryKind::is_inf;
  return result(loc, types, t.getShape(),
                boolean ? IntegerType::get(context, 1) : t.getElementType());
}

/// Whether the function's result is i1 whatever its operands are.
static bool givesTruth(BinaryKind kind) {
  using B = BinaryKind;
  return llvm::is_contained({B::equal, B::less, B::less_equal, B::greater,
                             B::greater_equal, B::logical_and, B::logical_or,
                             B::logical_xor},
                            kind);
}

INFER(BinaryOp) {
  if (failed(checkSameElement(loc, op.getLhs(), op.getRhs())) ||
      failed(checkComputes(loc, op.getLhs())))
    return failure();
  auto shape = broadcast(loc, {op.getLhs(), op.getRhs()});
  if (failed(shape))
    return failure();
  return result(loc, types, *shape,
                givesTruth(op.getKind())
                    ? IntegerType::get(context, 1)
                    : ranked(op.getLhs()).getElementType());
}

INFER(SelectOp) {
  auto c = ranked(op.getCondition());
  if (!c.getElementType().isInteger(1))
    return emitOptionalError(loc, "found a condition of ", c.getElementType(),
                             ", expected bool");
  if (failed(checkSameElement(loc, op.getLhs(), op.getRhs())))
    return failure();
  auto shape = broadcast(loc, {op.getCondition(), op.getLhs(), op.getRhs()});
  if (failed(shape))
    return failure();
  return result(loc, types, *shape, ranked(op.getLhs()).getElementType());
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

INFER(TransposeOp) {
  auto t = ranked(op.getInput());
  ArrayRef<int64_t> perm = op.getPerm();
  if ((int64_t)perm.size() != t.getRank() || !isPermutationVector(perm))
    return emitOptionalError(loc, "found perm ", str(perm),
                             ", expected a permutation of ", t.getRank(),
                             " dimensions");
  return result(loc, types, applyPermutation(t.getShape(), perm),
                t.getElementType());
}

INFER(SliceOp) {
  auto t = ranked(op.getInput());
  size_t rank = t.getRank();
  if (op.getStarts().size() != rank || op.getSizes().size() != rank ||
      op.getSteps().size() != rank)
    return emitOptionalError(loc, "found a slice of ", op.getStarts().size(),
                             " dimensions, expected ", rank);
  for (size_t d = 0; d < rank; ++d) {
    int64_t start = op.getStarts()[d], size = op.getSizes()[d],
            step = op.getSteps()[d], extent = t.getDimSize(d), last;
    if (size == 0)
      continue;
    if (size < 0 || step == 0 || llvm::MulOverflow(size - 1, step, last) ||
        llvm::AddOverflow(last, start, last) || start < 0 || last < 0 ||
        start >= extent || last >= extent)
      return emitOptionalError(loc, "found slice start ", start, ", size ",
                               size, ", step ", step, " in dimension ", d,
                               ", expected it inside ", extent, " elements");
  }
  return result(loc, types, op.getSizes(), t.getElementType());
}

INFER(ConcatOp) {
  if (op.getInputs().empty())
    return emitOptionalError(loc, "found no input, expected at least one");
  auto first = ranked(op.getInputs().front());
  if (failed(checkAxis(loc, op.getAxis(), first.getRank())))
    return failure();
  Shape shape(first.getShape());
  shape[op.getAxis()] = 0;
  for (Value v : op.getInputs()) {
    auto t = ranked(v);
    bool fits = t.getRank() == first.getRank() &&
                t.getElementType() == first.getElementType();
    for (int64_t d = 0; fits && d < t.getRank(); ++d)
      fits = d == (int64_t)op.getAxis() || t.getDimSize(d) == shape[d];
    if (!fits)
      return emitOptionalError(loc, "found an input of type ", t,
                               ", expected one that joins ", first,
                               " along axis ", op.getAxis());
    if (llvm::AddOverflow(shape[op.getAxis()], t.getDimSize(op.getAxis()),
                          shape[op.getAxis()]))
      return emitOptionalError(loc, "found a dimension too large");
  }
  return result(loc, types, shape, first.getElementType());
}

INFER(PadOp) {
  auto t = ranked(op.getInput());
  if ((int64_t)op.getLow().size() != t.getRank() ||
      (int64_t)op.getHigh().size() != t.getRank())
    return emitOptionalError(loc, "found pads for ", op.getLow().size(),
                             " dimensions, expected ", t.getRank());
  Shape shape;
  for (int64_t d = 0; d < t.getRank(); ++d) {
    int64_t low = op.getLow()[d], high = op.getHigh()[d], n = t.getDimSize(d);
    int64_t limit = op.getMode() == PadMode::reflect             ? n - 1
                    : op.getMode() == PadMode::constant || n > 0 ? INT32_MAX
                                                                 : 0;
    if (low < 0 || high < 0 || low > limit || high > limit)
      return emitOptionalError(loc, "found pads ", low, " and ", high,
                               " for dimension ", d, " of ", n,
                               " elements, expected 0 to ", limit);
    shape.push_back(low + n + high);
  }
  if (Value v = op.getValue())
    if (ranked(v).getNumElements() != 1 ||
        ranked(v).getElementType() != t.getElementType())
      return emitOptionalError(loc, "found a pad value of type ", v.getType(),
                               ", expected one ", t.getElementType());
  return result(loc, types, shape, t.getElementType());
}

static LogicalResult checkIndices(OptLoc loc, Value indices) {
  Type e = ranked(indices).getElementType();
  if (e.isInteger(32) || e.isInteger(64))
    return success();
  return emitOptionalError(loc, "found indices of ", e,
                           ", expected int32 or int64");
}

INFER(GatherOp) {
  auto t = ranked(op.getInput()), i = ranked(op.getIndices());
  int64_t axis = op.getAxis();
  if (failed(checkAxis(loc, axis, t.getRank())) ||
      failed(checkIndices(loc, op.getIndices())))
    return failure();
  if (t.getDimSize(axis) == 0 && i.getNumElements() != 0)
    return emitOptionalError(loc, "found an empty axis ", axis,
                             ", expected elements to gather");
  Shape shape(t.getShape().take_front(axis));
  llvm::append_range(shape, i.getShape());
  llvm::append_range(shape, t.getShape().drop_front(axis + 1));
  return result(loc, types, shape, t.getElementType());
}

/// Indices of the elementwise gather and scatter: same rank, not larger than
/// the input but along the axis.
static LogicalResult checkElementIndices(OptLoc loc, RankedTensorType t,
                                         Value indices, int64_t axis) {
  auto i = ranked(indices);
  if (failed(checkAxis(loc, axis, t.getRank())) ||
      failed(checkIndices(loc, indices)))
    return failure();
  bool fits = i.getRank() == t.getRank();
  for (int64_t d = 0; fits && d < t.getRank(); ++d)
    fits = d == axis ? t.getDimSize(d) > 0 || i.getNumElements() == 0
                     : i.getDimSize(d) <= t.getDimSize(d);
  if (!fits)
    return emitOptionalError(loc, "found indices of shape ", str(i.getShape()),
                             ", expected them inside ", str(t.getShape()),
                             " but for axis ", axis);
  return success();
}

INFER(GatherElementsOp) {
  auto t = ranked(op.getInput());
  if (failed(checkElementIndices(loc, t, op.getIndices(), op.getAxis())))
    return failure();
  return result(loc, types, ranked(op.getIndices()).getShape(),
                t.getElementType());
}

INFER(ScatterElementsOp) {
  auto t = ranked(op.getInput()), u = ranked(op.getUpdates());
  if (op.getReduction() != ScatterReduction::none &&
      failed(checkComputes(loc, op.getInput())))
    return failure();
  if (failed(checkElementIndices(loc, t, op.getIndices(), op.getAxis())))
    return failure();
  if (u.getShape() != ranked(op.getIndices()).getShape() ||
      u.getElementType() != t.getElementType())
    return emitOptionalError(loc, "found updates of type ", u,
                             ", expected the indices' shape and ",
                             t.getElementType());
  return sameAsInput(loc, types, op.getInput());
}

/// Checks the index tuples of the ND gather and scatter; returns their length.
static FailureOr<int64_t> tupleLength(OptLoc loc, RankedTensorType t,
                                      Value indices, int64_t batchDims) {
  auto i = ranked(indices);
  if (failed(checkIndices(loc, indices)))
    return failure();
  int64_t length = i.getRank() ? i.getShape().back() : 0;
  bool fits = i.getRank() >= 1 && batchDims >= 0 && batchDims < i.getRank() &&
              batchDims + length <= t.getRank();
  for (int64_t d = 0; fits && d < batchDims; ++d)
    fits = i.getDimSize(d) == t.getDimSize(d);
  for (int64_t d = 0; fits && d < length; ++d)
    fits = t.getDimSize(batchDims + d) > 0 || i.getNumElements() == 0;
  if (!fits)
    return emitOptionalError(
        loc, "found indices of shape ", str(i.getShape()), " with ", batchDims,
        " batch dimensions, expected index tuples into ", str(t.getShape()));
  return length;
}

INFER(GatherNDOp) {
  auto t = ranked(op.getInput()), i = ranked(op.getIndices());
  int64_t batch = op.getBatchDims();
  auto length = tupleLength(loc, t, op.getIndices(), batch);
  if (failed(length))
    return failure();
  Shape shape(i.getShape().drop_back());
  llvm::append_range(shape, t.getShape().drop_front(batch + *length));
  return result(loc, types, shape, t.getElementType());
}

INFER(ScatterNDOp) {
  auto t = ranked(op.getInput()), i = ranked(op.getIndices()),
       u = ranked(op.getUpdates());
  if (op.getReduction() != ScatterReduction::none &&
      failed(checkComputes(loc, op.getInput())))
    return failure();
  auto length = tupleLength(loc, t, op.getIndices(), 0);
  if (failed(length))
    return failure();
  Shape shape(i.getShape().drop_back());
  llvm::append_range(shape, t.getShape().drop_front(*length));
  if (u.getShape() != ArrayRef<int64_t>(shape) ||
      u.getElementType() != t.getElementType())
    return emitOptionalError(loc, "found updates of type ", u,
                             ", expected shape ", str(shape), " of ",
                             t.getElementType());
  return sameAsInput(loc, types, op.getInput());
}

INFER(ReverseSequenceOp) {
  auto t = ranked(op.getInput()), l = ranked(op.getLengths());
  int64_t batch = op.getBatchAxis(), time = op.getTimeAxis();
  if (failed(checkAxis(loc, batch, t.getRank())) ||
      failed(checkAxis(loc, time, t.getRank())) ||
      failed(checkIndices(loc, op.getLengths())))
    return failure();
  if (batch == time || l.getRank() != 1 ||
      l.getDimSize(0) != t.getDimSize(batch))
    return emitOptionalError(loc, "found lengths of shape ", str(l.getShape()),
                             ", expected one for each of ", t.getDimSize(batch),
                             " batches");
  return sameAsInput(loc, types, op.getInput());
}

//===----------------------------------------------------------------------===//
// Reductions and layers along an axis
//===----------------------------------------------------------------------===//

/// The shape without `axes`, which stay with size one if `keepDims`.
static Shape reduced(RankedTensorType t, ArrayRef<int64_t> axes,
                     bool keepDims) {
  Shape shape;
  for (auto [d, size] : llvm::enumerate(t.getShape()))
    if (!llvm::is_contained(axes, (int64_t)d))
      shape.push_back(size);
    else if (keepDims)
      shape.push_back(1);
  return shape;
}

INFER(ReduceOp) {
  auto t = ranked(op.getInput());
  if (failed(checkComputes(loc, op.getInput())))
    return failure();
  ArrayRef<int64_t> axes = op.getAxes();
  for (auto [i, axis] : llvm::enumerate(axes)) {
    if (failed(checkAxis(loc, axis, t.getRank())))
      return failure();
    if (llvm::is_contained(axes.take_front(i), axis))
      return emitOptionalError(loc, "found axis ", axis,
                               " twice, expected it once");
  }
  return result(loc, types, reduced(t, axes, op.getKeepDims()),
                t.getElementType());
}

INFER(ArgReduceOp) {
  auto t = ranked(op.getInput());
  if (failed(checkComputes(loc, op.getInput())) ||
      failed(checkAxis(loc, op.getAxis(), t.getRank())))
    return failure();
  if (op.getKind() != ReduceKind::max && op.getKind() != ReduceKind::min)
    return emitOptionalError(loc, "found kind ",
                             stringifyReduceKind(op.getKind()),
                             ", expected max or min");
  if (t.getDimSize(op.getAxis()) == 0)
    return emitOptionalError(loc, "found an empty axis ", op.getAxis());
  return result(loc, types,
                reduced(t, {(int64_t)op.getAxis()}, op.getKeepDims()),
                IntegerType::get(context, 64));
}

INFER(CumSumOp) {
  if (failed(checkComputes(loc, op.getInput())) ||
      failed(checkAxis(loc, op.getAxis(), ranked(op.getInput()).getRank())))
    return failure();
  return sameAsInput(loc, types, op.getInput());
}

INFER(TopKOp) {
  auto t = ranked(op.getInput());
  int64_t k = op.getK();
  if (failed(checkComputes(loc, op.getInput())) ||
      failed(checkAxis(loc, op.getAxis(), t.getRank())))
    return failure();
  if (k < 0 || k > t.getDimSize(op.getAxis()))
    return emitOptionalError(loc, "found k ", k, ", expected 0 to ",
                             t.getDimSize(op.getAxis()));
  Shape shape(t.getShape());
  shape[op.getAxis()] = k;
  if (failed(result(loc, types, shape, t.getElementType())))
    return failure();
  return result(loc, types, shape, IntegerType::get(context, 64));
}

INFER(NonMaxSuppressionOp) {
  Shape boxes(ranked(op.getBoxes()).getShape()),
      scores(ranked(op.getScores()).getShape());
  if (boxes.size() != 3 || scores.size() != 3 || boxes[0] != scores[0] ||
      boxes[1] != scores[2] || boxes[2] != 4)
    return emitOptionalError(loc, "found boxes ", str(boxes), " and scores ",
                             str(scores),
                             ", expected [batch, boxes, 4] and [batch, "
                             "classes, boxes]");
  for (Value v : {op.getBoxes(), op.getScores(), op.getIouThreshold(),
                  op.getScoreThreshold()})
    if (!ranked(v).getElementType().isF32())
      return emitOptionalError(loc, "found elements of ",
                               ranked(v).getElementType(), ", expected f32");
  if (!ranked(op.getCount()).getElementType().isInteger(64))
    return emitOptionalError(loc, "found a count of ",
                             ranked(op.getCount()).getElementType(),
                             ", expected i64");
  for (Value v : {op.getIouThreshold(), op.getScoreThreshold(), op.getCount()})
    if (ranked(v).getNumElements() != 1)
      return emitOptionalError(loc, "found ", ranked(v).getNumElements(),
                               " elements, expected one");
  int64_t most = op.getMost();
  if (most < 0 || most > boxes[1])
    return emitOptionalError(loc, "found most ", most, ", expected 0 to ",
                             boxes[1]);
  return result(loc, types, {scores[0], scores[1], most},
                IntegerType::get(context, 64));
}

static LogicalResult checkFloat(OptLoc loc, Value v) {
  if (failed(checkComputes(loc, v)))
    return failure();
  if (isa<FloatType>(ranked(v).getElementType()))
    return success();
  return emitOptionalError(loc, "found elements of ",
                           ranked(v).getElementType(), ", expected floats");
}

template <typename Op>
static LogicalResult inferAlongAxis(Op op, OptLoc loc, Types &types) {
  if (failed(checkAxis(loc, op.getAxis(), ranked(op.getInput()).getRank())) ||
      failed(checkFloat(loc, op.getInput())))
    return failure();
  return sameAsInput(loc, types, op.getInput());
}

INFER(SoftmaxOp) { return inferAlongAxis(op, loc, types); }

INFER(NormalizeOp) { return inferAlongAxis(op, loc, types); }

//===----------------------------------------------------------------------===//
// Windows: convolution and pooling
//===----------------------------------------------------------------------===//

FailureOr<Shape>
nnv12::nn::windows(OptLoc loc, RankedTensorType input, ArrayRef<int64_t> kernel,
                   ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations,
                   ArrayRef<int64_t> low, ArrayRef<int64_t> high) {
  int64_t spatial = input.getRank() - 2;
  for (ArrayRef<int64_t> a : {kernel, strides, dilations, low, high})
    if (spatial < 1 || (int64_t)a.size() != spatial)
      return emitOptionalError(loc, "found an input of rank ", input.getRank(),
                               " and a window attribute of ", a.size(),
                               " values, expected rank - 2 values");
  Shape out;
  for (int64_t d = 0; d < spatial; ++d) {
    constexpr int64_t limit = int64_t(1) << 31;
    for (int64_t v : {kernel[d], strides[d], dilations[d]})
      if (v < 1 || v > limit)
        return emitOptionalError(loc, "found kernel ", kernel[d], ", stride ",
                                 strides[d], ", dilation ", dilations[d],
                                 ", expected positive numbers");
    if (low[d] < 0 || high[d] < 0 || low[d] > limit || high[d] > limit)
      return emitOptionalError(loc, "found pads ", low[d], " and ", high[d],
                               ", expected no negative ones");
    int64_t extent = input.getDimSize(2 + d) + low[d] + high[d];
    int64_t window = (kernel[d] - 1) * dilations[d] + 1;
    if (extent < window)
      return emitOptionalError(loc, "found a window of ", window,
                               " over dimension ", 2 + d, " of ", extent,
                               " padded elements, expected it to fit");
    out.push_back((extent - window) / strides[d] + 1);
  }
  return out;
}

/// The element type of sums of products: i32 of 8-bit integers, which may
/// differ in sign, else that of both operands, in which integers wrap around.
static FailureOr<Type> productType(OptLoc loc, Value lhs, Value rhs) {
  Type l = ranked(lhs).getElementType(), r = ranked(rhs).getElementType();
  if (l.isInteger(8) && r.isInteger(8))
    return Type(IntegerType::get(l.getContext(), 32));
  if (failed(checkSameElement(loc, lhs, rhs)))
    return failure();
  return l;
}

/// Kernels add the bias to sums of the result's type.
static LogicalResult checkBiasType(OptLoc loc, Value bias, Type element) {
  if (!bias || ranked(bias).getElementType() == element)
    return success();
  return emitOptionalError(loc, "found a bias of ",
                           ranked(bias).getElementType(), ", expected ",
                           element);
}

static LogicalResult checkBias(OptLoc loc, Value bias, int64_t channels,
                               Type element) {
  if (!bias)
    return success();
  auto b = ranked(bias);
  if (b.getRank() == 1 && b.getDimSize(0) == channels)
    return checkBiasType(loc, bias, element);
  return emitOptionalError(loc, "found a bias of shape ", str(b.getShape()),
                           ", expected [", channels, "]");
}

static LogicalResult checkResidual(OptLoc loc, Value residual, Type result) {
  if (!residual || equalIgnoringLayout(residual.getType(), result))
    return success();
  return emitOptionalError(loc, "found a residual of type ", residual.getType(),
                           ", expected ", result);
}

INFER(ConvOp) {
  auto t = ranked(op.getInput()), w = ranked(op.getWeights());
  if (failed(checkComputes(loc, {op.getInput(), op.getWeights()})))
    return failure();
  int64_t groups = op.getGroups();
  if (t.getRank() < 3 || w.getRank() != t.getRank())
    return emitOptionalError(loc, "found input ", str(t.getShape()),
                             " and weights ", str(w.getShape()),
                             ", expected the same rank of at least 3");
  if (groups < 1 || w.getDimSize(0) % groups ||
      llvm::MulOverflow(w.getDimSize(1), groups, groups) ||
      t.getDimSize(1) != groups)
    return emitOptionalError(
        loc, "found ", t.getDimSize(1), " input channels, weights ",
        str(w.getShape()), " and ", op.getGroups(),
        " groups, expected channels = weights[1] * groups");
  auto out = windows(loc, t, w.getShape().drop_front(2), op.getStrides(),
                     op.getDilations(), op.getPadsLow(), op.getPadsHigh());
  FailureOr<Type> element = productType(loc, op.getInput(), op.getWeights());
  if (failed(out) || failed(element) ||
      failed(checkBias(loc, op.getBias(), w.getDimSize(0), *element)))
    return failure();
  Shape shape{t.getDimSize(0), w.getDimSize(0)};
  llvm::append_range(shape, *out);
  if (failed(result(loc, types, shape, *element)))
    return failure();
  return checkResidual(loc, op.getResidual(), types.back());
}

INFER(ConvTransposeOp) {
  auto t = ranked(op.getInput()), w = ranked(op.getWeights());
  if (failed(checkComputes(loc, {op.getInput(), op.getWeights()})))
    return failure();
  int64_t groups = op.getGroups(), spatial = t.getRank() - 2, channels;
  if (spatial < 1 || w.getRank() != t.getRank() || groups < 1 ||
      t.getDimSize(1) != w.getDimSize(0) || t.getDimSize(1) % groups ||
      llvm::MulOverflow(w.getDimSize(1), groups, channels))
    return emitOptionalError(loc, "found input ", str(t.getShape()),
                             ", weights ", str(w.getShape()), " and ", groups,
                             " groups, expected channels = weights[0]");
  if (t.getElementType() != w.getElementType())
    return emitOptionalError(loc, "found input of ", t.getElementType(),
                             " and weights of ", w.getElementType(),
                             ", expected the same");
  for (ArrayRef<int64_t> a :
       {op.getStrides(), op.getDilations(), op.getPadsLow(), op.getPadsHigh(),
        op.getOutputPadding()})
    if ((int64_t)a.size() != spatial)
      return emitOptionalError(loc, "found a window attribute of ", a.size(),
                               " values, expected ", spatial);
  Shape shape{t.getDimSize(0), channels};
  for (int64_t d = 0; d < spatial; ++d) {
    constexpr int64_t limit = int64_t(1) << 31;
    for (int64_t v : {op.getStrides()[d], op.getDilations()[d]})
      if (v < 1 || v > limit)
        return emitOptionalError(loc, "found stride or dilation ", v,
                                 ", expected a positive number");
    for (int64_t v :
         {op.getPadsLow()[d], op.getPadsHigh()[d], op.getOutputPadding()[d]})
      if (v < -limit || v > limit)
        return emitOptionalError(loc, "found a pad of ", v);
    int64_t extent = op.getStrides()[d] * (t.getDimSize(2 + d) - 1) +
                     op.getOutputPadding()[d] +
                     op.getDilations()[d] * (w.getDimSize(2 + d) - 1) + 1 -
                     op.getPadsLow()[d] - op.getPadsHigh()[d];
    if (extent < 1)
      return emitOptionalError(loc, "found an output of ", extent,
                               " elements in dimension ", 2 + d,
                               ", expected at least one");
    shape.push_back(extent);
  }
  if (failed(checkBias(loc, op.getBias(), channels, t.getElementType())) ||
      failed(result(loc, types, shape, t.getElementType())))
    return failure();
  return checkResidual(loc, op.getResidual(), types.back());
}

INFER(MatMulOp) {
  auto l = ranked(op.getLhs()), r = ranked(op.getRhs());
  if (failed(checkComputes(loc, {op.getLhs(), op.getRhs()})))
    return failure();
  if (l.getRank() < 2 || r.getRank() < 2)
    return emitOptionalError(loc, "found ranks ", l.getRank(), " and ",
                             r.getRank(), ", expected at least 2");
  auto dims = [](RankedTensorType t, bool transposed) {
    ArrayRef<int64_t> s = t.getShape().take_back(2);
    return transposed ? std::pair(s[1], s[0]) : std::pair(s[0], s[1]);
  };
  auto [m, k] = dims(l, op.getTransposeLhs());
  auto [k2, n] = dims(r, op.getTransposeRhs());
  if (k != k2)
    return emitOptionalError(loc, "found inner dimensions ", k, " and ", k2,
                             ", expected the same");
  Shape shape;
  if (!OpTrait::util::getBroadcastedShape(l.getShape().drop_back(2),
                                          r.getShape().drop_back(2), shape))
    return emitOptionalError(loc, "found shapes ", str(l.getShape()), " and ",
                             str(r.getShape()),
                             ", expected batch dimensions that broadcast");
  shape.push_back(m);
  shape.push_back(n);
  FailureOr<Type> element = productType(loc, op.getLhs(), op.getRhs());
  if (failed(element) || failed(result(loc, types, shape, *element)) ||
      failed(checkBiasType(loc, op.getBias(), *element)))
    return failure();
  if (Value bias = op.getBias())
    if (ArrayRef<int64_t> b = ranked(bias).getShape(); !broadcastsTo(b, shape))
      return emitOptionalError(loc, "found a bias of shape ", str(b),
                               ", expected one that broadcasts to ",
                               str(shape));
  return checkResidual(loc, op.getResidual(), types.back());
}

/// Infers one `element` for each window.
template <typename Op>
static LogicalResult inferPool(Op op, Type element, OptLoc loc, Types &types) {
  auto t = ranked(op.getInput());
  if (failed(checkComputes(loc, op.getInput())))
    return failure();
  auto out = windows(loc, t, op.getKernel(), op.getStrides(), op.getDilations(),
                     op.getPadsLow(), op.getPadsHigh());
  if (failed(out))
    return failure();
  Shape shape(t.getShape().take_front(2));
  llvm::append_range(shape, *out);
  return result(loc, types, shape, element);
}

INFER(PoolOp) {
  if (std::optional<ArrayRef<int64_t>> counted = op.getCountedPadsHigh()) {
    ArrayRef<int64_t> high = op.getPadsHigh();
    bool fits = counted->size() == high.size();
    for (size_t d = 0; fits && d < high.size(); ++d)
      fits = (*counted)[d] >= 0 && (*counted)[d] <= high[d];
    if (!fits)
      return emitOptionalError(loc, "found counted_pads_high ", str(*counted),
                               ", expected 0 to the pad for each of ",
                               str(high));
  }
  return inferPool(op, ranked(op.getInput()).getElementType(), loc, types);
}

INFER(MaxPoolIndicesOp) {
  return inferPool(op, IntegerType::get(context, 64), loc, types);
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

INFER(GridSampleOp) {
  auto t = ranked(op.getInput()), g = ranked(op.getGrid());
  if (failed(checkComputes(loc, {op.getInput(), op.getGrid()})))
    return failure();
  int64_t rank = t.getRank();
  if (rank < 4 || rank > 5 || g.getRank() != rank ||
      g.getDimSize(rank - 1) != rank - 2 || t.getDimSize(0) != g.getDimSize(0))
    return emitOptionalError(loc, "found input ", str(t.getShape()),
                             " and grid ", str(g.getShape()),
                             ", expected [N, C, H, W] and [N, H, W, 2], or "
                             "[N, C, D, H, W] and [N, D, H, W, 3]");
  SmallVector<int64_t> shape{t.getDimSize(0), t.getDimSize(1)};
  llvm::append_range(shape, g.getShape().slice(1, rank - 2));
  return result(loc, types, shape, t.getElementType());
}

INFER(RoiAlignOp) {
  auto t = ranked(op.getInput()), r = ranked(op.getRois()),
       b = ranked(op.getBatchIndices());
  if (failed(checkComputes(loc, {op.getInput(), op.getRois()})))
    return failure();
  if (t.getRank() != 4 || r.getRank() != 2 || r.getDimSize(1) != 4 ||
      b.getRank() != 1 || b.getDimSize(0) != r.getDimSize(0) ||
      failed(checkIndices(loc, op.getBatchIndices())))
    return emitOptionalError(loc, "found input ", str(t.getShape()), ", rois ",
                             str(r.getShape()), ", batch indices ",
                             str(b.getShape()),
                             ", expected [N, C, H, W], [R, 4], [R]");
  return result(loc, types,
                {r.getDimSize(0), t.getDimSize(1),
                 (int64_t)op.getOutputHeight(), (int64_t)op.getOutputWidth()},
                t.getElementType());
}
