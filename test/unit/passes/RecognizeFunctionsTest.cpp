//===- RecognizeFunctionsTest.cpp - Functions keep their values -----------===//
//
// All chains of up to three functions and operations with a number, alone and
// as factor, maximum or sum with their argument: the pass's result computes the
// same at points of every sign and size.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/ConstantEval.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

namespace {

/// Where the functions are compared. A 49th of the multiples of 49 is a whole
/// number, their product with the number next to 1/49 is not.
const std::vector<double> points = {
    -98, -40, -6.1, -3.2, -2.9, -1.3, -0.9, -0.4, -0.1, 0,  0.05, 0.3,
    0.7, 1.1, 1.9,  2.8,  3.3,  5.9,  6.2,  9,    40,   49, 98,   98.125};

/// `$x` is the argument, `$c` the number, T the type.
struct Step {
  const char *text;
  const char *number = nullptr;
};

const Step steps[] = {
    {"unary $x <relu>"},
    {"unary $x <neg>"},
    {"unary $x <exp>"},
    {"unary $x <floor>"},
    {"unary $x <log>"},
    {"unary $x <reciprocal>"},
    {"unary $x <sigmoid>"},
    {"unary $x <tanh>"},
    {"unary $x <erf>"},
    {"unary $x <softplus>"},
    {"unary $x <hard_sigmoid [0.2, 0.5]>"},
    {"unary $x <clip [0.0, 6.0]>"},
    {"unary $x <clip [-1.0, 1.0]>"},
    {"unary $x <clip [0.0, 1.0]>"},
    {"unary $x <clip [0.0, -2.0]>"},
    {"unary $x <affine [2.0, -3.0]>"},
    {"binary add $x, $c", "1.0"},
    {"binary add $c, $x", "3.0"},
    {"binary sub $c, $x", "1.0"},
    {"binary mul $x, $c", "2.0"},
    {"binary mul $c, $x", "-1.0"},
    {"binary mul $x, $c", "0.5"},
    {"binary mul $x, $c", "0.70710678118654752"},
    {"binary sub $x, $c", "98.0"},
    {"binary mul $x, $c", "1.0e200"},
    {"binary div $x, $c", "-2.0"},
    {"binary div $x, $c", "6.0"},
    {"binary div $x, $c", "49.0"},
    {"binary div $c, $x", "1.0"},
    {"binary max $x, $c", "0.0"},
    {"binary min $x, $c", "6.0"},
    {"binary min $x, $c", "-1.0"},
    {"binary pow $x, $c", "2.0"},
    {"binary pow $x, $c", "3.0"},
    {"binary pow $x, $c", "0.5"},
    {"binary pow $x, $c", "-1.0"},
    {"binary prelu $x, $c", "0.25"},
};

/// How the end of a chain meets the chain's argument.
const char *ends[] = {"", "mul %x, $x", "max %x, $x", "mul $x, %x",
                      "add $x, %x"};

/// A function of `points` whose results are chains.
class Chains {
public:
  /// Steps by number, then the number of an end.
  void add(ArrayRef<unsigned> chain, unsigned end) {
    std::string value = "%x", name;
    for (unsigned s : chain) {
      std::string number;
      if (steps[s].number) {
        number = "%" + std::to_string(values++);
        text += number + " = nn.constant dense<" + steps[s].number +
                "> : tensor<f64>\n";
      }
      std::string op = replaced(steps[s].text, "$c", number);
      name += (name.empty() ? "" : "; ") + op +
              (number.empty() ? "" : std::string(" of ") + steps[s].number);
      emit(op, value,
           number.empty()                 ? "T -> T"
           : op.find("$x") > op.find('%') ? "tensor<f64>, T -> T"
                                          : "T, tensor<f64> -> T");
    }
    if (*ends[end]) {
      name += std::string("; ") + ends[end];
      emit(std::string("binary ") + ends[end], value, "T, T -> T");
    }
    results.push_back(value);
    names.push_back(name);
  }

  size_t size() const { return results.size(); }
  const std::string &name(size_t i) const { return names[i]; }

