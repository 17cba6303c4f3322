//===- SmallTypesTest.cpp - Casts and moves of 8, 4 and 2 bits ------------===//
//
// Kernels against the formats' own conversions and against constant folding,
// byte by byte.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

#include "dialects/nn/ConstantEval.h"
#include "dialects/nn/SmallTypes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::test;
using artifact::SmallFloat;

namespace {
const char *const floatNames[] = {"f8E4M3FN",   "f8E4M3FNUZ", "f8E5M2",
                                  "f8E5M2FNUZ", "f8E8M0FNU",  "f4E2M1FN"};
const char *const integerNames[] = {"i4", "ui4", "i2", "ui2"};

class SmallTypes : public ::testing::Test {
protected:
  SmallTypes() { context.loadDialect<nn::NNDialect>(); }

  Type type(StringRef name) { return parseType(name, &context); }
  const SmallFloat &format(StringRef name) {
    return *nn::smallFloat(type(name));
  }

  /// `count` elements of `from` through a cast's kernel, as bytes of `to`,
  /// which constant folding must agree with.
  Bytes throughCast(const Bytes &input, size_t count, std::string from,
                    std::string to, const std::string &target,
                    bool saturate = true,
                    nn::Rounding rounding = nn::Rounding::nearest) {
    std::string shape = "tensor<" + std::to_string(count) + "x";
    std::string text =
        "func.func @main(%0: " + shape + from + ">) -> " + shape + to +
        "> {\n %1 = nn.cast %0 {saturate = " + (saturate ? "true" : "false") +
        ", rounding = #nn<rounding " + nn::stringifyRounding(rounding).str() +
        ">} : " + shape + from + "> -> " + shape + to +
        ">\n return %1 : " + shape + to + ">\n}\n";
    Bytes result = runLayer(text, {input}, target, "element")[0];
    auto tensor = [&](StringRef element) {
      return RankedTensorType::get(int64_t(count), type(element));
    };
    auto constant =
        nn::ConstantData::get(nn::makeConstant(tensor(from), input));
    auto folded = nn::ConstantData::get(
        nn::evalCast(*constant, tensor(to), saturate, rounding));
    EXPECT_TRUE(sameElements(folded->bytes(), result, type(to))) << text;
    return result;
  }

  /// NaNs of floats that have many may differ.
  bool sameElements(ArrayRef<char> a, ArrayRef<char> b, Type element) {
    const nn::ElementCodec *codec = nn::ElementCodec::get(element);
    if (a.size() != b.size())
      return false;
    bool coded = nn::smallFloat(element);
    for (size_t i = 0; i < a.size(); i += codec->size) {
      double x, y;
      codec->loadDouble(&a[i], 0, 1, &x);
      codec->loadDouble(&b[i], 0, 1, &y);
      if (coded           ? a[i] != b[i]
          : std::isnan(x) ? !std::isnan(y)
                          : x != y || std::signbit(x) != std::signbit(y)) {
        ADD_FAILURE() << "element " << i / codec->size << ": folded " << x
                      << ", computed " << y;
        return false;
      }
    }
    return true;
  }

  MLIRContext context;
};

template <typename T> Bytes bytesOf(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

Bytes allCodes(unsigned bits) {
  Bytes codes(size_t(1) << bits);
  std::iota(codes.begin(), codes.end(), char(0));
  return codes;
}

/// Every number of the format, the middle to the next one, the neighbours of
/// both, both signs, NaN, and numbers out of range.
template <typename T> std::vector<T> interesting(const SmallFloat &format) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> result;
  auto around = [&](double x) {
    for (T s : {T(1), T(-1)})
      for (T y : {T(x), std::nextafter(T(x), T(0)),
                  std::nextafter(T(x), Limits::infinity())})
        result.push_back(s * y);
  };
  double previous = 0;
  for (int code = 0; code <= format.largest(); ++code) {
    double x = format.decode(uint8_t(code));
    around(x);
    around((x + previous) / 2);
    around(1.5 * x);
    around(1.25 * x);
    previous = x;
  }
  for (double x : {0.0, 1e-7, 1e6, 464.0, 61440.0, 6.5, 0x1p-149, 0x1p-128,
                   0x1p-127, 0x1.8p-127, 0x1p-126, 0x1p127, 0x1.8p127})
    around(x);
  around(Limits::max());
  around(Limits::infinity());
  for (T s : {T(1), T(-1)})
    result.push_back(std::copysign(Limits::quiet_NaN(), s));
  return result;
}
} // namespace

