//===- RandomLayer.cpp - Small layers of every kind -----------------------===//

#include "RandomLayer.h"

#include "dialects/nn/Layout.h"
#include "dialects/nn/NNBuild.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace nnv12;

namespace nnv12::test {
namespace {

using Shape = SmallVector<int64_t>;
using Attributes = std::vector<NamedAttribute>;

/// Builds one layer on arguments of @main.
class Maker {
public:
  explicit Maker(Random &random)
      : random(random), context(MLIRContext::Threading::DISABLED), b(&context) {
    context.loadDialect<func::FuncDialect, nn::NNDialect>();
    module = ModuleOp::create(b.getUnknownLoc());
    b.setInsertionPointToStart(module->getBody());
    main = func::FuncOp::create(b, b.getUnknownLoc(), "main",
                                b.getFunctionType({}, {}));
    b.setInsertionPointToStart(main.addEntryBlock());
  }

  /// False for a layer that folded away, or that there cannot be.
  bool make(const std::string &kind);
  RandomLayer finish();

private:
  //===--------------------------------------------------------------------===//
  // Operands and attributes
  //===--------------------------------------------------------------------===//

  RankedTensorType type(ArrayRef<int64_t> shape, Type element = {}) {
    return RankedTensorType::get(shape, element ? element : b.getF32Type());
  }
  Value argument(RankedTensorType type, int64_t lo, int64_t hi) {
    layer.ranges.push_back({lo, hi});
    return main.getBody().front().addArgument(type, b.getUnknownLoc());
  }
  Value real(ArrayRef<int64_t> shape) { return argument(type(shape), 0, 0); }
  Value integer(ArrayRef<int64_t> shape, int64_t lo, int64_t hi,
                unsigned bits = 64) {
    return argument(type(shape, b.getIntegerType(bits)), lo, hi);
  }
  Value byte(ArrayRef<int64_t> shape) { return integer(shape, -128, 127, 8); }
  /// Absent once in two times.
  Value perhaps(ArrayRef<int64_t> shape) {
    return random.oneOf(2) ? real(shape) : Value();
  }
  static ArrayRef<int64_t> shapeOf(Value value) {
    return nn::typeOf(value).getShape();
  }

  Shape shape(int64_t least, int64_t most, int64_t largest = 6) {
    return sizes(random.from(least, most), 1, largest);
  }
  Shape sizes(int64_t count, int64_t lo, int64_t hi) {
    Shape result;
    for (int64_t i = 0; i < count; ++i)
      result.push_back(random.from(lo, hi));
    return result;
  }
  Shape permutation(int64_t rank) {
    Shape perm(rank);
    std::iota(perm.begin(), perm.end(), 0);
    for (int64_t i = rank; i-- > 1;)
      std::swap(perm[i], perm[random.below(i + 1)]);
    return perm;
  }

  NamedAttribute named(StringRef name, Attribute value) {
    return b.getNamedAttr(name, value);
  }
  NamedAttribute number(StringRef name, int64_t value) {
    return named(name, b.getI64IntegerAttr(value));
  }
  NamedAttribute numbers(StringRef name, ArrayRef<int64_t> values) {
    return named(name, b.getDenseI64ArrayAttr(values));
  }
  NamedAttribute reals(StringRef name, ArrayRef<double> values) {
    return named(name, b.getDenseF64ArrayAttr(values));
  }
  NamedAttribute flag(StringRef name, bool value) {
    return named(name, b.getBoolAttr(value));
  }
  Attribute parsed(const std::string &text) {
    return parseAttribute(text, &context);
  }
  /// An enumerator, of which one is taken.
  NamedAttribute pick(StringRef name, StringRef type,
                      std::vector<std::string> cases) {
    std::string one = cases[random.below(cases.size())];
    return named(name, parsed("#nn<" + type.str() + " " + one + ">"));
  }

  /// The first result; null where the layer folded or its types do not fit.
  Value add(StringRef kind, ValueRange operands, const Attributes &attributes,
            TypeRange types = {}) {
    auto results = nn::tryCreate(b, b.getUnknownLoc(), ("nn." + kind).str(),
                                 operands, attributes, types);
    return succeeded(results) ? results->front() : Value();
  }