  std::string module() const {
    std::string returned, types;
    for (const std::string &r : results) {
      returned += (returned.empty() ? "" : ", ") + r;
      types += types.empty() ? "T" : ", T";
    }
    std::string all = "func.func @main(%x: T) -> (" + types + ") {\n" + text +
                      "return " + returned + " : " + types + "\n}";
    return replaced(all, "T",
                    "tensor<" + std::to_string(points.size()) + "xf64>");
  }

private:
  static std::string replaced(std::string in, const std::string &from,
                              const std::string &to) {
    for (size_t at = 0; (at = in.find(from, at)) != std::string::npos;
         at += to.size())
      in.replace(at, from.size(), to);
    return in;
  }
  void emit(const std::string &op, std::string &value, const char *types) {
    std::string result = "%" + std::to_string(values++);
    text +=
        result + " = nn." + replaced(op, "$x", value) + " : " + types + "\n";
    value = result;
  }

  std::string text;
  std::vector<std::string> results, names;
  unsigned values = 0;
};

/// The results of a function of element-wise layers for `points`.
std::vector<std::vector<double>> evaluate(func::FuncOp function) {
  llvm::DenseMap<Value, ElementsAttr> known;
  auto type = cast<RankedTensorType>(function.getArgument(0).getType());
  known[function.getArgument(0)] = makeConstant(
      type, ArrayRef<char>(reinterpret_cast<const char *>(points.data()),
                           points.size() * sizeof(double)));
  std::vector<std::vector<double>> results;
  for (Operation &op : function.getOps()) {
    std::vector<ConstantData> in;
    for (Value v : op.getOperands())
      in.push_back(*ConstantData::get(known[v]));
    ElementsAttr value;
    if (auto constant = dyn_cast<ConstantOp>(op)) {
      value = constant.getValue();
    } else if (auto unary = dyn_cast<UnaryOp>(op)) {
      value = evalUnary(unary.getFunction(), in[0], unary.getType());
    } else if (auto binary = dyn_cast<BinaryOp>(op)) {
      value = evalBinary(binary.getKind(), in[0], in[1], binary.getType());
    } else {
      EXPECT_TRUE(isa<func::ReturnOp>(op)) << "only element-wise layers";
      for (const ConstantData &v : in) {
        results.emplace_back();
        for (size_t i = 0; i < points.size(); ++i)
          results.back().push_back(v.asDouble(v.isSplat() ? 0 : i));
      }
      break;
    }
    EXPECT_TRUE(value) << "a layer without a value";
    known[op.getResult(0)] = value;
  }
  return results;
}

class RecognizeFunctions : public ::testing::Test {
protected:
  RecognizeFunctions() {
    context.loadDialect<func::FuncDialect, NNDialect>();
    context.disableMultithreading();
  }

  void check(const Chains &chains) {
    auto module = parseSourceString<ModuleOp>(chains.module(), &context);
    ASSERT_TRUE(module);
    auto function = *module->getOps<func::FuncOp>().begin();
    auto expected = evaluate(function);
    PassManager pm(&context);
    pm.addNestedPass<func::FuncOp>(createRecognizeFunctions());
    ASSERT_TRUE(succeeded(pm.run(*module)));
    auto found = evaluate(function);
    ASSERT_EQ(expected.size(), chains.size());
    ASSERT_EQ(found.size(), chains.size());
    for (size_t r = 0; r < chains.size(); ++r)
      for (size_t i = 0; i < points.size(); ++i) {
        double e = expected[r][i], f = found[r][i];
        // Spelled constants are recognized though they are rounded.
        if (std::isfinite(e) && std::fabs(e) < 1e6 &&
            !(std::fabs(e - f) <= 1e-4 * std::max(1.0, std::fabs(e)))) {
          ADD_FAILURE() << chains.name(r) << ": found " << f << " at "
                        << points[i] << ", expected " << e;
          break;
        }
      }
  }

  /// All chains of `length` steps with the first `endCount` ends.
  void checkAll(unsigned length, unsigned endCount = std::size(ends)) {
    constexpr unsigned base = std::size(steps);
    unsigned count = 1;
    for (unsigned i = 0; i < length; ++i)
      count *= base;
    Chains chains;
    for (unsigned c = 0; c < count; ++c) {
      std::vector<unsigned> chain;
      for (unsigned rest = c, i = 0; i < length; ++i, rest /= base)
        chain.push_back(rest % base);
      for (unsigned end = 0; end < endCount; ++end)
        chains.add(chain, end);
      if (chains.size() >= 500 || c + 1 == count) {
        check(chains);
        chains = {};
      }
      if (HasFailure())
        return; // the first are enough
    }
  }

  MLIRContext context;
};

TEST_F(RecognizeFunctions, One) { checkAll(1); }
TEST_F(RecognizeFunctions, Two) { checkAll(2); }
TEST_F(RecognizeFunctions, Three) { checkAll(3, 2); }
} // namespace