TEST_F(SmallTypes, TheTableIsLlvms) {
  for (const char *name : floatNames) {
    const SmallFloat &f = format(name);
    const auto &semantics = cast<FloatType>(type(name)).getFloatSemantics();
    unsigned bits = llvm::APFloat::semanticsSizeInBits(semantics);
    EXPECT_EQ(bits, f.magnitudeBits() + f.isSigned);
    EXPECT_EQ(llvm::APFloat::semanticsPrecision(semantics),
              f.mantissaBits + 1u);
    EXPECT_EQ(
        llvm::APFloat::getLargest(semantics).bitcastToAPInt().getZExtValue(),
        f.largest());
    for (unsigned code = 0; code < 1u << bits; ++code) {
      llvm::APFloat number(semantics, llvm::APInt(bits, code));
      // Its conversion loses that the format without a mantissa has a NaN.
      double want = number.isNaN() ? std::nan("") : number.convertToDouble();
      double got = f.decode(uint8_t(code));
      EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
          << name << " " << code;
    }
  }
}

TEST_F(SmallTypes, DecodesInKernels) {
  for (const char *name : floatNames) {
    const SmallFloat &f = format(name);
    Bytes codes = allCodes(f.magnitudeBits() + f.isSigned);
    for (const std::string &target : testTargets()) {
      SCOPED_TRACE(target + " " + name);
      Bytes singles = throughCast(codes, codes.size(), name, "f32", target);
      Bytes doubles = throughCast(codes, codes.size(), name, "f64", target);
      for (size_t i = 0; i < codes.size(); ++i) {
        double want = f.decode(uint8_t(codes[i])), wide;
        float narrow;
        std::memcpy(&narrow, &singles[i * 4], 4);
        std::memcpy(&wide, &doubles[i * 8], 8);
        EXPECT_TRUE(std::isnan(want) ? std::isnan(wide) && std::isnan(narrow)
                                     : wide == want && narrow == want)
            << i << ": " << narrow << ", " << wide << ", expected " << want;
      }
      for (const char *to : {"f16", "bf16", "i32", "ui8", "i64", "i1", "i4"})
        throughCast(codes, codes.size(), name, to, target);
      for (const char *to : floatNames)
        if (std::string(to) != name)
          throughCast(codes, codes.size(), name, to, target);
    }
  }
}

TEST_F(SmallTypes, EncodesInKernels) {
  for (const char *name : floatNames) {
    const SmallFloat &f = format(name);
    std::vector<nn::Rounding> roundings = {nn::Rounding::nearest};
    if (!f.isSigned)
      roundings = {nn::Rounding::nearest, nn::Rounding::up, nn::Rounding::down};
    for (const std::string &target : testTargets())
      for (bool saturate : {true, false})
        for (nn::Rounding rounding : roundings) {
          SCOPED_TRACE(target + " " + name + (saturate ? " saturating" : ""));
          auto check = [&](auto values, const char *from) {
            Bytes got = throughCast(bytesOf(values), values.size(), from, name,
                                    target, saturate, rounding);
            int wrong = 0;
            for (size_t i = 0; i < values.size(); ++i) {
              uint8_t want =
                  f.encode(double(values[i]), saturate, nn::toFormat(rounding));
              if (uint8_t(got[i]) != want && ++wrong <= 3)
                ADD_FAILURE()
                    << values[i] << " of " << from << ": found "
                    << int(uint8_t(got[i])) << ", expected " << int(want);
            }
          };
          check(interesting<float>(f), "f32");
          check(interesting<double>(f), "f64");
        }
  }
}

