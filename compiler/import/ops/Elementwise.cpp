//===- Elementwise.cpp - Element-wise operators ---------------------------===//

#include "compiler/import/Onnx.h"
#include "compiler/import/OpTable.h"
#include "dialects/nn/SmallTypes.h"

#include <algorithm>
#include <optional>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

//===----------------------------------------------------------------------===//
// One operand
//===----------------------------------------------------------------------===//

template <UnaryKind K> static void unary(Node &n) {
  n.out(n.unary(K, n.in(0)));
}

template <UnaryKind K> static void withAlpha(Node &n) {
  double absent = K == UnaryKind::leaky_relu ? 0.01 : 1;
  n.out(n.unary(K, n.in(0), {n.floatAttr("alpha", absent)}));
}

static void selu(Node &n) {
  bool old = n.opset() < 6;
  n.out(n.unary(
      UnaryKind::selu, n.in(0),
      {n.floatAttr("alpha", old ? 1.6732 : 1.67326319217681884765625),
       n.floatAttr("gamma", old ? 1.0507 : 1.05070102214813232421875)}));
}

static void hardSigmoid(Node &n) {
  n.out(n.unary(UnaryKind::hard_sigmoid, n.in(0),
                {n.floatAttr("alpha", 0.2), n.floatAttr("beta", 0.5)}));
}

static void hardSwish(Node &n) {
  n.out(n.unary(UnaryKind::hard_swish, n.in(0), {1.0 / 6, 0.5}));
}

static void shrink(Node &n) {
  n.out(n.unary(UnaryKind::shrink, n.in(0),
                {n.floatAttr("lambd", 0.5), n.floatAttr("bias", 0)}));
}

static void gelu(Node &n) {
  bool tanh = n.choice("approximate", "none", {"none", "tanh"});
  n.out(n.unary(tanh ? UnaryKind::gelu_tanh : UnaryKind::gelu, n.in(0)));
}

/// A function of the input plus an optional bias, which has one number for each
/// element of the last dimension.
template <UnaryKind K> static void withBias(Node &n) {
  Value x = n.in(0), bias = n.optional(1);
  if (n.expectShape(bias, {n.dim(x, n.rank(x) - 1)}, "a bias"))
    n.out(n.unary(K, bias ? n.add(x, bias) : x));
}

static void quickGelu(Node &n) {
  n.out(n.unary(UnaryKind::swish, n.in(0),
                {n.floatAttr("alpha", 1.70200002193450927734375)}));
}

static void isInf(Node &n) {
  n.out(n.unary(UnaryKind::is_inf, n.in(0),
                {double(n.intAttr("detect_negative", 1) != 0),
                 double(n.intAttr("detect_positive", 1) != 0)}));
}

static void identity(Node &n) {
  if (n.has(0) && n.value(0).kind != ImportValue::Tensor)
    return n.out(0, n.value(0));
  n.out(n.in(0));
}

/// Bounds were attributes up to operator set 10, since then they are inputs.
/// The defaults are the type's least and largest numbers, so infinity has a
/// bound always; where the bounds cross, the upper one wins.
static void clip(Node &n) {
  Value x = n.in(0);
  if (n.failed())
    return;
  double most = 0;
  if (auto type = dyn_cast<FloatType>(n.elem(x)))
    most =
        llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  auto clipped = [&](std::optional<double> low, std::optional<double> high) {
    double to = high.value_or(most);
    n.out(n.unary(UnaryKind::clip, x, {std::min(low.value_or(-most), to), to}));
  };
  if (n.opset() < 11) {
    std::optional<double> low, high;
    if (n.hasAttr("min"))
      low = n.floatAttr("min", 0);
    if (n.hasAttr("max"))
      high = n.floatAttr("max", 0);
    return clipped(low, high);
  }
  Value low = n.optional(1), high = n.optional(2);
  for (Value bound : {low, high})
    if (bound && n.size(bound) != 1)
      return n.fail("a bound of shape " + str(n.shape(bound)), "a scalar");
  auto lowData = n.data(low), highData = n.data(high);
  if (n.isFloat(x) && (!low || lowData) && (!high || highData))
    return clipped(low ? std::optional(lowData->asDouble(0)) : std::nullopt,
                   high ? std::optional(highData->asDouble(0)) : std::nullopt);
  if (low)
    x = n.binary(BinaryKind::max, x, n.reshape(low, {}));
  else if (n.isFloat(x))
    x = n.binary(BinaryKind::max, x, -most);
  if (high)
    x = n.binary(BinaryKind::min, x, n.reshape(high, {}));
  else if (n.isFloat(x))
    x = n.binary(BinaryKind::min, x, most);
  n.out(x);
}

