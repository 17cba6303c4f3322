//===- NeedsTest.cpp - The declared needs of kernels of GPUs --------------===//
//
// Routines declare needs; here their kernels are written and simplified, and
// the needs of the code are compared. An accepted layer must compile, so code
// never needs more. Where it needs less, layers are refused for nothing: such
// cases are listed.
//
//===----------------------------------------------------------------------===//

#include "test/unit/compiler/codegen/LayerOperands.h"

#include "compiler/codegen/common/Element.h"
#include "compiler/codegen/gpu/GpuRoutine.h"
#include "compiler/codegen/gpu/SpirvLowering.h"
#include "dialects/nn/NNDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"
#include "gtest/gtest.h"

using namespace nnv12;
using namespace nnv12::test;
using namespace nnv12::codegen;

namespace {

using Texts = std::vector<std::string>;

Texts operator+(Texts x, const Texts &y) {
  x.insert(x.end(), y.begin(), y.end());
  return x;
}

const Texts floatTypes = {"f32", "f64", "f16", "bf16"},
            integerTypes = {"i8",  "ui8",  "i16", "ui16",
                            "i32", "ui32", "i64", "ui64"},
            valueTypes = floatTypes + integerTypes + Texts{"i1"},
            smallTypes = {"f8E4M3FN", "f8E5M2", "f8E8M0FNU", "f4E2M1FN",
                          "i4",       "ui4",    "i2"},
            everyType = valueTypes + smallTypes;

bool isFloat(llvm::StringRef type) { return type.contains('f'); }

std::string tensor(const std::string &shape, const std::string &element,
                   const std::string &layout = "") {
  return "tensor<" + shape + "x" + element +
         (layout.empty() ? ">" : ", #nn.layout<\"" + layout + "\">>");
}

/// "LAYER : TYPE, … -> TYPE".
std::string typed(const std::string &layer, const Texts &in,
                  const std::string &out) {
  return layer + " : " + llvm::join(in, ", ") + " -> " + out + "\n";
}

/// A layer of operands %0, %1… of these types.
std::string mainOf(const std::string &layer, const Texts &in,
                   const std::string &out) {
  Texts arguments;
  for (const std::string &type : in)
    arguments.push_back("%" + std::to_string(arguments.size()) + ": " + type);
  return "func.func @main(" + llvm::join(arguments, ", ") + ") -> " + out +
         " {\n%r = " + layer + "return %r : " + out + "\n}\n";
}

std::string single(const std::string &layer, const Texts &in,
                   const std::string &out) {
  return mainOf(typed(layer, in, out), in, out);
}

/// A nn.fuse of operands %a0, %a1…, which yields %y.
std::string fused(const std::string &body, const Texts &in,
                  const std::string &out) {
  Texts names;
  for (size_t i = 0; i < in.size(); ++i)
    names.push_back("%a" + std::to_string(i) + " = %" + std::to_string(i));
  return mainOf("nn.fuse (" + llvm::join(names, ", ") + ") : (" +
                    llvm::join(in, ", ") + ") -> " + out + " {\n" + body +
                    "nn.yield %y : " + out + "\n}\n",
                in, out);
}

template <typename Kind>
Texts kindsUpTo(Kind last, llvm::StringRef (*name)(Kind)) {
  Texts result;
  for (unsigned i = 0; i <= unsigned(last); ++i)
    result.push_back(name(Kind(i)).str());
  return result;
}

const Texts unaryKinds =
    kindsUpTo(nn::UnaryKind::is_inf, nn::stringifyUnaryKind);
const Texts binaryKinds =
    kindsUpTo(nn::BinaryKind::shift_right, nn::stringifyBinaryKind);
const Texts reduceKinds =
    kindsUpTo(nn::ReduceKind::prod, nn::stringifyReduceKind);

std::string functionOf(const std::string &kind, const std::string &operand) {
  return "nn.unary " + operand + " <" + kind +
         (kind == "clip" ? " [-2.0, 6.0]>" : ">");
}

/// The element type of the function's result.
std::string resultOf(const std::string &kind, const std::string &type) {
  static const llvm::StringSet<> truths = {
      "equal",       "less",        "less_equal",   "greater",
      "is_nan",      "logical_and", "logical_or",   "logical_xor",
      "logical_not", "is_inf",      "greater_equal"};
  return truths.contains(kind) ? "i1" : type;
}

bool isDefined(llvm::StringRef binaryKind, llvm::StringRef type) {
  return !isFloat(type) || !(binaryKind.starts_with("logical") ||
                             binaryKind.starts_with("bitwise"));
}

/// A case where simplification finds that a constant decides a result, or that
/// a cast never gives some value.
struct LessNeeded {
  const char *what, *text;
};
const LessNeeded lessNeeded[] = {
    {"narrow integers are compared instead of what they are cast to",
     "nn.cast.*nn.cast.*nn.binary (equal|bitwise)"},
    {"integers are compared with a constant instead of floats",
     "constant.*nn.cast.*xf(32|64)>.*nn.binary (equal|less|greater)"},
    {"a constant decides, whatever the other operand is",
     "constant.*nn.binary (prelu|logical|add|max|bitwise_or)"},
    {"no integer is infinite", "nn.cast.*nn.unary .* <is_inf>"},
    {"truth values are converted in one step",
     "xi1> -> tensor<7xu?i(16|64)>.*nn.(unary|cast|binary logical)"},
    {"truth values become integers of a byte at once",
     "xi1> -> .*nn.cast.*xi4>"},
    {"what a truth value becomes is not zero", "nn.cast.*nn.cast.*-> .*xi1>"},
    {"powers of two are converted in one step", "f8E8M0FNU.*f8E8M0FNU"},
};

class Needs : public testing::Test {
protected:
  Needs() { context.loadDialect<nn::NNDialect, mlir::func::FuncDialect>(); }

