//===- LayerCheck.cpp - A layer against a formula of the index ------------===//

#include "LayerCheck.h"
#include "LayerShader.h"

#include "llvm/ADT/APFloat.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

namespace nnv12::test {
namespace {

template <typename T> Bytes pack(const std::vector<double> &values) {
  Bytes bytes(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T x = T(values[i]);
    std::memcpy(&bytes[i * sizeof(T)], &x, sizeof(T));
  }
  return bytes;
}
template <typename T> std::vector<double> unpack(const Bytes &bytes) {
  std::vector<double> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T x;
    std::memcpy(&x, &bytes[i * sizeof(T)], sizeof(T));
    values[i] = double(x);
  }
  return values;
}

/// By way of APFloat: not every compiler has a type for it.
Bytes packF16(const std::vector<double> &values) {
  Bytes bytes(values.size() * 2);
  for (size_t i = 0; i < values.size(); ++i) {
    llvm::APFloat x(values[i]);
    bool inexact;
    x.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven,
              &inexact);
    auto bits = uint16_t(x.bitcastToAPInt().getZExtValue());
    std::memcpy(&bytes[i * 2], &bits, 2);
  }
  return bytes;
}
std::vector<double> unpackF16(const Bytes &bytes) {
  std::vector<double> values(bytes.size() / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    uint16_t bits;
    std::memcpy(&bits, &bytes[i * 2], 2);
    values[i] = llvm::APFloat(llvm::APFloat::IEEEhalf(), llvm::APInt(16, bits))
                    .convertToDouble();
  }
  return values;
}

/// bfloat16: the upper half of a float.
Bytes packBF16(const std::vector<double> &values) {
  Bytes bytes(values.size() * 2);
  for (size_t i = 0; i < values.size(); ++i) {
    float x = float(values[i]);
    std::memcpy(&bytes[i * 2], reinterpret_cast<char *>(&x) + 2, 2);
  }
  return bytes;
}
std::vector<double> unpackBF16(const Bytes &bytes) {
  std::vector<double> values(bytes.size() / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    float x = 0;
    std::memcpy(reinterpret_cast<char *>(&x) + 2, &bytes[i * 2], 2);
    values[i] = x;
  }
  return values;
}

struct ElementType {
  const char *name;
  Bytes (*pack)(const std::vector<double> &);
  std::vector<double> (*unpack)(const Bytes &);
};
const ElementType elementTypes[] = {
    {"f32", pack<float>, unpack<float>},
    {"f64", pack<double>, unpack<double>},
    {"i64", pack<int64_t>, unpack<int64_t>},
    {"i32", pack<int32_t>, unpack<int32_t>},
    {"i16", pack<int16_t>, unpack<int16_t>},
    {"i8", pack<int8_t>, unpack<int8_t>},
    {"ui8", pack<uint8_t>, unpack<uint8_t>},
    {"ui16", pack<uint16_t>, unpack<uint16_t>},
    {"ui32", pack<uint32_t>, unpack<uint32_t>},
    {"ui64", pack<uint64_t>, unpack<uint64_t>},
    {"i1", pack<uint8_t>, unpack<uint8_t>},
    {"f16", packF16, unpackF16},
    {"bf16", packBF16, unpackBF16},
};
const ElementType &typeNamed(const std::string &name) {
  for (const ElementType &t : elementTypes)
    if (t.name == name)
      return t;
  abort();
}

std::string module(std::string layer, const std::vector<Tensor> &in,
                   const std::vector<Tensor> &out) {
  auto replace = [&](std::string from, std::string to) {
    for (size_t p = 0; (p = layer.find(from, p)) != std::string::npos;
         p += to.size())
      layer.replace(p, from.size(), to);
  };
  std::string arguments, types, results, constants;
  for (size_t i = 0; i < in.size(); ++i) {
    std::string type = in[i].type(), name = "%" + std::to_string(i);
    if (in[i].isConstant)
      constants += "  " + name + " = nn.constant dense<0> : " + type + "\n";
    else
      arguments += (arguments.empty() ? "" : ", ") + name + ": " + type;
  }
  for (size_t i = in.size(); i-- > 0;) // $12 before $1
    replace("$" + std::to_string(i), in[i].type());
  for (size_t i = 0; i < out.size(); ++i) {
    replace("$r" + std::to_string(i), out[i].type());
    types += (i ? ", " : "") + out[i].type();
    results += (i ? ", %r#" : "%r#") + std::to_string(i);
  }
  replace("$r", out[0].type());
  return "func.func @main(" + arguments + ") -> (" + types + ") {\n" +
         constants + "  %r:" + std::to_string(out.size()) + " = " + layer +
         "\n  return " + results + " : " + types + "\n}\n";
}

} // namespace

std::string Tensor::type() const {
  std::string s = "tensor<";
  for (int64_t d : shape)
    s += std::to_string(d) + "x";
  return s + element +
         (layout.empty() ? "" : ", #nn.layout<\"" + layout + "\">") + ">";
}

double Tensor::at(const Indices &index) const {
  int64_t linear = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    linear = linear * shape[d] + index[d];
  return data[linear];
}