static void castTo(Node &n, Value x, Type element) {
  bool saturate = n.intAttr("saturate", 1) != 0;
  auto rounding =
      n.choiceOf<nn::Rounding>("round_mode", "up", {"up", "down", "nearest"});
  if (n.failed())
    return;
  // Out of an integer's range anything goes; of a small one ONNX's reference,
  // and so its cases, keep the low bits.
  if (nn::isSmallInteger(element) && n.isFloat(x))
    x = n.cast(x, n.i32());
  if (!isa<Float8E8M0FNUType>(element))
    rounding = nn::Rounding::nearest;
  n.out(n.cast(x, element, saturate, rounding));
}

static void cast(Node &n) {
  int64_t to;
  if (n.opset() < 6) { // a type's name
    onnx::TensorProto::DataType type;
    std::string name = n.stringAttr("to", "");
    if (!onnx::TensorProto::DataType_Parse(name, &type))
      return n.fail("'to' = '" + name + "'", "an element type");
    to = type;
  } else {
    to = n.intAttr("to");
  }
  Type element = elementType(to, n.context());
  if (!element)
    return n.fail("a cast to " + dataTypeName(to), typeSetNames(kAny));
  castTo(n, n.in(0), element);
}

static void castLike(Node &n) { castTo(n, n.in(0), n.elem(n.in(1))); }

/// A bool is a byte, any but zero of which is true.
static void bitCast(Node &n) {
  Value x = n.in(0);
  int64_t to = n.intAttr("to");
  Type element = elementType(to, n.context());
  if (n.failed())
    return;
  auto width = [](Type type) {
    return type.isInteger(1) ? 8 : type.getIntOrFloatBitWidth();
  };
  Type from = n.elem(x);
  if (!element || width(element) != width(from))
    return n.fail("a bitcast of " + typeName(from) + " to " + dataTypeName(to),
                  "a type of " + Twine(width(from)) + " bits");
  Type byte = n.builder().getIntegerType(8, /*isSigned=*/false);
  if (from.isInteger(1))
    x = n.cast(x, byte);
  Type bits = element.isInteger(1) ? byte : element;
  RankedTensorType type = n.type(n.shape(x), bits);
  if (type && n.elem(x) != bits)
    x = n.create<nn::BitCastOp>({x}, {}, type);
  n.out(n.cast(x, element));
}

//===----------------------------------------------------------------------===//
// Two operands and more
//===----------------------------------------------------------------------===//

/// The second operand. Up to operator set 6 it broadcasts only if asked to, and
/// may be aligned with the first's dimensions from `axis`.
static Value secondOperand(Node &n) {
  Value x = n.in(0), y = n.in(1);
  if (n.opset() >= 7 || n.failed() || n.intAttr("broadcast", 0) == 0)
    return y;
  if (!n.hasAttr("axis"))
    return y;
  int64_t axis = n.axis(n.intAttr("axis", 0), n.rank(x));
  int64_t behind = n.rank(x) - axis - n.rank(y);
  if (behind < 0)
    return n.refuse("operands " + str(n.shape(x)) + " and " + str(n.shape(y)),
                    "the second inside the first from axis " + Twine(axis));
  Ints shape = n.shape(y);
  shape.append(behind, 1);
  return n.reshape(y, shape);
}

template <BinaryKind K> static void binary(Node &n) {
  Value y = secondOperand(n);
  n.out(n.binary(K, n.in(0), y));
}

