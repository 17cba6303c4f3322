//===- Node.cpp - A node as its operator's handler sees it ----------------===//

#include "compiler/import/Node.h"

#include "llvm/ADT/SmallBitVector.h"

#include "compiler/import/Onnx.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cassert>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

using onnx::AttributeProto;

Node::Node(NodeContext &graph, LayerBuilder builder,
           const onnx::NodeProto &proto, Attributes attributes,
           SmallVector<ImportValue> inputs, int64_t opset)
    : LayerBuilder(std::move(builder)), graph_(graph), proto_(proto),
      attributes_(std::move(attributes)), inputs_(std::move(inputs)),
      results_(proto.output_size()), opset_(opset) {
  assert(int(inputs_.size()) == proto.input_size() &&
         "a value, or that there is none, for each input");
}

StringRef Node::op() const { return proto_.op_type(); }

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

std::string Node::inputName(unsigned i) const {
  return int(i) < proto_.input_size() ? proto_.input(i) : std::string();
}

Value Node::in(unsigned i) {
  if (failed())
    return {};
  if (!has(i))
    return refuse("no input " + Twine(i), "it to be given");
  if (inputs_[i].hasRunTimeSize()) {
    const ImportValue &v = inputs_[i];
    failNotConstant(v.mask ? v.mask : v.count,
                    "the number of elements of input '" + inputName(i) + "',");
    return {};
  }
  if (inputs_[i].kind != ImportValue::Tensor)
    return refuse("a sequence or optional as input '" + inputName(i) + "'",
                  "a tensor");
  assert(inputs_[i].tensor && "a given input has a value");
  return inputs_[i].tensor;
}

ImportValue Node::computeAll() {
  ImportValue selection;
  int64_t rank = 0; // of one selected element
  llvm::SmallBitVector picked(inputs());
  for (auto [i, input] : llvm::enumerate(inputs_)) {
    if (input.kind != ImportValue::Picked || failed())
      continue;
    if (selection.mask && selection.mask != input.mask)
      failNotConstant(input.mask, "one of two masks that select elements");
    selection = input;
    rank = std::max(rank, this->rank(input.all) - this->rank(input.mask));
    input = Value(input.all);
    picked.set(i);
  }
  // Other operands broadcast to each selected element.
  for (unsigned i = 0; selection.mask && i < inputs(); ++i) {
    if (picked[i] || !has(i) || this->rank(in(i)) <= rank)
      continue;
    if (size(in(i)) != 1)
      failNotConstant(selection.mask,
                      "the number of selected elements, as that of input '" +
                          inputName(i) + "',");
    inputs_[i] = reshape(in(i), {});
  }
  return failed() ? ImportValue() : selection;
}

Values Node::variadic(unsigned first) {
  Values values;
  for (unsigned i = first; i < inputs(); ++i)
    if (has(i))
      values.push_back(in(i));
  return values;
}

bool Node::expectTypeOf(unsigned i, ArrayRef<unsigned> others) {
  Type expected = elem(in(i));
  for (unsigned other : others) {
    Type found = elem(optional(other));
    if (!failed() && has(other) && found != expected)
      fail("input '" + inputName(other) + "' of " + typeName(found),
           typeName(expected) + ", the type of input '" + inputName(i) + "'");
  }
  return !failed();
}

std::string Node::constantsFor(Value value) {
  llvm::SetVector<Value> work;
  if (value)
    work.insert(value);
  std::string options;
  for (size_t i = 0; i < work.size() && i < 1000; ++i) {
    if (auto argument = dyn_cast<BlockArgument>(work[i])) {
      std::string name = graph_.argumentName(argument.getArgNumber());
      options +=
          (options.empty() ? "" : " ") + ("--constant " + name + "=FILE.npy");
    } else if (Operation *op = work[i].getDefiningOp()) {
      for (Value operand : op->getOperands())
        work.insert(operand);
    }
  }
  return options;
}

void Node::failNotConstant(Value value, const Twine &what) {
  std::string options = constantsFor(value);
  fail(what + " that is known only at run time",
       "a constant" +
           (options.empty() ? "" : " (bind it with " + options + ")"));
}

/// Handlers look at every element of such an input, and a splat has any number.
static constexpr int64_t maxConstantInput = int64_t(1) << 26;

std::optional<nn::ConstantData> Node::constantInput(unsigned i,
                                                    const char *what) {
  Value v = in(i);
  if (!v)
    return std::nullopt;
  auto constant = data(v);
  if (!constant)
    failNotConstant(v, "input '" + inputName(i) + "' (" + what + ")");
  if (constant && constant->size() > maxConstantInput) {
    fail("input '" + inputName(i) + "' (" + what + ") of " +
             Twine(constant->size()) + " elements",
         "at most " + Twine(maxConstantInput));
    return std::nullopt;
  }
  assert((constant || failed()) && "none is a fault");
  return constant;
}

