//===- ElementResampling.cpp - Layers that interpolate --------------------===//

#include "compiler/codegen/common/ElementTypes.h"
#include "compiler/codegen/common/Math.h"
#include "compiler/codegen/common/MathExpand.h"

#include "dialects/nn/ResizeTaps.h"
#include "mlir/IR/TypeUtilities.h"

#include <cassert>
#include <cmath>
#include <limits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;
using nn::BinaryKind;

/// f64 if a tensor is of it, else f32.
static Type realOf(ArrayRef<Value> tensors) {
  MLIRContext *context = tensors.front().getContext();
  for (Value tensor : tensors)
    if (ElementEmitter::elementType(tensor).isF64())
      return Float64Type::get(context);
  return Float32Type::get(context);
}

//===----------------------------------------------------------------------===//
// Resize: taps of every output position are known at compile time
//===----------------------------------------------------------------------===//

static Value emitResize(ElementEmitter &e, Operation *op,
                        ArrayRef<Coord> index) {
  auto resize = cast<nn::ResizeOp>(op);
  Value input = resize.getInput();
  ArrayRef<int64_t> in = e.view(input).shape,
                    out = e.view(op->getResult(0)).shape;
  Type element = e.elementType(input);
  // Nearest moves elements; the others compute in floats.
  bool nearest = resize.getMode() == nn::ResizeMode::nearest;
  Type type = realOf(input), i32 = e.k.b.getI32Type();
  struct Dim {
    unsigned d;
    nn::ResizeTaps taps;
    Value source, weight;
  };
  SmallVector<Dim> dims;
  Value inside;
  for (unsigned d = 0; d < in.size(); ++d) {
    Dim dim = {d, nn::ResizeTaps::of(resize, d, in[d], out[d]), {}, {}};
    bool identity =
        dim.taps.count == 1 && in[d] == out[d] && dim.taps.inside.empty();
    for (int64_t o = 0; identity && o < out[d]; ++o)
      identity = dim.taps.source[o] == o && dim.taps.weight[o] == 1;
    if (identity)
      continue;
    dim.source = e.table(dim.taps.source, i32);
    if (dim.taps.count > 1)
      dim.weight = e.table(dim.taps.weight, type);
    if (!dim.taps.inside.empty()) {
      Value flags = e.load(e.table(dim.taps.inside, i32), index[d]);
      Value here =
          e.k.compare(Order::ne, flags, e.k.iconst(0, flags.getType()));
      inside = inside ? e.binary(BinaryKind::bitwise_and, inside, here) : here;
    }
    dims.push_back(std::move(dim));
  }
  Coords at(index);
  // Goes to a tap along a dimension; returns its place in the tables.
  auto moveTo = [&](const Dim &dim, const Coord &t) {
    Coord place = e.at.add(e.at.mul(t, dim.taps.size), index[dim.d]);
    at[dim.d] = e.at.fromValue(e.load(dim.source, place), 0,
                               std::max<int64_t>(in[dim.d] - 1, 0));
    return place;
  };
  // Two taps a dimension at most: one sum over all corners, in the order in
  // which ONNX Runtime adds them, so that a tie there is one here.
  Value corners;
  std::function<void(size_t, Value)> addCorners = [&](size_t next,
                                                      Value weight) {
    if (next == dims.size()) {
      Value x = emitCast(e.k, e.element(input, at), element, type);
      if (weight)
        x = e.binary(BinaryKind::mul, weight, x);
      corners = corners ? e.binary(BinaryKind::add, corners, x) : x;
      return;
    }
    Dim &dim = dims[next];
    for (int64_t t = 0; t < dim.taps.count; ++t) {
      Coord place = moveTo(dim, Coord(t));
      Value product = weight;
      if (dim.taps.count > 1) {
        product = e.load(dim.weight, place);
        if (weight)
          product = e.binary(BinaryKind::mul, weight, product);
      }
      addCorners(next + 1, product);
    }
  };
  std::function<Value(size_t)> sum = [&](size_t next) -> Value {
    if (next == dims.size()) {
      Value x = e.element(input, at);
      return nearest ? x : emitCast(e.k, x, element, type);
    }
    Dim &dim = dims[next];
    auto tap = [&](const Coord &t) -> Value {
      Coord place = moveTo(dim, t);
      if (dim.taps.count == 1)
        return sum(next + 1);
      Value weight = e.load(dim.weight, place);
      return e.binary(BinaryKind::mul, sum(next + 1), weight);
    };
    if (dim.taps.count <= 4) {
      Value total = tap(Coord(0));
      for (int64_t t = 1; t < dim.taps.count; ++t)
        total = e.binary(BinaryKind::add, total, tap(Coord(t)));
      return total;
    }
    Value zero = e.allLanes(e.k.fconst(0, type));
    return e.loop(0, dim.taps.count, 1, {zero}, [&](Value t, ValueRange s) {
      Value x = e.allLanes(tap(Coord(t, 0, dim.taps.count - 1)));
      return Values{arith::AddFOp::create(e.k.b, s[0], x)};
    })[0];
  };
  Value result;
  if (!nearest &&
      llvm::all_of(dims, [](const Dim &d) { return d.taps.count <= 2; })) {
    addCorners(0, {});
    result = corners;
  } else {
    result = sum(0);
  }
  if (!nearest)
    result = emitCast(e.k, result, type, element);
  if (inside) {
    Value outside = emitCast(
        e.k, e.k.fconst(resize.getExtrapolation().convertToDouble(), type),
        type, element);
    result = e.select(inside, result, outside);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Sampling at computed places
//===----------------------------------------------------------------------===//

/// A whole float in the integer range as a coordinate in [0, size).
static Coord toCoord(ElementEmitter &e, FloatMath &m, Value x, int64_t size) {
  assert(size > 0 && "there is an element to read");
  Value bounded = m.clamp(x, m.c(0), m.c(double(size - 1)));
  // A NaN is no place either.
  bounded = m.select(m.isNaN(x), m.c(0), bounded);
  Type type = withElement(x.getType(), e.k.b.getI32Type());
  return e.at.fromValue(arith::FPToSIOp::create(e.k.b, type, bounded), 0,
                        size - 1);
}

static Value emitGridSample(ElementEmitter &e, Operation *op,
                            ArrayRef<Coord> index) {
  auto sample = cast<nn::GridSampleOp>(op);
  Value input = sample.getInput(), grid = sample.getGrid();
  ArrayRef<int64_t> in = e.view(input).shape;
  Type element = e.elementType(input);
  unsigned spatial = in.size() - 2;
  if (llvm::is_contained(in, 0))
    return emitCast(e.k, e.k.fconst(0, e.k.b.getF32Type()), e.k.b.getF32Type(),
                    element);
  Type type = realOf({input, grid});
  bool align = sample.getAlignCorners(), zeros = sample.getPadding() == "zeros";
  bool reflect = sample.getPadding() == "reflection";

  // The place along each dimension, in elements. The grid names x first.
  Coords where = {index[0]};
  where.append(index.begin() + 2, index.end());
  where.push_back(Coord(0));
  Values place;
  bool varying = false;
  for (unsigned d = 0; d < spatial; ++d) {
    where.back() = Coord(int64_t(spatial - 1 - d));
    Value g = emitCast(e.k, e.element(grid, where), e.elementType(grid), type);
    varying |= isa<VectorType>(g.getType());
    place.push_back(g);
  }
  if (varying)
    for (Value &g : place)
      g = e.allLanes(g);
  FloatMath m(e.k, place[0].getType());
  auto reflected = [&](Value x, double lo, double hi) {
    // Mirrors at lo and hi.
    double range = hi - lo;
    if (range == 0)
      return m.c(lo);
    Value distance = m.abs(m.sub(x, m.c(lo)));
    Value turns = m.floor(m.div(distance, m.c(range)));
    Value rest = m.sub(distance, m.mul(turns, m.c(range)));
    Value half = m.mul(turns, m.c(0.5));
    Value even = m.equal(m.floor(half), half);
    return m.select(even, m.add(rest, m.c(lo)), m.sub(m.c(hi), rest));
  };
  auto reflectedInto = [&](Value x, double size) {
    return align ? reflected(x, 0, size - 1) : reflected(x, -0.5, size - 0.5);
  };
  for (unsigned d = 0; d < spatial; ++d) {
    double size = in[d + 2];
    Value g = place[d];
    place[d] = align ? m.mul(m.mul(m.add(g, m.c(1)), m.c(0.5)), m.c(size - 1))
                     : m.mul(m.sub(m.mul(m.add(g, m.c(1)), m.c(size)), m.c(1)),
                             m.c(0.5));
  }
  // One element, by its whole place along each dimension.
  auto fetch = [&](ArrayRef<Value> whole) -> Value {
    Coords at = {index[0], index[1]};
    Value inside;
    for (unsigned d = 0; d < spatial; ++d) {
      double size = in[d + 2];
      Value x = whole[d];
      if (reflect)
        x = reflectedInto(x, size);
      if (zeros) {
        Value ok =
            e.k.bitAnd(m.compare(arith::CmpFPredicate::OGE, x, m.c(0)),
                       m.compare(arith::CmpFPredicate::OLE, x, m.c(size - 1)));
        inside = inside ? e.k.bitAnd(inside, ok) : ok;
      }
      // A reflected place may be half way; nearest has it rounded.
      at.push_back(toCoord(e, m, reflect ? m.roundEven(x) : x, in[d + 2]));
    }
    Value x = emitCast(e.k, e.element(input, at), element, type);
    if (!inside)
      return x;
    return e.select(inside, x, e.k.fconst(0, type));
  };

  Value result;
  if (sample.getMode() == nn::ResizeMode::nearest) {
    Values whole;
    for (Value x : place)
      whole.push_back(m.roundEven(x));
    result = fetch(whole);
  } else {
    bool cubic = sample.getMode() == nn::ResizeMode::cubic;
    if (!cubic) {
      // Border and reflection act on the place before it is split.
      for (unsigned d = 0; d < spatial; ++d) {
        double size = in[d + 2];
        if (reflect)
          place[d] = reflectedInto(place[d], size);
        if (!zeros)
          place[d] = m.clamp(place[d], m.c(0), m.c(size - 1));
      }
    }
    struct Tap {
      Value whole, weight;
    };
    SmallVector<SmallVector<Tap>> taps;
    for (Value x : place) {
      Value floor = m.floor(x), f = m.sub(x, floor);
      SmallVector<Tap> row;
      if (!cubic) {
        row = {{floor, m.sub(m.c(1), f)}, {m.add(floor, m.c(1)), f}};
      } else {
        constexpr double a = -0.75;
        for (int i = -1; i <= 2; ++i) {
          Value t = m.abs(m.sub(f, m.c(i)));
          Value near = m.polynomial(t, {1, 0, -(a + 3), a + 2});
          Value far = m.polynomial(t, {-4 * a, 8 * a, -5 * a, a});
          row.push_back({m.add(floor, m.c(i)), i == 0 || i == 1 ? near : far});
        }
      }
      taps.push_back(row);
    }
    Values whole(spatial);
    std::function<Value(unsigned)> sum = [&](unsigned d) -> Value {
      if (d == spatial)
        return fetch(whole);
      Value total;
      for (const Tap &tap : taps[d]) {
        whole[d] = tap.whole;
        Value term = e.binary(BinaryKind::mul, sum(d + 1), tap.weight);
        total = total ? Value(arith::AddFOp::create(e.k.b, total, term)) : term;
      }
      return total;
    };
    result = sum(0);
  }
  return emitCast(e.k, result, type, element);
}

static Value emitRoiAlign(ElementEmitter &e, Operation *op,
                          ArrayRef<Coord> index) {
  // Called for one element at a time: the number of samples differs by region.
  assert(e.at.lanes == 1 && "emitElementKernel() plans no vectors");
  auto align = cast<nn::RoiAlignOp>(op);
  Value input = align.getInput(), rois = align.getRois();
  ArrayRef<int64_t> in = e.view(input).shape;
  Type element = e.elementType(input);
  Type type = realOf(input);
  if (llvm::is_contained(in, 0))
    return emitCast(e.k, e.k.fconst(0, type), type, element);
  FloatMath m(e.k, type);
  double scale = align.getSpatialScale().convertToDouble();
  double shift = align.getHalfPixel() ? 0.5 : 0;
  auto corner = [&](int64_t i) {
    Value x = emitCast(e.k, e.element(rois, {index[0], Coord(i)}),
                       e.elementType(rois), type);
    return m.sub(m.mul(x, m.c(scale)), m.c(shift));
  };
  Value x0 = corner(0), y0 = corner(1), x1 = corner(2), y1 = corner(3);
  Value width = m.sub(x1, x0), height = m.sub(y1, y0);
  if (!align.getHalfPixel()) {
    width = m.max(width, m.c(1));
    height = m.max(height, m.c(1));
  }
  int64_t outH = align.getOutputHeight(), outW = align.getOutputWidth();
  Value binH = m.div(height, m.c(double(outH))),
        binW = m.div(width, m.c(double(outW)));
  Type i64 = e.k.b.getI64Type();
  auto samples = [&](Value bin) -> Value {
    int64_t ratio = align.getSamplingRatio();
    if (ratio > 0)
      return e.k.constant(ratio);
    // At most enough samples to cover the input once over, for any region.
    Value n =
        m.clamp(m.ceil(bin), m.c(0), m.c(double(std::max(in[2], in[3])) + 1));
    n = m.select(m.isNaN(n), m.c(0), n);
    return arith::IndexCastOp::create(e.k.b, e.k.b.getIndexType(),
                                      arith::FPToSIOp::create(e.k.b, i64, n));
  };
  Value countH = samples(binH), countW = samples(binW);
  auto asFloat = [&](Value i) -> Value {
    return arith::SIToFPOp::create(e.k.b, type,
                                   arith::IndexCastOp::create(e.k.b, i64, i));
  };
  Value stepH = m.div(binH, asFloat(countH)),
        stepW = m.div(binW, asFloat(countW));
  Value top = m.add(y0, m.mul(asFloat(e.k.val(index[2].base)), binH));
  Value left = m.add(x0, m.mul(asFloat(e.k.val(index[3].base)), binW));
  Coord batch = e.indexFrom(align.getBatchIndices(), index[0], in[0]);
  bool max = align.getKind() == nn::PoolKind::max;

  auto sampleAt = [&](Value y, Value x, Value sum) -> Value {
    auto outside = [&](Value v, int64_t size) -> Value {
      return e.k.bitOr(m.less(v, m.c(-1)), m.greater(v, m.c(double(size))));
    };
    Value none = e.k.bitOr(outside(y, in[2]), outside(x, in[3]));
    auto split = [&](Value v, int64_t size, Coord &low, Coord &high, Value &f) {
      v = m.clamp(v, m.c(0), m.c(double(size - 1)));
      Value floor = m.floor(v);
      f = m.sub(v, floor);
      low = toCoord(e, m, floor, size);
      high = toCoord(e, m, m.add(floor, m.c(1)), size);
    };
    Coord yl, yh, xl, xh;
    Value fy, fx;
    split(y, in[2], yl, yh, fy);
    split(x, in[3], xl, xh, fx);
    auto term = [&](Coord yy, Coord xx, Value wy, Value wx) {
      Value v = emitCast(e.k, e.element(input, {batch, index[1], yy, xx}),
                         element, type);
      return m.mul(m.mul(wy, wx), v);
    };
    Value gy = m.sub(m.c(1), fy), gx = m.sub(m.c(1), fx);
    Value a = term(yl, xl, gy, gx), b = term(yl, xh, gy, fx);
    Value c = term(yh, xl, fy, gx), d = term(yh, xh, fy, fx);
    Value v =
        max ? m.max(m.max(a, b), m.max(c, d)) : m.add(m.add(a, b), m.add(c, d));
    v = m.select(none, m.c(0), v);
    return max ? m.max(sum, v) : m.add(sum, v);
  };
  Value start = m.c(max ? -std::numeric_limits<double>::infinity() : 0);
  Value total = e.loop(0, countH, 1, {start}, [&](Value i, ValueRange s) {
    Value y = m.add(top, m.mul(m.add(asFloat(i), m.c(0.5)), stepH));
    return e.loop(0, countW, 1, {s[0]}, [&](Value j, ValueRange t) {
      Value x = m.add(left, m.mul(m.add(asFloat(j), m.c(0.5)), stepW));
      return Values{sampleAt(y, x, t[0])};
    });
  })[0];
  Value count = m.mul(asFloat(countH), asFloat(countW));
  Value empty = m.equal(count, m.c(0));
  Value result = max ? total : m.div(total, m.select(empty, m.c(1), count));
  result = m.select(empty, m.c(0), result);
  return emitCast(e.k, result, type, element);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Reads the first operand, and computes the result of it in `real`.
static void interpolatedTypes(ElementTypes &t, Operation *op, Type real) {
  Type element = ElementEmitter::elementType(op->getOperand(0));
  t.read(op->getOperand(0));
  castTypes(t, element, real);
  t.compute(real);
  castTypes(t, real, element);
}

static void resizeTypes(ElementTypes &t, Operation *op) {
  auto resize = cast<nn::ResizeOp>(op);
  Type real = realOf(resize.getInput()),
       i32 = IntegerType::get(op->getContext(), 32);
  bool crop = resize.getCoordinates() == nn::CoordinateMode::tf_crop_and_resize;
  bool nearest = resize.getMode() == nn::ResizeMode::nearest;
  for (size_t d = 0; d < resize.getScales().size(); ++d) {
    t.addTable(i32);
    if (!nearest)
      t.addTable(real);
    if (crop)
      t.addTable(i32);
  }
  if (nearest)
    t.read(resize.getInput());
  else
    interpolatedTypes(t, op, real);
  if (crop) // or the value outside
    t.computeIn(op->getResult(0));
}

static void gridSampleTypes(ElementTypes &t, Operation *op) {
  auto sample = cast<nn::GridSampleOp>(op);
  Value input = sample.getInput(), grid = sample.getGrid();
  Type real = realOf({input, grid});
  t.read(grid);
  castTypes(t, ElementEmitter::elementType(grid), real);
  interpolatedTypes(t, op, real);
}

static void roiAlignTypes(ElementTypes &t, Operation *op) {
  auto align = cast<nn::RoiAlignOp>(op);
  Value input = align.getInput(), rois = align.getRois();
  Type real = realOf(input);
  t.read(rois);
  castTypes(t, ElementEmitter::elementType(rois), real);
  t.readIndices(align.getBatchIndices(), nn::typeOf(input).getDimSize(0));
  // The number of samples is an integer of 64 bits.
  t.compute(IntegerType::get(op->getContext(), 64));
  interpolatedTypes(t, op, real);
}

ArrayRef<ElementFunction> codegen::resamplingFunctions() {
  static const ElementFunction functions[] = {
      {"nn.resize", emitResize, resizeTypes},
      {"nn.grid_sample", emitGridSample, gridSampleTypes},
      {"nn.roi_align", emitRoiAlign, roiAlignTypes},
  };
  return functions;
}