TEST_F(SmallTypes, EncodesOtherTypes) {
  std::vector<uint16_t> halves(0x10000);
  std::iota(halves.begin(), halves.end(), uint16_t(0));
  std::vector<int64_t> wide = {0,
                               1,
                               -1,
                               5,
                               -7,
                               448,
                               465,
                               1 << 20,
                               INT64_MAX,
                               INT64_MIN,
                               (int64_t(1) << 60) + 1};
  for (const char *name : floatNames)
    for (const std::string &target : testTargets()) {
      SCOPED_TRACE(target + " " + name);
      throughCast(bytesOf(halves), halves.size(), "f16", name, target);
      throughCast(bytesOf(halves), halves.size(), "bf16", name, target, false);
      throughCast(bytesOf(wide), wide.size(), "i64", name, target);
      throughCast(bytesOf(wide), wide.size(), "ui64", name, target);
      throughCast(allCodes(8), 256, "i8", name, target);
      throughCast(allCodes(8), 256, "ui8", name, target);
      throughCast({0, 1, 1}, 3, "i1", name, target);
      throughCast(allCodes(4), 16, "i4", name, target);
    }
}

// Results are whole bytes, of which constants keep the low bits.
TEST_F(SmallTypes, IntegersInKernels) {
  for (const char *name : integerNames) {
    unsigned bits = type(name).getIntOrFloatBitWidth();
    bool isUnsigned = type(name).isUnsignedInteger();
    int low = isUnsigned ? 0 : -(1 << (bits - 1)), high = low + (1 << bits) - 1;
    auto extended = [&](int code) {
      code &= (1 << bits) - 1;
      return code > high ? code - (1 << bits) : code;
    };
    auto run = [&](const Bytes &input, size_t count, std::string from,
                   std::string to, const std::string &target) {
      std::string shape = "tensor<" + std::to_string(count) + "x";
      std::string in = shape + from + ">", out = shape + to + ">";
      return runLayer("func.func @main(%0: " + in + ") -> " + out +
                          " {\n %1 = nn.cast %0 : " + in + " -> " + out +
                          "\n return %1 : " + out + "\n}\n",
                      {input}, target, "element")[0];
    };
    for (const std::string &target : testTargets()) {
      SCOPED_TRACE(target + " " + name);
      // Bits above the low ones of an input do not matter.
      Bytes codes = allCodes(8);
      Bytes numbers = run(codes, 256, name, "f32", target);
      Bytes integers = run(codes, 256, name, "i32", target);
      Bytes wrapped = run(codes, 256, "i8", name, target);
      for (int i = 0; i < 256; ++i) {
        float number;
        int32_t integer;
        std::memcpy(&number, &numbers[i * 4], 4);
        std::memcpy(&integer, &integers[i * 4], 4);
        EXPECT_EQ(number, extended(i));
        EXPECT_EQ(integer, extended(i));
        EXPECT_EQ(wrapped[i], char(extended(i)));
      }
      std::vector<float> reals;
      for (int i = -40; i <= 80; ++i)
        reals.push_back(i / 4.0f);
      reals.push_back(NAN);
      Bytes clamped = run(bytesOf(reals), reals.size(), "f32", name, target);
      for (size_t i = 0; i < reals.size(); ++i) {
        float want = std::isnan(reals[i]) ? 0
                                          : std::clamp(std::trunc(reals[i]),
                                                       float(low), float(high));
        EXPECT_EQ(clamped[i], char(want)) << reals[i];
      }
    }
  }
}

