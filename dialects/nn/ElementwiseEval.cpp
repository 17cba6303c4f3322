//===- ElementwiseEval.cpp - Element-wise layers on constants -------------===//
#include "dialects/nn/ElementBlocks.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/SmallTypes.h"

#include "llvm/ADT/bit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

namespace {

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

using Params = ArrayRef<double>;
using FloatUnary = double (*)(double, Params);

double sigmoid(double x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}
double softplus(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}
/// Keeps NaN, unlike std::clamp with its arguments reversed.
double clamp(double x, double low, double high) {
  return x < low ? low : x > high ? high : x;
}

struct UnaryEntry {
  UnaryKind kind;
  unsigned params; // how many it needs
  FloatUnary compute;
};

constexpr double sqrt2 = 1.41421356237309504880;
constexpr double sqrt2OverPi = 0.79788456080286535588;

const UnaryEntry unaryTable[] = {
    {UnaryKind::identity, 0, [](double x, Params) { return x; }},
    {UnaryKind::abs, 0, [](double x, Params) { return std::fabs(x); }},
    {UnaryKind::neg, 0, [](double x, Params) { return -x; }},
    {UnaryKind::sign, 0,
     [](double x, Params) { return x > 0   ? 1.0
                                   : x < 0 ? -1.0
                                           : x; }},
    {UnaryKind::reciprocal, 0, [](double x, Params) { return 1 / x; }},
    {UnaryKind::sqrt, 0, [](double x, Params) { return std::sqrt(x); }},
    {UnaryKind::exp, 0, [](double x, Params) { return std::exp(x); }},
    {UnaryKind::log, 0, [](double x, Params) { return std::log(x); }},
    {UnaryKind::erf, 0, [](double x, Params) { return std::erf(x); }},
    {UnaryKind::floor, 0, [](double x, Params) { return std::floor(x); }},
    {UnaryKind::ceil, 0, [](double x, Params) { return std::ceil(x); }},
    {UnaryKind::round, 0, [](double x, Params) { return std::nearbyint(x); }},
    {UnaryKind::sin, 0, [](double x, Params) { return std::sin(x); }},
    {UnaryKind::cos, 0, [](double x, Params) { return std::cos(x); }},
    {UnaryKind::tan, 0, [](double x, Params) { return std::tan(x); }},
    {UnaryKind::asin, 0, [](double x, Params) { return std::asin(x); }},
    {UnaryKind::acos, 0, [](double x, Params) { return std::acos(x); }},
    {UnaryKind::atan, 0, [](double x, Params) { return std::atan(x); }},
    {UnaryKind::sinh, 0, [](double x, Params) { return std::sinh(x); }},
    {UnaryKind::cosh, 0, [](double x, Params) { return std::cosh(x); }},
    {UnaryKind::tanh, 0, [](double x, Params) { return std::tanh(x); }},
    {UnaryKind::asinh, 0, [](double x, Params) { return std::asinh(x); }},
    {UnaryKind::acosh, 0, [](double x, Params) { return std::acosh(x); }},
    {UnaryKind::atanh, 0, [](double x, Params) { return std::atanh(x); }},
    {UnaryKind::relu, 0, [](double x, Params) { return x < 0 ? 0.0 : x; }},
    {UnaryKind::leaky_relu, 1,
     [](double x, Params p) { return x < 0 ? p[0] * x : x; }},
    {UnaryKind::elu, 1,
     [](double x, Params p) { return x < 0 ? p[0] * std::expm1(x) : x; }},
    {UnaryKind::celu, 1,
     [](double x, Params p) {
       return x < 0 ? p[0] * std::expm1(x / p[0]) : x;
     }},
    {UnaryKind::selu, 2,
     [](double x, Params p) {
       return p[1] * (x < 0 ? p[0] * std::expm1(x) : x);
     }},
    {UnaryKind::sigmoid, 0, [](double x, Params) { return sigmoid(x); }},
    {UnaryKind::hard_sigmoid, 2,
     [](double x, Params p) { return clamp(p[0] * x + p[1], 0, 1); }},
    {UnaryKind::hard_swish, 2,
     [](double x, Params p) { return x * clamp(p[0] * x + p[1], 0, 1); }},
    {UnaryKind::swish, 1,
     [](double x, Params p) { return x * sigmoid(p[0] * x); }},
    {UnaryKind::gelu, 0,
     [](double x, Params) { return 0.5 * x * (1 + std::erf(x / sqrt2)); }},
    {UnaryKind::gelu_tanh, 0,
     [](double x, Params) {
       return 0.5 * x *
              (1 + std::tanh(sqrt2OverPi * (x + 0.044715 * x * x * x)));
     }},
    {UnaryKind::mish, 0,
     [](double x, Params) { return x * std::tanh(softplus(x)); }},
    {UnaryKind::softplus, 0, [](double x, Params) { return softplus(x); }},
    {UnaryKind::softsign, 0,
     [](double x, Params) { return x / (1 + std::fabs(x)); }},
    {UnaryKind::thresholded_relu, 1,
     [](double x, Params p) { return x > p[0] ? x : 0.0; }},
    {UnaryKind::shrink, 2,
     [](double x, Params p) {
       return x < -p[0] ? x + p[1] : x > p[0] ? x - p[1] : 0.0;
     }},
    {UnaryKind::clip, 2,
     [](double x, Params p) { return std::min(std::max(x, p[0]), p[1]); }},
    {UnaryKind::affine, 2,
     [](double x, Params p) { return p[1] == 0 ? p[0] * x : p[0] * x + p[1]; }},
    {UnaryKind::logical_not, 0,
     [](double x, Params) { return x == 0 ? 1.0 : 0.0; }},
    {UnaryKind::is_nan, 0,
     [](double x, Params) { return std::isnan(x) ? 1.0 : 0.0; }},
    {UnaryKind::is_inf, 2,
     [](double x, Params p) {
       return std::isinf(x) && (x < 0 ? p[0] : p[1]) != 0 ? 1.0 : 0.0;
     }},
};

/// A function that integers need exact; others go by way of double.
using IntUnary = int64_t (*)(int64_t);
struct IntUnaryEntry {
  UnaryKind kind;
  IntUnary ofSigned, ofUnsigned;
};
int64_t wrappingNegate(int64_t x) {
  return static_cast<int64_t>(0 - static_cast<uint64_t>(x));
}
int64_t sameInt(int64_t x) { return x; }
int64_t invertedInt(int64_t x) { return ~x; }
int64_t isZeroInt(int64_t x) { return x == 0; }
const IntUnaryEntry intUnaryTable[] = {
    {UnaryKind::identity, sameInt, sameInt},
    {UnaryKind::floor, sameInt, sameInt},
    {UnaryKind::ceil, sameInt, sameInt},
    {UnaryKind::round, sameInt, sameInt},
    {UnaryKind::abs, [](int64_t x) { return x < 0 ? wrappingNegate(x) : x; },
     sameInt},
    {UnaryKind::neg, wrappingNegate, wrappingNegate},
    {UnaryKind::sign, [](int64_t x) { return int64_t(x > 0) - (x < 0); },
     [](int64_t x) { return int64_t(x != 0); }},
    {UnaryKind::relu, [](int64_t x) { return x < 0 ? 0 : x; }, sameInt},
    {UnaryKind::bitwise_not, invertedInt, invertedInt},
    {UnaryKind::logical_not, isZeroInt, isZeroInt},
};

template <typename Table, typename Kind>
auto *lookup(const Table &table, Kind kind) {
  auto it =
      llvm::find_if(table, [&](auto &entry) { return entry.kind == kind; });
  return it == std::end(table) ? nullptr : &*it;
}
} // namespace

