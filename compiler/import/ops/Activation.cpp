//===- Activation.cpp - Functions that attributes name --------------------===//

#include "compiler/import/ops/Activation.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

const Activation *importer::findActivation(Node &n, StringRef name) {
  using U = UnaryKind;
  static const Activation known[] = {
      {"relu", U::relu, 0, 0, 0},
      {"tanh", U::tanh, 0, 0, 0},
      {"sigmoid", U::sigmoid, 0, 0, 0},
      {"affine", U::affine, 2, 1, 0},
      {"leakyrelu", U::leaky_relu, 1, 0.01, 0},
      {"thresholdedrelu", U::thresholded_relu, 1, 1, 0},
      {"hardsigmoid", U::hard_sigmoid, 2, 0.2, 0.5},
      {"elu", U::elu, 1, 1, 0},
      {"softsign", U::softsign, 0, 0, 0},
      {"softplus", U::softplus, 0, 0, 0}};
  for (const Activation &k : known)
    if (name.lower() == k.name)
      return &k;
  n.fail("activation '" + name + "'", "one that is defined for this operator");
  return nullptr;
}

Value importer::activated(Node &n, Value x, ArrayRef<double> given) {
  std::string name = n.stringAttr("activation", "");
  if (n.failed() || name.empty())
    return x;
  // These are operators, no functions of recurrent layers.
  static const Activation clip{"clip", UnaryKind::clip, 2, 0, 0};
  static const Activation hardSwish{"hardswish", UnaryKind::hard_swish, 2,
                                    1.0 / 6, 0.5};
  const Activation *known = name == "Clip"        ? &clip
                            : name == "HardSwish" ? &hardSwish
                                                  : findActivation(n, name);
  if (!known)
    return {};
  if (given.size() < size_t(known->params) &&
      (!given.empty() || known == &clip))
    return n.refuse(Twine(given.size()) + " parameters of activation '" + name +
                        "'",
                    Twine(known->params));
  SmallVector<double, 2> params = known->defaults();
  llvm::copy(given.take_front(params.size()), params.begin());
  return n.unary(known->kind, x, params);
}