int64_t Tensor::size() const {
  int64_t n = 1;
  for (int64_t d : shape)
    n *= d;
  return n;
}

Tensor random(Shape shape, unsigned seed, std::string layout, double scale) {
  Tensor t{shape, "f32", layout, {}};
  for (float x : randomFloats(t.size(), seed))
    t.data.push_back(float(x * scale));
  return t;
}

Tensor integers(Shape shape, std::string element, int64_t lo, int64_t hi,
                unsigned seed) {
  Tensor t{shape, element, "", {}};
  for (float x : randomFloats(t.size(), seed))
    t.data.push_back(std::floor(lo + (x + 1) / 2 * (hi - lo + 1)));
  return t;
}

double roundToHalf(double x) { return unpackF16(packF16({x}))[0]; }

Tensor values(std::string element, std::vector<double> data) {
  Tensor t{{int64_t(data.size())}, element, "", {}};
  // Rounded to the type.
  t.data = typeNamed(element).unpack(typeNamed(element).pack(data));
  return t;
}

std::vector<std::string> layerTargets() {
  std::vector<std::string> targets = testTargets();
  if (!isTier("quick") && ShaderRunner::instance().isAvailable())
    targets.push_back(gpuTarget);
  return targets;
}

/// Whether this machine has the target's instructions. For other targets tests
/// compile the code, and do not run it.
static bool runsHere(const std::string &target) {
  auto cpu = codegen::Target::byName(target);
  return !cpu || cpu->architecture == "aarch64" || cpu->runsHere();
}

/// Compiles the layer for the target and runs it; empty where that fails.
static std::vector<Bytes> runOn(const std::string &target,
                                const std::string &text,
                                const std::string &routine,
                                const std::vector<Bytes> &inputs) {
  std::string error;
  std::vector<Bytes> results;
  if (target == gpuTarget) {
    // A CPU's routine has no namesake: the preferred one.
    bool isNamed = llvm::StringRef(routine).starts_with("gpu.");
    if (auto shader = LayerShader::compile(text, error, isNamed ? routine : ""))
      results = shader->run(inputs, error);
  } else if (auto kernel = LayerKernel::compile(text, target, error, routine)) {
    results = kernel->run(inputs);
  }
  if (results.empty())
    ADD_FAILURE() << error << "\n" << text;
  return results;
}

std::vector<Tensor> evaluate(const std::string &layer,
                             const std::vector<Tensor> &in,
                             std::vector<Tensor> out, const std::string &target,
                             const std::string &routine) {
  std::vector<Bytes> inputs;
  for (const Tensor &t : in)
    inputs.push_back(typeNamed(t.element).pack(t.data));
  std::vector<Bytes> results =
      runOn(target, module(layer, in, out), routine, inputs);
  if (results.empty())
    return {};
  for (size_t i = 0; i < out.size(); ++i)
    out[i].data = typeNamed(out[i].element).unpack(results[i]);
  return out;
}

void checkAll(const std::string &layer, const std::vector<Tensor> &in,
              std::vector<Tensor> out, const std::vector<Formula> &formulas,
              double tolerance, const std::string &routine,
              std::vector<std::string> targets) {
  std::vector<std::pair<std::string, std::string>> runs;
  for (const std::string &target : targets)
    if (target != gpuTarget)
      runs.push_back({target, routine});
    else
      for (const std::string &own : gpuRoutinesOf(module(layer, in, out)))
        runs.push_back({target, own});
  for (auto [target, name] : runs) {
    std::string text = module(layer, in, out);
    SCOPED_TRACE(target + " " + name + "\n" + text);
    if (!runsHere(target)) {
      std::string error;
      ASSERT_TRUE(LayerKernel::compile(text, target, error, name)) << error;
      continue;
    }
    std::vector<Tensor> got = evaluate(layer, in, out, target, name);
    ASSERT_EQ(got.size(), out.size());
    int wrong = 0;
    for (size_t r = 0; r < got.size(); ++r) {
      Indices index(out[r].shape.size(), 0);
      for (int64_t i = 0; i < out[r].size(); ++i) {
        double want = formulas[r](index), have = got[r].data[i];
        bool same = std::isnan(want) ? std::isnan(have)
                    : std::isinf(want)
                        ? have == want
                        : std::abs(have - want) <=
                              tolerance * std::max(1.0, std::abs(want));
        if (!same && ++wrong <= 3)
          ADD_FAILURE() << "result " << r << ", element " << i << ": found "
                        << have << ", expected " << want;
        for (size_t d = index.size(); d-- > 0;) {
          if (++index[d] < out[r].shape[d])
            break;
          index[d] = 0;
        }
      }
    }
    ASSERT_EQ(wrong, 0);
  }
}

void check(const std::string &layer, const std::vector<Tensor> &in, Tensor out,
           const Formula &formula, double tolerance,
           std::vector<std::string> targets, const std::string &routine) {
  checkAll(layer, in, {out}, {formula}, tolerance, routine, targets);
}

} // namespace nnv12::test