ElementsAttr nn::evalUnary(FunctionAttr function, const ConstantData &input,
                           RankedTensorType type) {
  UnaryKind kind = function.getKind();
  ElementCodec::Domain domain = input.codec().domain;
  const IntUnaryEntry *ints = lookup(intUnaryTable, kind);
  if (ints && domain != ElementCodec::Float) {
    IntUnary compute =
        domain == ElementCodec::Signed ? ints->ofSigned : ints->ofUnsigned;
    return evalBlocks({&input}, type, /*asFloat=*/false,
                      [&](MutableArrayRef<ElementBlock> blocks, int64_t n) {
                        for (int64_t i = 0; i < n; ++i)
                          blocks[0].ints[i] = compute(blocks[0].ints[i]);
                      });
  }
  const UnaryEntry *floats = lookup(unaryTable, kind);
  Params params = function.getParams();
  if (!floats || params.size() < floats->params)
    return {};
  return evalBlocks({&input}, type, /*asFloat=*/true,
                    [&](MutableArrayRef<ElementBlock> blocks, int64_t n) {
                      for (int64_t i = 0; i < n; ++i)
                        blocks[0].floats[i] =
                            floats->compute(blocks[0].floats[i], params);
                    });
}

/// The double that rounds to any narrower float as the integer does: where it
/// is not exact its last bit is one ("round to odd").
static double toOddDouble(uint64_t magnitude) {
  int excess = 64 - llvm::countl_zero(magnitude) - 53;
  if (excess <= 0)
    return static_cast<double>(magnitude);
  uint64_t kept = magnitude >> excess;
  return std::ldexp(static_cast<double>(kept | (kept << excess != magnitude)),
                    excess);
}