Ints Node::intsInput(unsigned i, const char *what) {
  auto constant = constantInput(i, what);
  return constant ? constant->asInts() : Ints();
}

std::optional<nn::ConstantData> Node::scalarInput(unsigned i,
                                                  const char *what) {
  auto constant = constantInput(i, what);
  if (constant && constant->size() != 1)
    fail(Twine(what) + " of " + Twine(constant->size()) + " elements", "one");
  return failed() ? std::nullopt : constant;
}

int64_t Node::intInput(unsigned i, const char *what) {
  auto scalar = scalarInput(i, what);
  return scalar ? scalar->asInt(0) : 0;
}

double Node::floatInput(unsigned i, const char *what) {
  auto scalar = scalarInput(i, what);
  return scalar ? scalar->asDouble(0) : 0;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const AttributeProto *Node::find(StringRef name) {
  return attributes_.lookup(name);
}

// Old models leave the attribute's type out, so the field that is set tells it.
int64_t Node::intAttr(StringRef name, int64_t absent) {
  const AttributeProto *a = find(name);
  if (a && !a->has_i())
    fail("attribute '" + name + "' of another type", "an integer");
  return a && a->has_i() ? a->i() : absent;
}

int64_t Node::intAttr(StringRef name) {
  if (!hasAttr(name))
    fail("no attribute '" + name + "'", "it to be given");
  return intAttr(name, 0);
}

double Node::floatAttr(StringRef name, double absent) {
  const AttributeProto *a = find(name);
  if (a && !a->has_f())
    fail("attribute '" + name + "' of another type", "a float");
  return a && a->has_f() ? a->f() : absent;
}

std::string Node::stringAttr(StringRef name, StringRef absent) {
  const AttributeProto *a = find(name);
  if (a && !a->has_s())
    fail("attribute '" + name + "' of another type", "a string");
  return a && a->has_s() ? a->s() : absent.str();
}

Ints Node::intsAttr(StringRef name, ArrayRef<int64_t> absent) {
  const AttributeProto *a = find(name);
  if (!a)
    return Ints(absent);
  if (!a->ints_size() && (a->has_i() || a->has_f() || a->has_s() || a->has_t()))
    fail("attribute '" + name + "' of another type", "integers");
  return Ints(a->ints().begin(), a->ints().end());
}

Doubles Node::floatsAttr(StringRef name, ArrayRef<double> absent) {
  const AttributeProto *a = find(name);
  if (!a)
    return Doubles(absent);
  if (!a->floats_size() && (a->has_i() || a->has_f() || a->has_s()))
    fail("attribute '" + name + "' of another type", "floats");
  return Doubles(a->floats().begin(), a->floats().end());
}

SmallVector<std::string> Node::stringsAttr(StringRef name) {
  const AttributeProto *a = find(name);
  if (!a)
    return {};
  return SmallVector<std::string>(a->strings().begin(), a->strings().end());
}

const onnx::TensorProto *Node::tensorAttr(StringRef name) {
  const AttributeProto *a = find(name);
  if (a && !a->has_t())
    fail("attribute '" + name + "' of another type", "a tensor");
  return a && a->has_t() ? &a->t() : nullptr;
}

const onnx::GraphProto *Node::graphAttr(StringRef name) {
  const AttributeProto *a = find(name);
  if (!a || !a->has_g())
    fail("no graph in attribute '" + name + "'", "one");
  return a && a->has_g() ? &a->g() : nullptr;
}

unsigned Node::choice(StringRef name, StringRef absent,
                      ArrayRef<StringRef> choices) {
  std::string value = stringAttr(name, absent);
  for (unsigned i = 0; i < choices.size(); ++i)
    if (choices[i] == value)
      return i;
  fail("attribute '" + name + "' = '" + value + "'",
       "one of " + llvm::join(choices, ", "));
  return 0;
}

std::optional<Ints> Node::intsAttrOrInput(StringRef name, unsigned i,
                                          int64_t inputSince) {
  if (opset_ < inputSince) {
    if (!hasAttr(name))
      return std::nullopt;
    return intsAttr(name);
  }
  if (!has(i))
    return std::nullopt;
  return intsInput(i, name.str().c_str());
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

bool Node::wants(unsigned i) const {
  return int(i) < proto_.output_size() && !proto_.output(i).empty();
}

void Node::out(unsigned i, ImportValue value) {
  if (failed() || i >= results_.size())
    return;
  results_[i] = std::move(value);
}