TEST_F(SmallTypes, SameBitsAsAnotherType) {
  struct Row {
    std::string from, to;
    Bytes want; ///< of the codes below
  };
  const Bytes codes = {'\x7d', '\xf8', '\x03'};
  for (const Row &row :
       {Row{"i4", "ui4", {13, 8, 3}}, Row{"ui4", "i4", {-3, -8, 3}},
        Row{"i4", "f4E2M1FN", {13, 8, 3}}, Row{"f4E2M1FN", "i4", {-3, -8, 3}},
        Row{"i2", "ui2", {1, 0, 3}}, Row{"ui2", "i2", {1, 0, -1}},
        Row{"ui8", "f8E5M2", codes}, Row{"f8E8M0FNU", "i8", codes}})
    for (const std::string &target : testTargets()) {
      std::string in = "tensor<3x" + row.from + ">",
                  out = "tensor<3x" + row.to + ">";
      std::string text = "func.func @main(%0: " + in + ") -> " + out +
                         " {\n %1 = nn.bitcast %0 : " + in + " -> " + out +
                         "\n return %1 : " + out + "\n}\n";
      EXPECT_EQ(runLayer(text, {codes}, target, "element")[0], row.want)
          << target << "\n"
          << text;
    }
}

// Codes pass through layers that move them: NaNs keep their bits.
TEST_F(SmallTypes, MovesCodes) {
  struct Move {
    const char *layer, *result;
    std::vector<int> from; ///< where elements of the result come from; -1: zero
  };
  const Move moves[] = {
      {"nn.transpose %0 [1, 0] : tensor<2x3x$> -> tensor<3x2x$>",
       "3x2",
       {0, 3, 1, 4, 2, 5}},
      {"nn.slice %0 starts [0, 2] sizes [2, 2] steps [1, -2] : tensor<2x3x$> "
       "-> "
       "tensor<2x2x$>",
       "2x2",
       {2, 0, 5, 3}},
      {"nn.concat %0, %0 axis 1 : tensor<2x3x$>, tensor<2x3x$> -> "
       "tensor<2x6x$>",
       "2x6",
       {0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}},
      {"nn.pad constant %0 low [0, 1] high [0, 0] : tensor<2x3x$> -> "
       "tensor<2x4x$>",
       "2x4",
       {-1, 0, 1, 2, -1, 3, 4, 5}},
      {"nn.pad reflect %0 low [0, 1] high [0, 0] : tensor<2x3x$> -> "
       "tensor<2x4x$>",
       "2x4",
       {1, 0, 1, 2, 4, 3, 4, 5}},
      {"nn.reshape %0 : tensor<2x3x$> -> tensor<6x$>", "6", {0, 1, 2, 3, 4, 5}},
      {"nn.broadcast %0 : tensor<2x3x$> -> tensor<2x2x3x$>",
       "2x2x3",
       {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}},
      {"nn.unary %0 <identity> : tensor<2x3x$> -> tensor<2x3x$>",
       "2x3",
       {0, 1, 2, 3, 4, 5}},
  };
  std::vector<std::string> names(std::begin(floatNames), std::end(floatNames));
  names.insert(names.end(), std::begin(integerNames), std::end(integerNames));
  const Bytes codes = {'\x7d', '\xfd', '\x80', '\x05', '\xff', '\x7e'};
  for (const Move &move : moves)
    for (const std::string &name : names)
      for (const std::string &target : testTargets()) {
        std::string layer = move.layer;
        for (size_t at; (at = layer.find('$')) != std::string::npos;)
          layer.replace(at, 1, name);
        std::string result =
            std::string("tensor<") + move.result + "x" + name + ">";
        std::string text = "func.func @main(%0: tensor<2x3x" + name + ">) -> " +
                           result + " {\n %1 = " + layer +
                           "\n return %1 : " + result + "\n}\n";
        SCOPED_TRACE(target + "\n" + text);
        size_t operands = layer.find("%0, %0") == std::string::npos ? 1 : 2;
        Bytes got = runLayer(text, std::vector<Bytes>(operands, codes), target,
                             "element")[0];
        unsigned bits = type(name).getIntOrFloatBitWidth();
        bool isSigned = type(name).isSignlessInteger();
        ASSERT_EQ(got.size(), move.from.size());
        for (size_t i = 0; i < got.size(); ++i) {
          int want = move.from[i] < 0 ? 0 : uint8_t(codes[move.from[i]]);
          want &= (1 << bits) - 1;
          if (isSigned && want >> (bits - 1))
            want -= 1 << bits;
          EXPECT_EQ(got[i], char(want)) << i;
        }
      }
}
