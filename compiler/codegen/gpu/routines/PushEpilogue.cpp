//===- PushEpilogue.cpp - The layers behind a sum, as data ----------------===//

#include "compiler/codegen/gpu/routines/PushEpilogue.h"

#include "compiler/codegen/common/Math.h"
#include "compiler/codegen/common/MathExpand.h"

#include <limits>
#include <optional>
#include <utility>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

namespace {

/// Bits of the first word.
enum Part : uint32_t { Bias = 1, Residual = 2 };

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Between which numbers the function keeps its values, which it does not
/// change otherwise; none where it does more.
std::optional<std::pair<double, double>> rangeOf(nn::FunctionAttr function) {
  if (!function)
    return std::pair(-infinity, infinity);
  auto parameter = [&](size_t i, double otherwise) {
    ArrayRef<double> all = function.getParams();
    return i < all.size() ? all[i] : otherwise;
  };
  switch (function.getKind()) {
  case nn::UnaryKind::identity:
    return std::pair(-infinity, infinity);
  case nn::UnaryKind::relu:
    return std::pair(0.0, infinity);
  case nn::UnaryKind::clip:
    return std::pair(parameter(0, -infinity), parameter(1, infinity));
  default:
    return std::nullopt;
  }
}

uint32_t bitsOf(double x) { return llvm::bit_cast<uint32_t>(float(x)); }

} // namespace

std::string PushEpilogue::suffix(const Epilogue &epilogue) {
  Epilogue code;
  if (!rangeOf(epilogue.activation))
    code.activation = epilogue.activation;
  if (!rangeOf(epilogue.residualActivation))
    code.residualActivation = epilogue.residualActivation;
  return code.suffix();
}

KernelNeeds PushEpilogue::needs(const Epilogue &epilogue) {
  TypesUsed types;
  for (nn::FunctionAttr function :
       {epilogue.activation, epilogue.residualActivation})
    if (!rangeOf(function))
      unaryTypes(types, function, Float32Type::get(function.getContext()));
  return KernelNeeds(types);
}

void PushEpilogue::append(std::vector<uint32_t> &push,
                          const Epilogue &epilogue) {
  push.push_back((epilogue.bias ? Bias : 0u) |
                 (epilogue.residual ? Residual : 0u));
  for (nn::FunctionAttr function :
       {epilogue.activation, epilogue.residualActivation}) {
    auto [low, high] = rangeOf(function).value_or(std::pair(0.0, 0.0));
    push.insert(push.end(), {bitsOf(low), bitsOf(high)});
  }
}

void PushEpilogue::append(std::vector<GpuStepOperand> &operands,
                          const Epilogue &epilogue) {
  constexpr unsigned weights = 1;
  unsigned next = weights + 1;
  using Use = GpuStepOperand::Use;
  for (auto [isPresent, absent] :
       {std::pair(epilogue.bias, Use::NoBias),
        std::pair(epilogue.residual, Use::NoResidual)})
    operands.push_back({GpuStepOperand::Kind::Operand,
                        isPresent ? next++ : weights,
                        isPresent ? Use::Data : absent});
}

Value PushEpilogue::has(unsigned part) {
  Value parts = k.pushWord(first + Parts);
  Value bit = k.bitAnd(parts, k.constant(part));
  return k.lessUnsigned(k.constant(0), bit);
}

Value PushEpilogue::start(Index place) {
  Type type = k.valueType(bias);
  return k.ifElse(
      has(Bias), type, [&] { return Values{k.load(bias, place)}; },
      [&] { return Values{k.fconst(0, type)}; })[0];
}

Value PushEpilogue::activate(nn::FunctionAttr function, Value x, unsigned low) {
  if (!rangeOf(function))
    return emitUnary(k, function, x);
  auto bound = [&](unsigned word) {
    Value value = k.pushFloat(first + word);
    auto vector = dyn_cast<VectorType>(x.getType());
    return vector ? k.broadcast(value, vector.getNumElements()) : value;
  };
  // Comparisons leave NaN alone.
  FloatMath m(k, x.getType());
  Value least = bound(low), most = bound(low + 1);
  x = m.select(m.less(x, least), least, x);
  return m.select(m.greater(x, most), most, x);
}

Value PushEpilogue::finish(Value sum, Index place) {
  sum = activate(epilogue.activation, sum, Low);
  sum = k.ifElse(
      has(Residual), sum.getType(),
      [&] {
        Value other = k.load(residual, place);
        return Values{arith::AddFOp::create(k.b, sum, other)};
      },
      [&] { return Values{sum}; })[0];
  return activate(epilogue.residualActivation, sum, ThenLow);
}
