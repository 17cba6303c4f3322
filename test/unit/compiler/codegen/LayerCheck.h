//===- LayerCheck.h - A layer against a formula of the index ----*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_CODEGEN_LAYERCHECK_H
#define NNV12_TEST_UNIT_COMPILER_CODEGEN_LAYERCHECK_H

#include "KernelTest.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace nnv12::test {

using Shape = std::vector<int64_t>;
using Indices = std::vector<int64_t>;

/// A tensor of numbers, whatever its element type (its name in IR).
struct Tensor {
  Shape shape;
  std::string element = "f32", layout = "";
  std::vector<double> data = {};
  /// As an operand: of a nn.constant, whose values the kernel gets all the
  /// same.
  bool isConstant = false;

  std::string type() const;
  double at(const Indices &index) const;
  int64_t size() const;
};

/// Values in [-scale, scale), exact in f32.
Tensor random(Shape shape, unsigned seed = 1, std::string layout = "",
              double scale = 1);
/// Whole numbers in [lo, hi].
Tensor integers(Shape shape, std::string element, int64_t lo, int64_t hi,
                unsigned seed = 1);
Tensor values(std::string element, std::vector<double> data);

/// The number of type f16 that is nearest to x.
double roundToHalf(double x);

using Formula = std::function<double(const Indices &)>;

/// The targets of layers' tests on this machine: those of CPUs, and the GPU
/// where there is one, but not with tools/check --quick.
std::vector<std::string> layerTargets();

/// Runs a layer with operands %0, %1…, whose types are written $0, $1…, the
/// result's $r ($r0, $r1… of several), and returns the results.
std::vector<Tensor> evaluate(const std::string &layer,
                             const std::vector<Tensor> &in,
                             std::vector<Tensor> out, const std::string &target,
                             const std::string &routine);

/// Compares the result with formula(index) on `targets`: the error may be
/// `tolerance` times the larger of one and the value. A GPU takes all of its
/// own routines that compute the layer.
void check(const std::string &layer, const std::vector<Tensor> &in, Tensor out,
           const Formula &formula, double tolerance = 1e-6,
           std::vector<std::string> targets = layerTargets(),
           const std::string &routine = "element");
/// The same for all results of a layer.
void checkAll(const std::string &layer, const std::vector<Tensor> &in,
              std::vector<Tensor> out, const std::vector<Formula> &formulas,
              double tolerance, const std::string &routine,
              std::vector<std::string> targets = layerTargets());

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_CODEGEN_LAYERCHECK_H