/// fmod = 0 has the sign of the divisor, fmod = 1 that of the dividend. Floats
/// may have either since 28.
static void mod(Node &n) {
  Value x = n.in(0);
  bool fmod = n.intAttr("fmod", 0) != 0;
  if (n.isFloat(x) && !fmod && n.opset() < 28)
    return n.fail("floats with fmod = 0", "integers, or fmod = 1");
  n.out(n.binary(fmod ? BinaryKind::fmod : BinaryKind::mod, x, n.in(1)));
}

/// The result has the base's type, whatever the exponent's.
static void power(Node &n) {
  Value x = n.in(0), y = secondOperand(n);
  Type type = n.elem(x);
  if (!n.isFloat(x) && n.isFloat(y))
    return n.out(
        n.cast(n.binary(BinaryKind::pow, n.cast(x, n.elem(y)), y), type));
  n.out(n.binary(BinaryKind::pow, x, n.cast(y, type)));
}

static void bitShift(Node &n) {
  bool right = n.choice("direction", "", {"LEFT", "RIGHT"});
  n.out(n.binary(right ? BinaryKind::shift_right : BinaryKind::shift_left,
                 n.in(0), n.in(1)));
}

/// The slope broadcasts to x only; up to operator set 6 it is one a channel.
static void prelu(Node &n) {
  Value x = n.in(0), slope = n.in(1);
  if (n.rank(slope) == 1 && n.rank(x) > 2 && n.opset() < 7) {
    Ints shape(n.rank(x) - 1, 1);
    shape[0] = n.size(slope);
    slope = n.reshape(slope, shape);
  }
  if (n.broadcastShape(n.shape(x), n.shape(slope)) != n.shape(x))
    n.fail("slope " + str(n.shape(slope)),
           "one that broadcasts to " + str(n.shape(x)));
  n.out(n.binary(BinaryKind::prelu, x, slope));
}

static Value foldLeft(Node &n, BinaryKind kind) {
  Values operands = n.variadic();
  if (operands.empty())
    return n.refuse("no inputs", "at least one");
  Value result = operands[0];
  for (Value v : llvm::drop_begin(operands))
    result = n.binary(kind, result, v);
  return result;
}

template <BinaryKind K> static void variadic(Node &n) { n.out(foldLeft(n, K)); }

/// The mean of the inputs that are given.
static void mean(Node &n) {
  Value sum = foldLeft(n, BinaryKind::add);
  n.out(n.mul(sum, 1.0 / n.variadic().size()));
}

/// The gate's shape is the value's: nothing broadcasts.
static void swiGlu(Node &n) {
  Value gate = n.in(0), x = n.in(1);
  if (!n.failed() && n.shape(gate) != n.shape(x))
    return n.fail("shapes " + str(n.shape(gate)) + " and " + str(n.shape(x)),
                  "the same shape");
  n.out(n.mul(n.unary(UnaryKind::swish, gate, {n.floatAttr("alpha", 1)}), x));
}

static void where(Node &n) { n.out(n.select(n.in(0), n.in(1), n.in(2))); }

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

