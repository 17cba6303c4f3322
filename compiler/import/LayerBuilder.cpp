//===- LayerBuilder.cpp - Builds layers with a latched error --------------===//

#include "compiler/import/LayerBuilder.h"

#include "compiler/import/TypeSet.h"
#include "dialects/nn/ConstantBudget.h"
#include "dialects/nn/ElementCodec.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/SmallTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

/// Far beyond any model, and small enough for algorithms that are quadratic in
/// it.
static constexpr size_t maxRank = 64;

//===----------------------------------------------------------------------===//
// Errors and types
//===----------------------------------------------------------------------===//

void LayerBuilder::fail(const Twine &message) {
  if (failed_)
    return;
  failed_ = true;
  emitError(loc_) << prefix_ << message;
}

void LayerBuilder::fail(const Twine &found, const Twine &expected) {
  fail("found " + found + ", expected " + expected);
}

static RankedTensorType typeOrNull(Value v) {
  return v ? dyn_cast<RankedTensorType>(v.getType()) : RankedTensorType();
}

Ints LayerBuilder::shape(Value v) const {
  auto type = typeOrNull(v);
  return type ? Ints(type.getShape()) : Ints();
}
int64_t LayerBuilder::rank(Value v) const {
  auto type = typeOrNull(v);
  return type ? type.getRank() : 0;
}
int64_t LayerBuilder::dim(Value v, int64_t i) const {
  auto type = typeOrNull(v);
  return type && i >= 0 && i < type.getRank() ? type.getDimSize(i) : 1;
}
int64_t LayerBuilder::size(Value v) const {
  int64_t n = 1;
  for (int64_t d : shape(v))
    n *= d;
  return n;
}
Type LayerBuilder::elem(Value v) const {
  auto type = typeOrNull(v);
  return type ? type.getElementType() : Float32Type::get(b.getContext());
}
bool LayerBuilder::isFloat(Value v) const { return isa<FloatType>(elem(v)); }
bool LayerBuilder::isConstant(Value v) const {
  return v && v.getDefiningOp<nn::ConstantOp>();
}

RankedTensorType LayerBuilder::type(ArrayRef<int64_t> shape, Type element) {
  if (failed_)
    return {};
  if (shape.size() > maxRank)
    return refuse("a tensor of rank " + Twine(shape.size()),
                  "at most " + Twine(maxRank));
  uint64_t bytes = nn::storageElementSize(element);
  bool overflow = false;
  // A zero elsewhere must not hide an absurd size.
  for (int64_t d : shape) {
    if (d < 0)
      return refuse("a tensor of shape " + str(shape), "no negative dimension");
    bool here = false;
    bytes = llvm::SaturatingMultiply(bytes, uint64_t(d == 0 ? 1 : d), &here);
    overflow |= here;
  }
  if (overflow || bytes > maxTensorBytes_)
    return refuse("a tensor of shape " + str(shape) + " (" + typeName(element) +
                      ")",
                  "at most " + Twine(maxTensorBytes_) + " bytes");
  return RankedTensorType::get(shape, element);
}

bool LayerBuilder::reserve(RankedTensorType type) {
  uint64_t bytes = nn::storageSize(type);
  if (!nn::ConstantBudget::of(context()).take(bytes))
    fail("a constant of " + Twine(bytes) + " bytes to compute",
         "less beside those computed before");
  return !failed_;
}

int64_t LayerBuilder::axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    fail("axis " + Twine(axis), "an axis in [" + Twine(-rank) + ", " +
                                    Twine(rank - 1) + "] for rank " +
                                    Twine(rank));
    return 0;
  }
  return axis < 0 ? axis + rank : axis;
}

Ints LayerBuilder::axes(ArrayRef<int64_t> values, int64_t rank) {
  Ints result;
  llvm::SmallBitVector seen(rank);
  for (int64_t v : values) {
    int64_t a = axis(v, rank);
    if (failed_)
      return {};
    if (seen[a]) {
      fail("axes " + str(values), "each axis once");
      return {};
    }
    seen[a] = true;
    result.push_back(a);
  }
  return result;
}

bool LayerBuilder::expectRank(Value v, int64_t low, int64_t high,
                              const char *what) {
  if (failed_)
    return false;
  int64_t r = rank(v);
  if (r >= low && r <= high)
    return true;
  return refuse(Twine(what) + " of rank " + Twine(r) + " " + str(shape(v)),
                low == high ? "rank " + Twine(low).str()
                            : "rank " + std::to_string(low) + " to " +
                                  std::to_string(high));
}

bool LayerBuilder::expectShape(Value v, ArrayRef<int64_t> expected,
                               const char *what) {
  if (v && shape(v) != Ints(expected))
    fail(Twine(what) + " of shape " + str(shape(v)), str(expected));
  return !failed_;
}