ElementsAttr nn::evalCast(const ConstantData &input, RankedTensorType type,
                          bool saturate, Rounding rounding) {
  const ElementCodec *to = ElementCodec::get(type.getElementType());
  if (!to)
    return {};
  bool asFloat = input.codec().domain == ElementCodec::Float ||
                 to->domain == ElementCodec::Float;
  const artifact::SmallFloat *format = smallFloat(type.getElementType());
  bool isSigned = input.codec().domain == ElementCodec::Signed;
  // Through the nearest double an integer of 64 bits would be rounded twice.
  if (to->domain == ElementCodec::Float && !type.getElementType().isF64() &&
      !format && (isSigned || input.codec().domain == ElementCodec::Unsigned))
    return evalBlocks({&input}, type, /*asFloat=*/false, /*storesFloat=*/true,
                      [&](MutableArrayRef<ElementBlock> blocks, int64_t n) {
                        for (int64_t i = 0; i < n; ++i) {
                          int64_t x = blocks[0].ints[i];
                          auto bits = static_cast<uint64_t>(x);
                          blocks[0].floats[i] = isSigned && x < 0
                                                    ? -toOddDouble(0 - bits)
                                                    : toOddDouble(bits);
                        }
                      });
  return evalBlocks({&input}, type, asFloat,
                    [&](MutableArrayRef<ElementBlock> blocks, int64_t n) {
                      // The store's own conversion is exact then.
                      for (int64_t i = 0; format && i < n; ++i)
                        blocks[0].floats[i] = format->decode(format->encode(
                            blocks[0].floats[i], saturate, toFormat(rounding)));
                    });
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

namespace {
// Signed arithmetic wraps: done on the unsigned type.
template <typename T>
using Wrapping = std::conditional_t<std::is_floating_point_v<T>, T, uint64_t>;

struct Add {
  template <typename T> T operator()(T a, T b) const {
    return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
  }
};
struct Sub {
  template <typename T> T operator()(T a, T b) const {
    return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b));
  }
};
struct Mul {
  template <typename T> T operator()(T a, T b) const {
    return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
  }
};
/// Integers truncate toward zero; the divisor is not zero.
struct Div {
  template <typename T> T operator()(T a, T b) const {
    if constexpr (std::is_signed_v<T> && !std::is_floating_point_v<T>)
      if (b == -1)
        return wrappingNegate(a);
    return a / b;
  }
};
struct Pow {
  template <typename T> T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::pow(a, b);
    } else {
      if constexpr (std::is_signed_v<T>)
        if (b < 0)
          return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
      uint64_t result = 1, base = static_cast<uint64_t>(a);
      for (auto e = static_cast<uint64_t>(b); e; e >>= 1, base *= base)
        if (e & 1)
          result *= base;
      return static_cast<T>(result);
    }
  }
};
/// NaN in either operand gives NaN.
struct Min {
  template <typename T> T operator()(T a, T b) const {
    return a != a ? a : b != b ? b : std::min(a, b);
  }
};
struct Max {
  template <typename T> T operator()(T a, T b) const {
    return a != a ? a : b != b ? b : std::max(a, b);
  }
};
struct FMod {
  template <typename T> T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if constexpr (std::is_signed_v<T>)
        if (b == -1)
          return 0;
      return a % b;
    }
  }
};
struct Mod {
  template <typename T> T operator()(T a, T b) const {
    T r = FMod()(a, b);
    if constexpr (std::is_floating_point_v<T>)
      if (r == 0) // zero has the sign of the divisor as well
        return std::copysign(T(0), b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
};
struct PRelu {
  template <typename T> T operator()(T x, T slope) const {
    return x >= 0 ? x : Mul()(slope, x);
  }
};
struct LogicalXor {
  template <typename T> T operator()(T a, T b) const {
    return (a != 0) != (b != 0);
  }
};
struct ShiftLeft {
  template <typename T> T operator()(T a, T b) const {
    auto by = static_cast<uint64_t>(b);
    return by < 64 ? static_cast<T>(static_cast<uint64_t>(a) << by) : 0;
  }
};
struct ShiftRight {
  template <typename T> T operator()(T a, T b) const {
    auto by = static_cast<uint64_t>(b);
    return a >> (by < 64 ? by : 63) >> (by < 64 ? 0 : 1);
  }
};

template <typename Op, typename T>
void map(const void *lhs, const void *rhs, void *result, int64_t n) {
  auto *a = static_cast<const T *>(lhs), *b = static_cast<const T *>(rhs);
  auto *r = static_cast<T *>(result);
  for (int64_t i = 0; i < n; ++i)
    r[i] = Op()(a[i], b[i]);
}

using BinaryMap = void (*)(const void *, const void *, void *, int64_t);
struct BinaryEntry {
  BinaryKind kind;
  BinaryMap maps[3]; // by ElementCodec::Domain
};

template <typename Op> constexpr BinaryEntry numeric(BinaryKind kind) {
  return {kind, {map<Op, double>, map<Op, int64_t>, map<Op, uint64_t>}};
}
template <typename Op> constexpr BinaryEntry integral(BinaryKind kind) {
  return {kind, {nullptr, map<Op, int64_t>, map<Op, uint64_t>}};
}

const BinaryEntry binaryTable[] = {
    numeric<Add>(BinaryKind::add),
    numeric<Sub>(BinaryKind::sub),
    numeric<Mul>(BinaryKind::mul),
    numeric<Div>(BinaryKind::div),
    numeric<Pow>(BinaryKind::pow),
    numeric<Min>(BinaryKind::min),
    numeric<Max>(BinaryKind::max),
    numeric<Mod>(BinaryKind::mod),
    numeric<FMod>(BinaryKind::fmod),
    numeric<PRelu>(BinaryKind::prelu),
    numeric<std::equal_to<>>(BinaryKind::equal),
    numeric<std::less<>>(BinaryKind::less),
    numeric<std::less_equal<>>(BinaryKind::less_equal),
    numeric<std::greater<>>(BinaryKind::greater),
    numeric<std::greater_equal<>>(BinaryKind::greater_equal),
    numeric<std::logical_and<>>(BinaryKind::logical_and),
    numeric<std::logical_or<>>(BinaryKind::logical_or),
    numeric<LogicalXor>(BinaryKind::logical_xor),
    integral<std::bit_and<>>(BinaryKind::bitwise_and),
    integral<std::bit_or<>>(BinaryKind::bitwise_or),
    integral<std::bit_xor<>>(BinaryKind::bitwise_xor),
    integral<ShiftLeft>(BinaryKind::shift_left),
    integral<ShiftRight>(BinaryKind::shift_right),
};

bool dividesByZero(BinaryKind kind, const ConstantData &rhs) {
  if (kind != BinaryKind::div && kind != BinaryKind::mod &&
      kind != BinaryKind::fmod)
    return false;
  int64_t n = rhs.isSplat() ? 1 : rhs.type().getNumElements();
  for (int64_t i = 0; i < n; ++i)
    if (rhs.asInt(i) == 0)
      return true;
  return false;
}
} // namespace

ElementsAttr nn::evalBinary(BinaryKind kind, const ConstantData &lhs,
                            const ConstantData &rhs, RankedTensorType type) {
  const BinaryEntry *entry = lookup(binaryTable, kind);
  if (!entry)
    return {};
  // Operand types differ only for pow and shifts.
  ElementCodec::Domain domain = lhs.codec().domain;
  if (rhs.codec().domain == ElementCodec::Float)
    domain = ElementCodec::Float;
  bool asFloat = domain == ElementCodec::Float;
  BinaryMap compute = entry->maps[domain];
  if (!compute || (!asFloat && dividesByZero(kind, rhs)))
    return {};
  return evalBlocks({&lhs, &rhs}, type, asFloat,
                    [&](MutableArrayRef<ElementBlock> blocks, int64_t n) {
                      compute(&blocks[0], &blocks[1], &blocks[0], n);
                    });
}

ElementsAttr nn::evalSelect(const ConstantData &condition,
                            const ConstantData &lhs, const ConstantData &rhs,
                            RankedTensorType type) {
  bool asFloat = lhs.codec().domain == ElementCodec::Float;
  auto choose = [](auto &c, auto &l, auto &r, int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      c[i] = c[i] != 0 ? l[i] : r[i];
  };
  return evalBlocks({&condition, &lhs, &rhs}, type, asFloat,
                    [&](MutableArrayRef<ElementBlock> b, int64_t n) {
                      if (asFloat)
                        choose(b[0].floats, b[1].floats, b[2].floats, n);
                      else
                        choose(b[0].ints, b[1].ints, b[2].ints, n);
                    });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

namespace {
struct ReduceEntry {
  ReduceKind kind;
  BinaryKind combine;
  double initial; // saturates for integers
};
constexpr double infinity = std::numeric_limits<double>::infinity();
const ReduceEntry reduceTable[] = {
    {ReduceKind::sum, BinaryKind::add, 0},
    {ReduceKind::mean, BinaryKind::add, 0},
    {ReduceKind::prod, BinaryKind::mul, 1},
    {ReduceKind::max, BinaryKind::max, -infinity},
    {ReduceKind::min, BinaryKind::min, infinity},
};
} // namespace

/// A splat may have any number of elements, each of which is visited.
static constexpr int64_t mostReduced = int64_t(1) << 28;

ElementsAttr nn::evalReduce(ReduceKind kind, ArrayRef<int64_t> axes,
                            const ConstantData &input, RankedTensorType type) {
  type = withLayout(type, "");
  const ReduceEntry *entry = lookup(reduceTable, kind);
  int64_t results = type.getNumElements();
  int64_t elements = input.type().getNumElements();
  if (!entry || type.getElementType() != input.type().getElementType() ||
      elements == 0 || results == 0 || elements > mostReduced)
    return {};
  const ElementCodec &codec = input.codec();
  bool asFloat = codec.domain == ElementCodec::Float;
  BinaryMap combine = lookup(binaryTable, entry->combine)->maps[codec.domain];

  // The accumulators in the order of the result, walked with stride 0 along
  // the reduced axes.
  ArrayRef<int64_t> shape = input.shape();
  SmallVector<int64_t> kept(shape), strides;
  for (int64_t axis : axes)
    kept[axis] = 1;
  strides = broadcastStrides(kept, shape);
  SmallVector<int64_t> inputStrides =
      input.isSplat() ? SmallVector<int64_t>(shape.size(), 0)
                      : denseStrides(shape);
  StridedLoop loop(shape, {inputStrides, strides});

  union Value {
    double asDouble;
    int64_t asInt;
  };
  if (!reserveResult(type, {&input}))
    return {};
  SmallVector<Value> accumulators(results);
  Value initial;
  MLIRContext *context = type.getContext();
  Type wide = asFloat ? Type(Float64Type::get(context))
              : codec.domain == ElementCodec::Unsigned
                  ? IntegerType::get(context, 64, IntegerType::Unsigned)
                  : IntegerType::get(context, 64);
  ElementCodec::get(wide)->storeDouble(&entry->initial, 1,
                                       reinterpret_cast<char *>(&initial));
  std::fill(accumulators.begin(), accumulators.end(), initial);
  loop.forEachRow([&](ArrayRef<int64_t> offsets) {
    for (int64_t i = 0; i < loop.rowLength(); ++i) {
      Value element;
      const char *from = input.stored().data() +
                         (offsets[0] + i * loop.rowStride(0)) * codec.size;
      if (asFloat)
        codec.loadDouble(from, 0, 1, &element.asDouble);
      else
        codec.loadInt(from, 0, 1, &element.asInt);
      Value &to = accumulators[offsets[1] + i * loop.rowStride(1)];
      combine(&to, &element, &to, 1);
    }
  });
  if (kind == ReduceKind::mean) {
    int64_t count = elements / results;
    for (Value &value : accumulators)
      if (asFloat)
        value.asDouble /= static_cast<double>(count);
      else
        value.asInt /= count;
  }
  return makeConstant(type, [&](MutableArrayRef<char> result) {
    for (auto [i, value] : llvm::enumerate(accumulators)) {
      char *to = result.data() + i * codec.size;
      if (asFloat)
        codec.storeDouble(&value.asDouble, 1, to);
      else
        codec.storeInt(&value.asInt, 1, to);
    }
  });
}