  void check(const std::string &text) {
    // Not each kind of layer takes each type.
    mlir::ScopedDiagnosticHandler quiet(
        &context, [](mlir::Diagnostic &) { return mlir::success(); });
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    if (!module)
      return;
    mlir::Operation *layer = findLayer(*module);
    ASSERT_TRUE(layer) << text;
    seen.insert(layer->getName().getStringRef());
    for (const Routine *routine : gpuRoutines().all()) {
      const GpuRoutine &own = GpuRoutine::of(*routine);
      if (own.misfit(layer).empty())
        compare(layer, own, own.name().str() + ": " + text);
    }
  }

  KernelNeeds needsOfCode(mlir::Operation *layer, const GpuRoutine &routine) {
    KernelNeeds all;
    GpuTarget target = GpuTarget::everything();
    for (unsigned i = 0; i < routine.steps(layer).kernels.size(); ++i) {
      GpuBuilder builder(context, target);
      mlir::OwningOpRef<mlir::ModuleOp> code(builder.module);
      routine.emit(builder, layer, i);
      EXPECT_TRUE(mlir::succeeded(simplifyForSpirv(*code)));
      KernelNeeds needs = needsOf(*code);
      all.features.bits |= needs.features.bits;
      all.impossible += needs.impossible;
      all.bindings = std::max(all.bindings, needs.bindings);
    }
    return all;
  }

  void compare(mlir::Operation *layer, const GpuRoutine &routine,
               const std::string &text) {
    ++compared;
    KernelNeeds declared = routine.needs(layer),
                real = needsOfCode(layer, routine);
    bool isLess = !(real.features == declared.features);
    // Which of several impossible types is named does not matter.
    if (!real.impossible.empty()) {
      EXPECT_NE(declared.impossible, "") << text;
      return;
    }
    if (declared.impossible.empty()) {
      EXPECT_EQ(real.features.missingFrom(declared.features).text(), "")
          << text;
    } else {
      isLess = true;
    }
    // Routines of few operands say nothing.
    if (declared.bindings > 0) {
      EXPECT_LE(real.bindings, declared.bindings) << text;
    }
    std::string line = text;
    std::replace(line.begin(), line.end(), '\n', ' ');
    EXPECT_TRUE(!isLess || isListed(line))
        << "needs " << real.features.text() << ", declared "
        << declared.features.text() << declared.impossible << "\n"
        << text;
    less += isLess;
  }