Ints LayerBuilder::broadcastShape(ArrayRef<int64_t> lhs,
                                  ArrayRef<int64_t> rhs) {
  Ints result(std::max(lhs.size(), rhs.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t l = i < lhs.size() ? lhs[lhs.size() - 1 - i] : 1;
    int64_t r = i < rhs.size() ? rhs[rhs.size() - 1 - i] : 1;
    if (l != r && l != 1 && r != 1) {
      fail("shapes " + str(lhs) + " and " + str(rhs),
           "shapes that broadcast to each other");
      return {};
    }
    result[result.size() - 1 - i] = l == 1 ? r : l;
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value LayerBuilder::constant(ElementsAttr value) {
  if (failed_ || !value)
    return {};
  return nn::createConstant(b, loc_, value);
}

Value LayerBuilder::scalar(Type element, double value) {
  return splat({}, element, value);
}

Value LayerBuilder::splat(ArrayRef<int64_t> shape, Type element, double value) {
  RankedTensorType t = type(shape, element);
  return t ? constant(nn::makeSplat(t, value)) : Value();
}

Value LayerBuilder::ints(ArrayRef<int64_t> values) {
  return ints({int64_t(values.size())}, values);
}

Value LayerBuilder::ints(ArrayRef<int64_t> shape, ArrayRef<int64_t> values) {
  RankedTensorType t = type(shape, i64());
  if (!t || !reserve(t))
    return {};
  return constant(nn::makeConstant(
      t, ArrayRef<char>(reinterpret_cast<const char *>(values.data()),
                        values.size() * sizeof(int64_t))));
}

Value LayerBuilder::doubles(ArrayRef<int64_t> shape, Type element,
                            ArrayRef<double> values) {
  assert((failed_ ||
          llvm::product_of(shape) == static_cast<int64_t>(values.size())) &&
         "a value for each element");
  return generate(shape, element, [&](int64_t i) { return values[i]; });
}

Value LayerBuilder::generate(ArrayRef<int64_t> shape, Type element,
                             llvm::function_ref<double(int64_t)> value) {
  RankedTensorType t = type(shape, element);
  if (!t || !reserve(t))
    return {};
  assert(nn::ElementCodec::get(element) && "an element type of ONNX");
  int64_t n = t.getNumElements(), width = nn::storageElementSize(element);
  return constant(nn::makeConstant(t, [&](MutableArrayRef<char> target) {
    for (int64_t i = 0; i < n; ++i)
      nn::storeNumber(element, value(i), target.data() + i * width);
  }));
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

Values LayerBuilder::create(StringRef name, ArrayRef<Value> operands,
                            ArrayRef<NamedAttribute> attributes,
                            TypeRange types, unsigned count) {
  Values none(count);
  if (failed_)
    return none;
  // The dialect's own message becomes ours, so that there is exactly one.
  std::string message;
  FailureOr<SmallVector<Value>> results = failure();
  {
    ScopedDiagnosticHandler handler(context(), [&](Diagnostic &diagnostic) {
      if (message.empty() &&
          diagnostic.getSeverity() == DiagnosticSeverity::Error)
        message = diagnostic.str();
      return success();
    });
    results = nn::tryCreate(b, loc_, name, operands, attributes, types);
  }
  if (mlir::failed(results)) {
    fail(message.empty() ? "cannot build " + Twine(name).str() : message);
    return none;
  }
  assert(results->size() == count && "the caller counts on so many");
  for (Value v : *results) {
    auto t = dyn_cast<RankedTensorType>(v.getType());
    if (t && !type(t.getShape(), t.getElementType()))
      return none;
  }
  return Values(results->begin(), results->end());
}

Value LayerBuilder::unary(UnaryKind k, Value x, ArrayRef<double> params) {
  return create<nn::UnaryOp>({x}, {attr("function", function(k, params))});
}

/// Fails if they are not.
static bool areOfOneType(LayerBuilder &b, Value x, Value y) {
  if (!b.failed() && b.elem(x) != b.elem(y))
    b.fail("operands of " + typeName(b.elem(x)) + " and " + typeName(b.elem(y)),
           "operands of one type");
  return !b.failed();
}

Value LayerBuilder::binary(BinaryKind k, Value x, Value y) {
  if (!areOfOneType(*this, x, y))
    return {};
  Ints s = broadcastShape(shape(x), shape(y));
  if (!type(s, elem(x)))
    return {};
  return create<nn::BinaryOp>({x, y}, {kind<nn::BinaryKindAttr>("kind", k)});
}

Value LayerBuilder::binary(BinaryKind k, Value x, double y) {
  return binary(k, x, scalar(elem(x), y));
}

Value LayerBuilder::select(Value condition, Value x, Value y) {
  if (!areOfOneType(*this, x, y))
    return {};
  Ints s = broadcastShape(broadcastShape(shape(x), shape(y)), shape(condition));
  if (!type(s, elem(x)))
    return {};
  return create<nn::SelectOp>({condition, x, y}, {});
}

Value LayerBuilder::cast(Value x, Type element, bool saturate,
                         nn::Rounding rounding) {
  if (failed_ || elem(x) == element)
    return x;
  if (element.isInteger(1)) {
    if (nn::isSmall(elem(x)))
      x = cast(x, f32());
    return logicalNot(binary(BinaryKind::equal, x, 0.0));
  }
  RankedTensorType t = type(shape(x), element);
  if (!t)
    return {};
  return create<nn::CastOp>({x},
                            {flag("saturate", saturate),
                             kind<nn::RoundingAttr>("rounding", rounding)},
                            t);
}

Value LayerBuilder::reshape(Value x, ArrayRef<int64_t> newShape) {
  if (failed_)
    return {};
  Ints s(newShape);
  int64_t known = 1, infer = -1;
  bool overflow = false;
  for (auto [i, d] : llvm::enumerate(s)) {
    if (d == -1 && infer < 0)
      infer = i;
    else if (d < 0 || llvm::MulOverflow(known, d, known))
      overflow = true;
  }
  int64_t n = size(x);
  if (!overflow && infer >= 0 && known != 0 && n % known == 0) {
    s[infer] = n / known;
    known = n;
  } else if (!overflow && infer >= 0 && known == 0 && n == 0) {
    s[infer] = 0;
  } else if (infer >= 0) {
    overflow = true;
  }
  if (overflow || known != n)
    return refuse("a reshape of " + str(shape(x)) + " to " + str(newShape),
                  "the same number of elements");
  if (s == shape(x))
    return x;
  RankedTensorType t = type(s, elem(x));
  return t ? create<nn::ReshapeOp>({x}, {}, t) : Value();
}

Value LayerBuilder::unsqueeze(Value x, ArrayRef<int64_t> at) {
  if (failed_)
    return {};
  Ints positions = axes(at, rank(x) + at.size());
  if (failed_)
    return {};
  llvm::sort(positions);
  Ints s = shape(x);
  for (int64_t p : positions)
    s.insert(s.begin() + p, 1);
  return reshape(x, s);
}

Value LayerBuilder::transpose(Value x, ArrayRef<int64_t> perm) {
  if (failed_)
    return {};
  Ints p = axes(perm, rank(x));
  if (!failed_ && int64_t(p.size()) != rank(x))
    fail("a permutation " + str(perm) + " of rank " + Twine(rank(x)),
         "one axis a dimension");
  if (failed_ || llvm::is_sorted(p))
    return failed_ ? Value() : x;
  return create<nn::TransposeOp>({x}, {list("perm", p)});
}

Value LayerBuilder::broadcast(Value x, ArrayRef<int64_t> s) {
  if (failed_)
    return {};
  if (broadcastShape(shape(x), s) != Ints(s))
    fail("shape " + str(shape(x)), "one that broadcasts to " + str(s));
  RankedTensorType t = type(s, elem(x));
  if (!t || Ints(s) == shape(x))
    return t ? x : Value();
  return create<nn::BroadcastOp>({x}, {}, t);
}

Value LayerBuilder::slice(Value x, ArrayRef<int64_t> starts,
                          ArrayRef<int64_t> sizes, ArrayRef<int64_t> steps) {
  if (failed_)
    return x;
  if (Ints(sizes) == shape(x) &&
      llvm::all_of(steps, [](int64_t s) { return s == 1; })) {
    assert(llvm::all_of(starts, [](int64_t s) { return s == 0; }) &&
           "all of it begins where it begins");
    return x;
  }
  return create<nn::SliceOp>({x}, {list("starts", starts), list("sizes", sizes),
                                   list("steps", steps)});
}

Value LayerBuilder::slice(Value x, int64_t axis, int64_t start, int64_t size,
                          int64_t step) {
  if (failed_)
    return {};
  Ints sizes = shape(x), starts(sizes.size(), 0), steps(sizes.size(), 1);
  if (axis < 0 || axis >= int64_t(sizes.size()))
    return refuse("axis " + Twine(axis), "an axis of " + str(sizes));
  starts[axis] = start;
  sizes[axis] = size;
  steps[axis] = step;
  return slice(x, starts, sizes, steps);
}

Value LayerBuilder::sliceAt(Value x, int64_t axis, int64_t index) {
  if (failed_)
    return {};
  Ints s = shape(x);
  s.erase(s.begin() + axis);
  return reshape(slice(x, axis, index, 1), s);
}

Value LayerBuilder::concat(ArrayRef<Value> values, int64_t axis) {
  if (failed_)
    return {};
  if (values.empty())
    return refuse("no tensors to concatenate", "at least one");
  if (values.size() == 1)
    return values[0];
  Ints total = shape(values[0]);
  if (axis < 0 || axis >= int64_t(total.size()))
    return refuse("axis " + Twine(axis), "an axis of " + str(total));
  total[axis] = 0;
  for (Value v : values) {
    Ints s = shape(v), expected = total;
    if (s.size() == total.size())
      expected[axis] = s[axis];
    if (s != expected || elem(v) != elem(values[0]))
      return refuse("operands " + str(shape(values[0])) + " " +
                        typeName(elem(values[0])) + " and " + str(s) + " " +
                        typeName(elem(v)),
                    "shapes equal but for axis " + Twine(axis) +
                        ", and one type");
    total[axis] += s[axis];
    if (!type(total, elem(v)))
      return {};
  }
  return create<nn::ConcatOp>(values, {attr("axis", axis)});
}

Value LayerBuilder::pad(Value x, ArrayRef<int64_t> low, ArrayRef<int64_t> high,
                        nn::PadMode mode, Value value) {
  if (failed_)
    return {};
  Ints s = shape(x), l(low), h(high), starts(s.size(), 0), sizes = s;
  Ints padded = s;
  if (l.size() != s.size() || h.size() != s.size())
    return refuse("pads " + str(low) + ", " + str(high),
                  "two a dimension of " + str(s));
  bool any = false;
  for (size_t i = 0; i < s.size(); ++i) {
    if (std::max(std::abs(double(l[i])), std::abs(double(h[i]))) > 1e12)
      return refuse("pads " + str(low) + ", " + str(high), "smaller ones");
    if (l[i] < 0) {
      starts[i] = -l[i];
      sizes[i] += l[i];
      l[i] = 0;
    }
    if (h[i] < 0) {
      sizes[i] += h[i];
      h[i] = 0;
    }
    if (sizes[i] < 0)
      return refuse("pads " + str(low) + ", " + str(high),
                    "pads that leave something of " + str(s));
    padded[i] = sizes[i] + l[i] + h[i];
    any |= l[i] || h[i];
  }
  x = slice(x, starts, sizes, Ints(s.size(), 1));
  if (!any || !type(padded, elem(x)))
    return failed_ ? Value() : x;
  SmallVector<Value> operands{x};
  if (value)
    operands.push_back(reshape(value, {}));
  return create<nn::PadOp>(operands, {list("low", l), list("high", h),
                                      kind<nn::PadModeAttr>("mode", mode)});
}

Value LayerBuilder::gather(Value x, Value indices, int64_t axis) {
  if (failed_)
    return {};
  Ints s = shape(x), idx = shape(indices), result;
  for (int64_t i = 0; i < int64_t(s.size()); ++i)
    if (i == axis)
      result.append(idx);
    else
      result.push_back(s[i]);
  if (!type(result, elem(x)))
    return {};
  return create<nn::GatherOp>({x, indices}, {attr("axis", axis)});
}

Value LayerBuilder::reduce(ReduceKind k, Value x, ArrayRef<int64_t> at,
                           bool keepDims) {
  if (failed_ || at.empty())
    return x;
  Ints sorted(at);
  llvm::sort(sorted);
  return create<nn::ReduceOp>({x}, {kind<nn::ReduceKindAttr>("kind", k),
                                    list("axes", sorted),
                                    flag("keep_dims", keepDims)});
}

Value LayerBuilder::argReduce(ReduceKind k, Value x, int64_t axis,
                              bool keepDims, bool selectLast) {
  return create<nn::ArgReduceOp>(
      {x}, {kind<nn::ReduceKindAttr>("kind", k), attr("axis", axis),
            flag("keep_dims", keepDims), flag("select_last", selectLast)});
}

Value LayerBuilder::softmax(Value x, int64_t axis, bool log) {
  return create<nn::SoftmaxOp>({x}, {attr("axis", axis), flag("log", log)});
}

Value LayerBuilder::normalize(Value x, int64_t axis, double epsilon) {
  return create<nn::NormalizeOp>(
      {x}, {attr("axis", axis), number("epsilon", epsilon)});
}

Value LayerBuilder::matmul(Value lhs, Value rhs, Value bias, bool transposeLhs,
                           bool transposeRhs) {
  if (failed_)
    return {};
  return create<nn::MatMulOp>({lhs, rhs, bias, Value()},
                              {flag("transpose_lhs", transposeLhs),
                               flag("transpose_rhs", transposeRhs)});
}