  //===--------------------------------------------------------------------===//
  // Layers
  //===--------------------------------------------------------------------===//

  void addConv(StringRef kind);
  void addMatMul(bool ofBytes);
  void addBitsMatMul();
  void addQuantised(StringRef kind);
  /// A product of bytes with a vector of `columns` for bias and scale.
  void addProduct(StringRef kind, SmallVector<Value> factors, int64_t columns,
                  ArrayRef<int64_t> result, const Attributes &attributes);
  void addWindows(StringRef kind);
  void addResize();
  void addRecurrent();
  void addScatter(StringRef kind);
  void addGatherND();
  void addFuse();
  Value reshape(Value x);
  Value transpose(Value x) {
    return add("transpose", {x},
               {numbers("perm", permutation(shapeOf(x).size()))});
  }
  Value slice(Value x);
  Value pad(Value x, Value value);
  Value concat(Value x, Value y, int64_t axis) {
    return add("concat", {x, y}, {number("axis", axis)});
  }
  Value tanh(Value x) {
    return add("unary", {x}, {named("function", parsed("#nn.fn<tanh>"))});
  }
  Value binary(Value x, Value y) {
    return add("binary", {x, y},
               {named("kind", parsed("#nn<binary_kind sub>"))});
  }

  Random &random;
  MLIRContext context;
  // Attributes that do not fit: another layer is tried.
  ScopedDiagnosticHandler quiet{&context, [](Diagnostic &) {}};
  OpBuilder b;
  OwningOpRef<ModuleOp> module;
  func::FuncOp main;
  RandomLayer layer;
};

Value Maker::reshape(Value x) {
  // Its factors in another grouping.
  Shape factors, result{1};
  for (int64_t size : shapeOf(x))
    for (int64_t p = 2; size > 1; ++p)
      for (; size % p == 0; size /= p)
        factors.push_back(p);
  for (int64_t factor : factors)
    if (random.oneOf(2))
      result.back() *= factor;
    else
      result.push_back(factor);
  return add("reshape", {x}, {}, {type(result)});
}

Value Maker::slice(Value x) {
  Shape starts, counts, steps;
  for (int64_t size : shapeOf(x)) {
    int64_t step = random.from(1, 3), first = random.below(size);
    int64_t count = random.from(1, (size - first - 1) / step + 1);
    bool isBack = random.oneOf(2);
    counts.push_back(count);
    starts.push_back(isBack ? first + (count - 1) * step : first);
    steps.push_back(isBack ? -step : step);
  }
  return add("slice", {x},
             {numbers("starts", starts), numbers("sizes", counts),
              numbers("steps", steps)});
}

Value Maker::pad(Value x, Value value) {
  int64_t rank = shapeOf(x).size();
  auto mode =
      value ? pick("mode", "pad_mode", {"constant"})
            : pick("mode", "pad_mode", {"constant", "reflect", "edge", "wrap"});
  return add("pad", {x, value},
             {numbers("low", sizes(rank, 0, 3)),
              numbers("high", sizes(rank, 0, 3)), mode});
}

void Maker::addProduct(StringRef kind, SmallVector<Value> factors,
                       int64_t columns, ArrayRef<int64_t> result,
                       const Attributes &attributes) {
  bool hasBias = random.oneOf(2), hasScale = random.oneOf(2);
  Shape rows(result);
  rows[kind == "qconv" ? 1 : rows.size() - 1] = 1;
  bool goesOn = hasScale && random.oneOf(2);
  bool hasResidual = goesOn && random.oneOf(2);
  auto perhapsOne = [&](bool isThere, auto make) {
    return isThere ? make() : Value();
  };
  auto number = [&] { return real({}); };
  auto vector = [&] { return real({columns}); };
  auto zero = [&] { return byte({}); };
  factors.push_back(hasBias ? integer({columns}, -99, 99, 32) : Value());
  factors.push_back(hasResidual ? byte(result) : Value());
  factors.push_back(random.oneOf(2) ? integer(rows, -99, 99, 32) : Value());
  factors.push_back(hasScale ? real({columns}) : Value());
  factors.push_back(hasScale && random.oneOf(2) ? real({columns}) : Value());
  // The output's scale and zero point; step, offset; a residual's scale and
  // zero point; those of the result.
  factors.push_back(Value());
  factors.push_back(perhapsOne(goesOn && random.oneOf(2), zero));
  factors.push_back(perhapsOne(goesOn, vector));
  factors.push_back(perhapsOne(goesOn && random.oneOf(2), vector));
  factors.push_back(perhapsOne(hasResidual, number));
  factors.push_back(perhapsOne(hasResidual && random.oneOf(2), zero));
  factors.push_back(perhapsOne(goesOn && random.oneOf(2), number));
  factors.push_back(perhapsOne(goesOn && random.oneOf(2), zero));
  Type element = goesOn     ? Type(b.getI8Type())
                 : hasScale ? Type(b.getF32Type())
                            : Type(b.getI32Type());
  add(kind, factors, attributes, {type(result, element)});
}

void Maker::addQuantised(StringRef kind) {
  Shape x = shape(1, 4), scale(x.begin() + random.below(x.size()), x.end());
  for (int64_t &size : scale)
    size = random.oneOf(2) ? 1 : size;
  bool isQuantize = kind == "quantize";
  SmallVector<Value> operands{isQuantize ? real(x) : byte(x), real(scale)};
  operands.push_back(random.oneOf(2) ? byte(scale) : Value());
  add(kind, operands, {},
      {type(x, isQuantize ? Type(b.getI8Type()) : Type(b.getF32Type()))});
}

void Maker::addConv(StringRef kind) {
  bool isTransposed = kind == "conv_transpose";
  int64_t spatial = random.from(1, 3), groups = random.from(1, 3);
  int64_t in = random.from(1, 3), out = random.from(1, 3);
  Shape size = sizes(spatial, 3, spatial == 1 ? 9 : 6);
  Shape kernel = sizes(spatial, 1, 3), strides = sizes(spatial, 1, 3),
        dilations = sizes(spatial, 1, 2), low = sizes(spatial, 0, 2),
        high = sizes(spatial, 0, 2), more = sizes(spatial, 0, 1);
  Shape x{random.from(1, 2), groups * in}, y{x[0], groups * out}, w;
  w = isTransposed ? Shape{groups * in, out} : Shape{groups * out, in};
  for (int64_t d = 0; d < spatial; ++d) {
    int64_t reach = (kernel[d] - 1) * dilations[d];
    if (isTransposed)
      more[d] = std::min(more[d], strides[d] - 1);
    y.push_back(isTransposed
                    ? strides[d] * (size[d] - 1) + more[d] + reach + 1 -
                          low[d] - high[d]
                    : (size[d] + low[d] + high[d] - reach - 1) / strides[d] +
                          1);
  }
  x.append(size);
  w.append(kernel);
  if (*std::min_element(y.begin(), y.end()) < 1)
    return;
  Attributes attributes{numbers("strides", strides),
                        numbers("dilations", dilations),
                        numbers("pads_low", low), numbers("pads_high", high),
                        number("groups", groups)};
  if (isTransposed)
    attributes.push_back(numbers("output_padding", more));
  if (kind == "qconv") {
    Value input = byte(x), weights = byte(w);
    Value padding = random.oneOf(2) ? byte({}) : Value();
    return addProduct(kind, {input, weights, padding}, y[1], y, attributes);
  }
  if (random.oneOf(2))
    attributes.push_back(named("activation", parsed("#nn.fn<relu>")));
  Value input = real(x), weights = real(w), bias = perhaps({y[1]});
  add(kind, {input, weights, bias, perhaps(y)}, attributes);
}

void Maker::addMatMul(bool ofBytes) {
  int64_t m = random.from(1, 5), n = random.from(1, 5), k = random.from(1, 5);
  bool left = !ofBytes && random.oneOf(2), right = random.oneOf(2);
  Shape batch = shape(0, 2, 3), y = batch;
  auto matrix = [&](int64_t rows, int64_t columns) {
    Shape result(batch.begin() + random.below(batch.size() + 1), batch.end());
    for (int64_t &size : result)
      size = random.oneOf(3) ? 1 : size;
    result.push_back(rows);
    result.push_back(columns);
    return ofBytes ? byte(result) : real(result);
  };
  Value lhs = left ? matrix(k, m) : matrix(m, k);
  Value rhs = right ? matrix(n, k) : matrix(k, n);
  // As broadcast, from the end.
  ArrayRef<int64_t> l = shapeOf(lhs).drop_back(2), r = shapeOf(rhs);
  r = r.drop_back(2);
  y.assign(std::max(l.size(), r.size()), 1);
  for (size_t d = 0; d < y.size(); ++d)
    for (ArrayRef<int64_t> own : {l, r})
      if (d < own.size())
        y.rbegin()[d] = std::max(y.rbegin()[d], own[own.size() - 1 - d]);
  y.push_back(m);
  y.push_back(n);
  if (ofBytes)
    return addProduct("qmatmul", {lhs, rhs}, n, y,
                      {flag("transpose_rhs", right)});
  Value bias = random.oneOf(2) ? perhaps({n}) : perhaps({m, 1});
  add("matmul", {lhs, rhs, bias, perhaps(y)},
      {flag("transpose_lhs", left), flag("transpose_rhs", right)});
  layer.isExact = true;
}

void Maker::addBitsMatMul() {
  int64_t m = random.from(1, 5), n = random.from(1, 5), k = random.from(1, 9);
  int64_t bits = random.oneOf(2) ? 4 : 8, block = 2 * random.from(1, 3);
  Shape blocks{n, (k + block - 1) / block};
  bool isBytes = k % block == 0 && random.oneOf(2);
  Value lhs = isBytes
                  ? argument(type({m, k}, b.getIntegerType(8, false)), 0, 255)
                  : real({m, k});
  Value codes = byte({n, (k * bits + 7) / 8});
  Value scales = real(blocks), zeros = perhaps(blocks);
  Value lhsScales = isBytes ? real({m, k / block}) : Value();
  add("bits_matmul", {lhs, codes, scales, zeros, lhsScales, perhaps({n})},
      {number("bits", bits), number("block", block)},
      {type({m, n}, b.getF32Type())});
}

void Maker::addWindows(StringRef kind) {
  int64_t spatial = random.from(1, 3);
  Shape kernel = sizes(spatial, 1, 3), low, high;
  for (int64_t size : kernel) {
    low.push_back(random.below(size));
    high.push_back(random.below(size));
  }
  Shape x = sizes(2, 1, 3);
  x.append(sizes(spatial, 3, 6));
  Attributes attributes{numbers("kernel", kernel),
                        numbers("strides", sizes(spatial, 1, 3)),
                        numbers("dilations", sizes(spatial, 1, 2)),
                        numbers("pads_low", low), numbers("pads_high", high)};
  if (kind == "pool") {
    attributes.push_back(pick("kind", "pool_kind", {"max", "average"}));
    attributes.push_back(flag("count_include_pad", random.oneOf(2)));
  } else {
    attributes.push_back(flag("column_major", random.oneOf(2)));
  }
  add(kind, {real(x)}, attributes);
}

void Maker::addResize() {
  Shape x = shape(1, 4), y = x;
  SmallVector<double> scales, roi;
  for (size_t d = 0; d < x.size(); ++d) {
    y[d] = random.oneOf(2) ? x[d] : random.from(1, 9);
    scales.push_back(double(y[d]) / double(x[d]));
  }
  for (size_t d = 0; d < x.size(); ++d)
    roi.push_back(random.real() / 4);
  for (size_t d = 0; d < x.size(); ++d)
    roi.push_back(1 + random.real() / 4);
  add("resize", {real(x)},
      {reals("scales", scales),
       pick("mode", "resize_mode", {"nearest", "linear", "cubic"}),
       pick("coordinates", "coordinate_mode",
            {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
             "align_corners", "asymmetric", "tf_crop_and_resize",
             "tf_half_pixel_for_nn"}),
       pick("nearest", "nearest_mode",
            {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}),
       flag("exclude_outside", random.oneOf(4)),
       flag("antialias", random.oneOf(4)), reals("roi", roi)},
      {type(y)});
}

void Maker::addRecurrent() {
  int64_t steps = random.from(1, 4), batch = random.from(1, 4),
          hidden = random.from(1, 5);
  struct {
    const char *name;
    int64_t gates, functions;
  } const kinds[] = {{"rnn", 1, 1}, {"gru", 3, 2}, {"lstm", 4, 3}};
  auto kind = kinds[random.below(3)];
  bool isLstm = kind.gates == 4;
  Value gates = real({steps, batch, kind.gates * hidden});
  Value weights = real({kind.gates * hidden, hidden});
  Value h = perhaps({batch, hidden});
  Value c = isLstm ? perhaps({batch, hidden}) : Value();
  Value peepholes = isLstm ? perhaps({3 * hidden}) : Value();
  Value lengths = random.oneOf(2) ? integer({batch}, 0, steps, 32) : Value();
  SmallVector<Attribute> functions(kind.functions, parsed("#nn.fn<sigmoid>"));
  add("recurrent", {gates, weights, Value(), h, c, peepholes, lengths},
      {pick("kind", "recurrent_kind", {kind.name}),
       named("activations", b.getArrayAttr(functions)),
       flag("reverse", random.oneOf(2))},
      {type({steps, batch, hidden}), type({batch, hidden}),
       type({batch, hidden})});
}

void Maker::addGatherND() {
  Shape x = shape(2, 4, 5), indices;
  int64_t batch = random.below(x.size()), most = x.size() - batch;
  int64_t tuple = random.from(1, most);
  indices.append(x.begin(), x.begin() + batch);
  indices.append(shape(0, 2, 4));
  indices.push_back(tuple);
  Value input = real(x);
  add("gather_nd", {input, integer(indices, -6, 6)},
      {number("batch_dims", batch)});
}

void Maker::addScatter(StringRef kind) {
  Shape x = shape(1, 3, 5), indices, updates;
  Attributes attributes{
      pick("reduction", "scatter_reduction", {"none", "add", "max"})};
  int64_t least = *std::min_element(x.begin(), x.end());
  if (kind == "scatter_elements") {
    for (int64_t size : x)
      indices.push_back(random.from(1, size));
    updates = indices;
    attributes.push_back(number("axis", random.below(x.size())));
  } else {
    int64_t tuple = random.from(1, x.size());
    indices = shape(0, 2, 3);
    updates = indices;
    updates.append(x.begin() + tuple, x.end());
    indices.push_back(tuple);
  }
  Value input = real(x), places = integer(indices, -least, least - 1);
  add(kind, {input, places, real(updates)}, attributes);
}

void Maker::addFuse() {
  SmallVector<Value> inputs{real(shape(2, 4, 5)), real({1})};
  SmallVector<Type> types{inputs[0].getType(), inputs[1].getType()};
  auto fuse = nn::FuseOp::create(b, b.getUnknownLoc(), types[0], inputs);
  Block *body = b.createBlock(&fuse.getBody(), {}, types,
                              {b.getUnknownLoc(), b.getUnknownLoc()});
  Value x = body->getArgument(0);
  for (int64_t n = random.from(2, 5); n-- > 0;) {
    Value next;
    switch (random.below(7)) {
    case 0:
      next = reshape(x);
      break;
    case 1:
      next = transpose(x);
      break;
    case 2:
      next = slice(x);
      break;
    case 3:
      next = pad(x, {});
      break;
    case 4:
      next = concat(x, tanh(x), random.below(shapeOf(x).size()));
      break;
    case 5:
      next = tanh(x);
      break;
    case 6:
      next = binary(x, body->getArgument(1));
      break;
    }
    if (next && nn::typeOf(next).getNumElements() <= 5000)
      x = next;
  }
  x = tanh(x);
  nn::YieldOp::create(b, b.getUnknownLoc(), x);
  fuse.getOutput().setType(nn::typeOf(x));
  b.setInsertionPointAfter(fuse);
}

bool Maker::make(const std::string &kind) {
  auto axisOf = [&](ArrayRef<int64_t> of) {
    return number("axis", random.below(of.size()));
  };
  auto rows = shape(1, 4);
  if (kind == "adapt") {
    Shape x = sizes(4, 1, 5);
    x[1] = random.from(1, 40);
    layer.isExact = true;
    add(kind, {real(x)}, {}, {nn::withLayout(type(x), "aBcd16b")});
  } else if (kind == "unary") {
    layer.isExact = true;
    tanh(real(rows));
  } else if (kind == "binary" || kind == "select" || kind == "broadcast") {
    Shape less(rows.begin() + random.below(rows.size()), rows.end());
    for (int64_t &size : less)
      size = random.oneOf(3) ? 1 : size;
    if (kind == "broadcast") {
      layer.isExact = true;
      add(kind, {real(less)}, {}, {type(rows)});
    } else if (kind == "binary") {
      layer.isExact = true;
      Value x = real(less);
      binary(x, real(rows));
    } else {
      Value condition = integer(less, 0, 1, 1), x = real(rows);
      add(kind, {condition, x, real(less)}, {});
    }
  } else if (kind == "cast" || kind == "bitcast") {
    layer.isExact = true;
    Type to = kind == "cast" ? Type(b.getF64Type()) : Type(b.getI32Type());
    add(kind, {real(rows)}, {}, {type(rows, to)});
  } else if (kind == "reshape") {
    reshape(real(shape(1, 4, 8)));
  } else if (kind == "transpose") {
    layer.isExact = true;
    transpose(real(rows));
  } else if (kind == "slice") {
    layer.isExact = true;
    slice(real(shape(1, 4, 9)));
  } else if (kind == "concat") {
    layer.isExact = true;
    Shape other = rows;
    int64_t axis = random.below(rows.size());
    other[axis] = random.from(1, 5);
    Value x = real(rows);
    concat(x, real(other), axis);
  } else if (kind == "pad") {
    Value x = real(rows);
    pad(x, perhaps({}));
  } else if (kind == "gather") {
    int64_t axis = random.below(rows.size());
    Value x = real(rows);
    add(kind, {x, integer(shape(0, 2), -rows[axis] - 1, rows[axis])},
        {number("axis", axis)});
  } else if (kind == "gather_elements") {
    auto axis = axisOf(rows);
    Shape indices = rows;
    indices[random.below(rows.size())] = 1;
    Value x = real(rows);
    add(kind, {x, integer(indices, -6, 6)}, {axis});
  } else if (kind == "gather_nd") {
    addGatherND();
  } else if (kind == "scatter_elements" || kind == "scatter_nd") {
    addScatter(kind);
  } else if (kind == "reverse_sequence") {
    Shape x = shape(2, 4);
    int64_t time = random.below(2);
    Value input = real(x);
    add(kind, {input, integer({x[1 - time]}, 0, x[time])},
        {number("batch_axis", 1 - time), number("time_axis", time)});
  } else if (kind == "reduce") {
    Shape axes;
    for (size_t d = 0; d < rows.size(); ++d)
      if (random.oneOf(2))
        axes.push_back(d);
    auto how = pick("kind", "reduce_kind", {"sum", "mean", "max", "min"});
    add(kind, {real(rows)},
        {how, numbers("axes", axes), flag("keep_dims", random.oneOf(2))});
  } else if (kind == "arg_reduce") {
    add(kind, {real(rows)},
        {pick("kind", "reduce_kind", {"max", "min"}), axisOf(rows),
         flag("keep_dims", random.oneOf(2)),
         flag("select_last", random.oneOf(2))});
  } else if (kind == "cumsum") {
    layer.isExact = true;
    add(kind, {real(rows)},
        {axisOf(rows), flag("exclusive", random.oneOf(2)),
         flag("reverse", random.oneOf(2))});
  } else if (kind == "topk") {
    int64_t axis = random.below(rows.size());
    add(kind, {real(rows)},
        {number("k", random.from(1, rows[axis])), number("axis", axis),
         flag("largest", random.oneOf(2))});
  } else if (kind == "non_max_suppression") {
    int64_t images = random.from(1, 3), boxes = random.from(1, 9);
    Value corners = real({images, boxes, 4});
    Value scores = real({images, random.from(1, 3), boxes});
    Value iou = real({1}), score = real({1});
    add(kind, {corners, scores, iou, score, integer({1}, 0, boxes + 1)},
        {number("most", random.from(1, boxes)),
         flag("centered", random.oneOf(2)), flag("filtered", random.oneOf(2))});
  } else if (kind == "softmax") {
    add(kind, {real(rows)}, {axisOf(rows)});
  } else if (kind == "normalize") {
    add(kind, {real(rows)},
        {axisOf(rows), named("epsilon", b.getF64FloatAttr(1e-5))});
  } else if (kind == "quantize" || kind == "dequantize") {
    addQuantised(kind);
  } else if (kind == "conv" || kind == "conv_transpose" || kind == "qconv") {
    addConv(kind);
  } else if (kind == "matmul" || kind == "qmatmul") {
    addMatMul(kind == "qmatmul");
  } else if (kind == "bits_matmul") {
    addBitsMatMul();
  } else if (kind == "pool" || kind == "max_pool_indices") {
    addWindows(kind);
  } else if (kind == "resize") {
    addResize();
  } else if (kind == "grid_sample") {
    int64_t spatial = random.from(2, 3);
    Shape x = sizes(2, 1, 3), grid{x[0]};
    x.append(sizes(spatial, 1, 4));
    grid.append(sizes(spatial, 1, 4));
    grid.push_back(spatial);
    Value input = real(x);
    add(kind, {input, real(grid)},
        {pick("mode", "resize_mode", {"nearest", "linear"}),
         named("padding", b.getStringAttr("border")),
         flag("align_corners", random.oneOf(2))});
  } else if (kind == "roi_align") {
    Shape x = sizes(4, 2, 4);
    int64_t regions = random.from(1, 4);
    Value input = real(x), rois = real({regions, 4});
    add(kind, {input, rois, integer({regions}, 0, x[0] - 1)},
        {pick("kind", "pool_kind", {"max", "average"}),
         number("output_height", random.from(1, 3)),
         number("output_width", random.from(1, 3)), number("sampling_ratio", 2),
         named("spatial_scale", b.getF64FloatAttr(2)),
         flag("half_pixel", random.oneOf(2))});
  } else if (kind == "recurrent") {
    addRecurrent();
  } else if (kind == "fuse") {
    addFuse();
  }
  return !main.getBody().front().empty();
}

RandomLayer Maker::finish() {
  Block &block = main.getBody().front();
  Operation *op = &block.front();
  func::ReturnOp::create(b, b.getUnknownLoc(), op->getResults());
  main.setFunctionType(
      b.getFunctionType(block.getArgumentTypes(), op->getResultTypes()));
  llvm::raw_string_ostream(layer.text) << *module;
  return layer;
}

} // namespace

std::vector<std::string> layerKinds() {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<nn::NNDialect>();
  std::vector<std::string> kinds;
  for (RegisteredOperationName name :
       context.getRegisteredOperationsByDialect("nn"))
    if (name.stripDialect() != "constant" && name.stripDialect() != "yield")
      kinds.push_back(name.stripDialect().str());
  return kinds;
}

RandomLayer randomLayer(const std::string &kind, Random &random) {
  for (int tries = 0; tries < 100; ++tries) {
    Maker maker(random);
    if (maker.make(kind))
      return maker.finish();
  }
  return {}; // found no way to make one
}

} // namespace nnv12::test
