//===- Epilogue.cpp - The steps behind a sum of products ------------------===//

#include "compiler/codegen/common/Epilogue.h"

#include "compiler/codegen/common/Math.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

static void appendName(std::string &name, nn::FunctionAttr function) {
  if (!function)
    return;
  name += '_';
  name += nn::stringifyUnaryKind(function.getKind());
  llvm::raw_string_ostream os(name);
  for (double p : function.getParams()) {
    os << '_';
    os.write_hex(llvm::bit_cast<uint64_t>(p));
  }
}

std::string Epilogue::suffix() const {
  std::string name;
  if (bias)
    name += "_bias";
  appendName(name, activation);
  if (residual)
    name += "_residual";
  if (residualActivation)
    name += "_then";
  appendName(name, residualActivation);
  return name;
}

static bool isShort(nn::FunctionAttr function) {
  using K = nn::UnaryKind;
  return !function || llvm::is_contained({K::identity, K::abs, K::neg, K::relu,
                                          K::leaky_relu, K::hard_sigmoid,
                                          K::hard_swish, K::clip, K::affine},
                                         function.getKind());
}

bool Epilogue::isLong() const {
  return !isShort(activation) || !isShort(residualActivation);
}

Value Epilogue::apply(BuilderBase &k, Value sum,
                      llvm::function_ref<Value()> loadResidual) const {
  if (activation)
    sum = emitUnary(k, activation, sum);
  if (residual)
    sum = arith::AddFOp::create(k.b, sum, loadResidual());
  if (residualActivation)
    sum = emitUnary(k, residualActivation, sum);
  return sum;
}