OpRows importer::elementwiseOps() {
  using U = UnaryKind;
  using B = BinaryKind;
  static const OpRow rows[] = {
      {"Abs", 1, kNumbers, unary<U::abs>},
      {"Acos", 7, kFloats, unary<U::acos>},
      {"Acosh", 9, kFloats, unary<U::acosh>},
      {"Add", 1, kNumbers, binary<B::add>},
      {"And", 1, kBool, binary<B::logical_and>},
      {"Asin", 7, kFloats, unary<U::asin>},
      {"Asinh", 9, kFloats, unary<U::asinh>},
      {"Atan", 7, kFloats, unary<U::atan>},
      {"Atanh", 9, kFloats, unary<U::atanh>},
      microsoftOp("BiasGelu", kFloats, withBias<U::gelu>),
      {"BitCast", 26, kAny, bitCast, "no strings"},
      {"BitShift", 11, kUnsigned, bitShift, "", 27},
      {"BitShift", 28, kInts, bitShift},
      {"BitwiseAnd", 18, kInts, binary<B::bitwise_and>},
      {"BitwiseNot", 18, kInts, unary<U::bitwise_not>},
      {"BitwiseOr", 18, kInts, binary<B::bitwise_or>},
      {"BitwiseXor", 18, kInts, binary<B::bitwise_xor>},
      {"Cast", 1, kAny, cast, "no strings"},
      {"CastLike", 15, kAny, castLike, "no strings"},
      {"Ceil", 1, kFloats, unary<U::ceil>},
      {"Celu", 12, kFloats, withAlpha<U::celu>},
      {"Clip", 1, kNumbers, clip},
      {"Cos", 7, kFloats, unary<U::cos>},
      {"Cosh", 9, kFloats, unary<U::cosh>},
      {"Div", 1, kNumbers, binary<B::div>},
      {"Elu", 1, kFloats, withAlpha<U::elu>},
      {"Equal", 1, kAll, binary<B::equal>},
      {"Erf", 9, kNumbers, unary<U::erf>},
      {"Exp", 1, kFloats, unary<U::exp>},
      microsoftOp("FastGelu", kFloats, withBias<U::gelu_tanh>),
      {"Floor", 1, kFloats, unary<U::floor>},
      {"Gelu", 20, kFloats, gelu},
      microsoftOp("Gelu", kFloats, unary<U::gelu>),
      {"Greater", 1, kNumbers, binary<B::greater>},
      {"GreaterOrEqual", 12, kNumbers, binary<B::greater_equal>},
      {"HardSigmoid", 1, kFloats, hardSigmoid},
      {"HardSwish", 14, kFloats, hardSwish},
      {"Identity", 1, kAny, identity},
      {"IsInf", 10, kFloats, isInf},
      {"IsNaN", 9, kFloats, unary<U::is_nan>},
      {"LeakyRelu", 1, kFloats, withAlpha<U::leaky_relu>},
      {"Less", 1, kNumbers, binary<B::less>},
      {"LessOrEqual", 12, kNumbers, binary<B::less_equal>},
      {"Log", 1, kFloats, unary<U::log>},
      {"Max", 1, kNumbers, variadic<B::max>},
      {"Mean", 1, kFloats, mean},
      {"Min", 1, kNumbers, variadic<B::min>},
      {"Mish", 18, kFloats, unary<U::mish>},
      {"Mod", 10, kNumbers, mod},
      {"Mul", 1, kNumbers, binary<B::mul>},
      {"Neg", 1, kFloats | kSigned, unary<U::neg>},
      {"Not", 1, kBool, unary<U::logical_not>},
      {"Or", 1, kBool, binary<B::logical_or>},
      {"PRelu", 1, kFloats | kInt32 | kInt64 | kUInt32 | kUInt64, prelu},
      {"Pow", 1, kNumbers, power},
      microsoftOp("QuickGelu", kFloats, quickGelu),
      {"Reciprocal", 1, kFloats, unary<U::reciprocal>},
      {"Relu", 1, kFloats | kSigned, unary<U::relu>},
      {"Round", 11, kFloats, unary<U::round>},
      {"Selu", 1, kFloats, selu},
      {"Shrink", 9, kNumbers, shrink},
      {"Sigmoid", 1, kFloats, unary<U::sigmoid>},
      {"Sign", 9, kNumbers, unary<U::sign>},
      {"Sin", 7, kFloats, unary<U::sin>},
      {"Sinh", 9, kFloats, unary<U::sinh>},
      {"Softplus", 1, kFloats, unary<U::softplus>},
      {"Softsign", 1, kFloats, unary<U::softsign>},
      {"Sqrt", 1, kFloats, unary<U::sqrt>},
      {"Sub", 1, kNumbers, binary<B::sub>},
      {"Sum", 1, kFloats, variadic<B::add>},
      {"SwiGLU", 28, kFloats, swiGlu},
      {"Swish", 24, kFloats, withAlpha<U::swish>},
      {"Tan", 7, kFloats, unary<U::tan>},
      {"Tanh", 1, kFloats, unary<U::tanh>},
      {"ThresholdedRelu", 10, kFloats, withAlpha<U::thresholded_relu>},
      {"Where", 9, kBool, where},
      {"Xor", 1, kBool, binary<B::logical_xor>},
  };
  return rows;
}