  static bool isListed(const std::string &line) {
    return llvm::any_of(lessNeeded, [&](const LessNeeded &one) {
      return llvm::Regex(one.text).match(line);
    });
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  static llvm::StringSet<> seen;
  unsigned compared = 0, less = 0;
};

llvm::StringSet<> Needs::seen;

} // namespace

TEST_F(Needs, OfFunctions) {
  for (const std::string &type : valueTypes)
    for (const char *size : {"7", "8"}) { // by gpu.element, and by gpu.map
      std::string t = tensor(size, type);
      for (const std::string &kind : unaryKinds)
        check(single(functionOf(kind, "%0"), {t},
                     tensor(size, resultOf(kind, type))));
      for (const std::string &kind : binaryKinds)
        if (isDefined(kind, type))
          check(single("nn.binary " + kind + " %0, %1", {t, t},
                       tensor(size, resultOf(kind, type))));
      for (const std::string &exponent : valueTypes)
        check(single("nn.binary pow %0, %1", {t, tensor(size, exponent)}, t));
    }
  EXPECT_EQ(less, 0u);
  EXPECT_GT(compared, 1500u);
}

TEST_F(Needs, OfCasts) {
  for (const std::string &from : everyType)
    for (const std::string &to : everyType)
      for (const char *layer : {"nn.cast %0", "nn.bitcast %0"})
        check(single(layer, {tensor("7", from)}, tensor("7", to)));
  EXPECT_EQ(less, 0u);
  EXPECT_GT(compared, 400u);
}

TEST_F(Needs, OfMovement) {
  for (const std::string &type : everyType) {
    auto t = [&](const std::string &shape, const std::string &layout = "") {
      return tensor(shape, type, layout);
    };
    check(single("nn.reshape %0", {t("2x6")}, t("3x4")));
    check(single("nn.transpose %0 [1, 0]", {t("2x6")}, t("6x2")));
    check(single("nn.broadcast %0", {t("1x6")}, t("5x6")));
    check(single("nn.slice %0 starts [1, 0] sizes [1, 3] steps [1, 2]",
                 {t("2x6")}, t("1x3")));
    check(single("nn.concat %0, %1 axis 1", {t("2x6"), t("2x3")}, t("2x9")));
    check(single("nn.concat %0, %1 axis 1", {t("2x6"), t("2x0")}, t("2x6")));
    check(single("nn.select %0, %1, %2", {tensor("7", "i1"), t("7"), t("7")},
                 t("7")));
    for (std::string mode : {"constant", "reflect", "edge", "wrap"}) {
      check(single("nn.pad " + mode + " %0 low [1, 2] high [0, 1]", {t("3x6")},
                   t("4x9")));
      check(single("nn.pad " + mode + " %0 low [0, 0] high [0, 0]", {t("3x6")},
                   t("3x6")));
    }
    check(single("nn.pad constant %0 value %1 low [1, 2] high [0, 1]",
                 {t("3x6"), t("1")}, t("4x9")));
    for (std::string channels : {"32", "20"}) { // whole blocks, and padding
      std::string shape = "2x" + channels + "x3x3";
      check(single("nn.adapt %0", {t(shape)}, t(shape, "aBcd16b")));
      check(single("nn.adapt %0", {t(shape, "aBcd16b")}, t(shape)));
      check(single("nn.unary %0 <identity>", {t(shape, "aBcd16b")},
                   t(shape, "aBcd16b")));
    }
    for (const std::string &index : integerTypes)
      for (std::string size : {"5", "1", "0"}) {
        std::string in = t("3x" + size + "x4");
        auto i = [&](const std::string &shape) { return tensor(shape, index); };
        check(single("nn.gather %0, %1 axis 1", {in, i("2")}, t("3x2x4")));
        check(single("nn.gather_elements %0, %1 axis 1", {in, i("3x2x4")},
                     t("3x2x4")));
        check(single("nn.gather_nd %0, %1", {in, i("7x2")}, t("7x4")));
        check(single("nn.reverse_sequence %0, %1 batch 0 time 1", {in, i("3")},
                     in));
      }
  }
  EXPECT_EQ(less, 0u);
  EXPECT_GT(compared, 1000u);
}

TEST_F(Needs, OfReductions) {
  const std::string window =
      "strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]";
  for (const std::string &type : valueTypes) {
    auto t = [&](const std::string &shape) { return tensor(shape, type); };
    for (const std::string &kind : reduceKinds) {
      const std::string reduce = "nn.reduce " + kind + " %0 axes ";
      check(single(reduce + "[1] keep_dims false", {t("3x40x2")}, t("3x2")));
      for (std::string size : {"1", "0"})
        check(single(reduce + "[0] keep_dims false", {t(size + "x6x2")},
                     t("6x2")));
    }
    for (std::string kind : {"max", "min"})
      for (std::string size : {"1", "9", "90"})
        check(single("nn.arg_reduce " + kind +
                         " %0 axis 1 keep_dims false select_last false",
                     {t("3x" + size)}, tensor("3", "i64")));
    check(single("nn.matmul %0, %1", {t("5x6"), t("6x7")}, t("5x7")));
    check(single("nn.matmul %0, %1", {t("5x0"), t("0x7")}, t("5x7")));
    check(single("nn.conv %0, %1 " + window, {t("1x3x8x8"), t("4x3x3x3")},
                 t("1x4x8x8")));
    check(
        single("nn.conv_transpose %0, %1 " + window + " output_padding [0, 0]",
               {t("1x3x8x8"), t("3x4x3x3")}, t("1x4x8x8")));
    for (std::string kind : {"max", "average"})
      check(single("nn.pool " + kind + " %0 kernel [3, 3] " + window,
                   {t("1x3x8x8")}, t("1x3x8x8")));
    check(single("nn.max_pool_indices %0 kernel [3, 3] " + window,
                 {t("1x3x8x8")}, tensor("1x3x8x8", "i64")));
  }
  for (const char *left : {"i8", "ui8"})
    for (const char *right : {"i8", "ui8"}) {
      check(single("nn.qmatmul %0, %1",
                   {tensor("5x6", left), tensor("6x7", right)},
                   tensor("5x7", "i32")));
      check(single("nn.qconv %0, %1 " + window,
                   {tensor("1x3x8x8", left), tensor("4x3x3x3", right)},
                   tensor("1x4x8x8", "i32")));
    }
  for (const char *left : {"i8", "ui8"})
    for (const char *right : {"i8", "ui8"})
      check(single("nn.matmul %0, %1",
                   {tensor("5x6", left), tensor("6x7", right)},
                   tensor("5x7", "i32")));
  EXPECT_EQ(less, 0u);
  EXPECT_GT(compared, 400u);
}

// In convolutions and products of matrices, functions behind the sum are code.
TEST_F(Needs, OfActivations) {
  for (const std::string &kind : unaryKinds) {
    if (resultOf(kind, "f32") != "f32")
      continue;
    const std::string attribute = " {activation = #nn.fn<" + kind +
                                  ">, residual_activation = #nn.fn<" + kind +
                                  ">}";
    const std::string window =
        " strides [1, 1] dilations [1, 1] pads [1, 1], [1, 1]";
    for (std::string groups : {"1", "32"})
      check(single("nn.conv %0, %1" + window + " {groups = " + groups +
                       " : i64, activation = #nn.fn<" + kind + ">}",
                   {tensor("1x32x8x8", "f32"),
                    tensor(groups == "1" ? "32x32x3x3" : "32x1x3x3", "f32")},
                   tensor("1x32x8x8", "f32")));
    check(single("nn.conv_transpose %0, %1" + window +
                     " output_padding [0, 0]" + attribute,
                 {tensor("1x32x8x8", "f32"), tensor("32x32x3x3", "f32")},
                 tensor("1x32x8x8", "f32")));
    check(single("nn.matmul %0, %1" + attribute,
                 {tensor("5x6", "f32"), tensor("6x7", "f32")},
                 tensor("5x7", "f32")));
  }
  EXPECT_EQ(less, 0u);
  EXPECT_GT(compared, 400u);
}

TEST_F(Needs, OfResampling) {
  for (const std::string &type : valueTypes) {
    auto t = [&](const std::string &shape) { return tensor(shape, type); };
    for (std::string mode : {"nearest", "linear", "cubic"}) {
      const std::string resize =
          "nn.resize " + mode + " %0 scales [1.0, 1.0, 2.0, 1.5] coordinates ";
      check(single(resize + "half_pixel nearest floor", {t("1x2x4x4")},
                   t("1x2x8x6")));
      check(single(resize + "tf_crop_and_resize nearest floor {roi = "
                            "array<f64: 0., 0., -0.5, 0., 1., 1., 1.5, 1.>}",
                   {t("1x2x4x4")}, t("1x2x8x6")));
      for (const std::string &grid : floatTypes)
        check(single("nn.grid_sample " + mode +
                         " %0, %1 padding \"zeros\" align_corners true",
                     {t("1x2x4x4"), tensor("1x3x3x2", grid)}, t("1x2x3x3")));
    }
    for (std::string padding : {"border", "reflection"})
      check(single("nn.grid_sample linear %0, %1 padding \"" + padding +
                       "\" align_corners true",
                   {t("1x2x4x4"), tensor("1x3x3x2", "f32")}, t("1x2x3x3")));
    for (std::string ratio : {"0", "2"})
      check(single("nn.roi_align average %0, %1, %2 {output_height = 2 : i64, "
                   "output_width = 2 : i64, sampling_ratio = " +
                       ratio +
                       " : i64, spatial_scale = 0.5 : f64, half_pixel = false}",
                   {t("2x3x8x8"), t("5x4"), tensor("5", "i64")}, t("5x3x2x2")));
  }
  EXPECT_EQ(less, 0u);
  EXPECT_GT(compared, 250u);
}

TEST_F(Needs, OfQuantisedProducts) {
  const std::string x = tensor("5x6", "ui8"), w = tensor("6x7", "i8"),
                    vector = tensor("7", "f32"), sums = tensor("7", "i32"),
                    scalar = "tensor<f32>";
  for (std::string out : {"f32", "ui8", "i8"})
    for (std::string attribute : {"", " {activation = #nn.fn<tanh>}"}) {
      bool isByte = out != "f32";
      std::string zero = "tensor<" + out + ">", result = tensor("5x7", out);
      check(mainOf(
          "nn.qmatmul %0, %1 bias %2 scale %3 shift %4" +
              std::string(isByte ? " out_scale %5 out_zero %6" : "") +
              attribute + " : " + x + ", " + w + " bias " + sums + " scale " +
              vector + " shift " + vector +
              (isByte ? " out_scale " + scalar + " out_zero " + zero : "") +
              " -> " + result,
          isByte ? Texts{x, w, sums, vector, vector, scalar, zero}
                 : Texts{x, w, sums, vector, vector},
          result));
    }
  for (std::string bits : {"4", "8"}) {
    std::string lhs = tensor("5x6", "f32"), result = tensor("5x7", "f32"),
                codes = tensor(bits == "4" ? "7x3" : "7x6", "ui8"),
                scales = tensor("7x3", "f32");
    check(mainOf("nn.bits_matmul %0, %1 scales %2 zeros %3 bias %4 bits " +
                     bits + " block 2 : " + lhs + ", " + codes + " scales " +
                     scales + " zeros " + scales + " bias " + vector + " -> " +
                     result,
                 {lhs, codes, scales, scales, vector}, result));
  }
}

// Layers that read the results of casts: simplification looks through casts.
TEST_F(Needs, OfFusedCasts) {
  auto t = [&](const std::string &type) { return tensor("7", type); };
  for (std::string from : {"f32", "i8", "ui16", "i64", "i1"})
    for (std::string to : {"f32", "f64", "f16", "ui8", "i16", "i32", "i1"}) {
      const std::string cast = "%c = " + typed("nn.cast %a0", {t(from)}, t(to)),
                        other =
                            "%d = " + typed("nn.cast %a1", {t(from)}, t(to)),
                        three = to == "i1"    ? "true"
                                : isFloat(to) ? "3.0"
                                              : "3",
                        constant = "%d = nn.constant dense<" + three +
                                   "> : " + t(to) + "\n";
      for (const std::string &kind : unaryKinds) {
        std::string out = t(resultOf(kind, to));
        check(
            fused(cast + "%y = " + typed(functionOf(kind, "%c"), {t(to)}, out),
                  {t(from)}, out));
      }
      for (const std::string &kind : binaryKinds) {
        std::string out = t(resultOf(kind, to)),
                    last = "%y = " + typed("nn.binary " + kind + " %c, %d",
                                           {t(to), t(to)}, out);
        if (!isDefined(kind, to))
          continue;
        check(fused(cast + other + last, {t(from), t(from)}, out));
        check(fused(constant + cast + last, {t(from)}, out));
      }
    }
  EXPECT_GT(compared, 2500u);
  EXPECT_LT(less * 30, compared);
}

TEST_F(Needs, OfCastsOfCasts) {
  const Texts types = {"f32", "f64", "f16", "bf16",      "i8",       "i16",
                       "i32", "i64", "i1",  "f8E8M0FNU", "f4E2M1FN", "i4"};
  auto t = [&](const std::string &type) { return tensor("7", type); };
  for (const std::string &a : types)
    for (const std::string &b : types)
      for (const std::string &c : types)
        if (a != b && b != c)
          check(fused("%b = " + typed("nn.cast %a0", {t(a)}, t(b)) +
                          "%y = " + typed("nn.cast %b", {t(b)}, t(c)),
                      {t(a)}, t(c)));
  EXPECT_GT(compared, 1200u);
  EXPECT_LT(less * 30, compared);
}

TEST_F(Needs, OfManyOperands) {
  // Constants that differ by element are tables, with a binding each.
  for (int operands : {3, 30, 31}) {
    const std::string t = tensor("7", "f32");
    std::string body = "%k = nn.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, "
                       "7.0]> : " +
                       t + "\n",
                sum = "%k";
    for (int i = 0; i < operands; ++i) {
      std::string next = i + 1 < operands ? "%s" + std::to_string(i) : "%y";
      body +=
          next + " = " +
          typed("nn.binary add " + sum + ", %a" + std::to_string(i), {t, t}, t);
      sum = next;
    }
    std::string text = fused(body, Texts(operands, t), t);
    check(text);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    ASSERT_TRUE(module) << text;
    EXPECT_EQ(GpuRoutine::of(*gpuRoutines().named("gpu.element"))
                  .refusal(findLayer(*module), GpuTarget::everything()),
              operands < 31
                  ? ""
                  : "it has more operands and tables than a kernel binds (32)");
  }
  EXPECT_EQ(less, 0u);
}

// Behind all other tests: they looked at each layer with an element function.
TEST_F(Needs, OfAllElementFunctions) {
  if (seen.size() < 2)
    GTEST_SKIP() << "the other tests did not run";
  for (auto table : {pointwiseFunctions(), movementFunctions(),
                     reductionFunctions(), resamplingFunctions()})
    for (const ElementFunction &f : table)
      EXPECT_TRUE(seen.contains(f.layer) || f.layer == "nn.constant")
          << f.layer.str();
}
