//===- Winograd.cpp - Winograd's minimal filtering ------------------------===//

#include "compiler/codegen/common/Winograd.h"

#include "compiler/routines/WindowShape.h"

#include <cassert>
#include <cmath>
#include <cstring>
#include <numeric>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::codegen;

//===----------------------------------------------------------------------===//
// The matrices
//===----------------------------------------------------------------------===//

static Matrix zeros(int64_t rows, int64_t cols) {
  return {rows, cols, SmallVector<double>(rows * cols, 0.0)};
}

/// `points` are finite, 0 first, then pairs of opposite ones.
static Winograd fromPoints(ArrayRef<double> points) {
  assert(points.size() % 2 == 1 && points[0] == 0 && "pairs behind the zero");
  int64_t finite = points.size(), t = finite + 1, m = t - 2;
  Winograd w{m, t, zeros(m, t), zeros(t, t), zeros(t, 3)};
  // prod (x - p) over all points but one (or none), low powers first.
  auto product = [&](int64_t without) {
    SmallVector<double> c = {1};
    for (int64_t l = 0; l < finite; ++l) {
      if (l == without)
        continue;
      c.push_back(0);
      for (int64_t i = c.size() - 1; i >= 0; --i)
        c[i] = (i ? c[i - 1] : 0) - points[l] * c[i];
    }
    return c;
  };
  for (int64_t k = 0; k < t; ++k) {
    bool isInfinity = k == finite;
    double norm = 1;
    for (int64_t l = 0; l < finite && !isInfinity; ++l)
      norm *= l == k ? 1 : points[k] - points[l];
    for (int64_t i = 0; i < m; ++i)
      w.output.at(i, k) =
          isInfinity ? i == m - 1 : std::pow(points[k], double(i));
    for (int64_t j = 0; j < 3; ++j)
      w.weights.at(k, j) =
          isInfinity ? j == 2 : std::pow(points[k], double(j)) / norm;
    for (auto [j, c] : llvm::enumerate(product(k)))
      w.input.at(k, j) = c;
  }
  return w;
}

const Winograd &Winograd::of(int64_t m) {
  assert((m == 2 || m == 4 || m == 6) && "no others are worth it");
  // Points decide how much of the sums' precision survives. Those below have
  // the smallest errors among pairs of multiples of 1/16; with the
  // usual 1 and 2, F(4, 3) would lose four times as much.
  static const Winograd two = fromPoints({0, 1, -1}),
                        four = fromPoints({0, 0.75, -0.75, 1.5, -1.5}),
                        six = fromPoints({0, 1, -1, 2, -2, 0.5, -0.5});
  return m == 2 ? two : m == 4 ? four : six;
}

//===----------------------------------------------------------------------===//
// Transforms: the same steps, in the same order, in kernels and on this machine
//===----------------------------------------------------------------------===//

namespace {

struct Term {
  double factor;
  int64_t of; ///< index of the value
};
using Terms = SmallVector<Term>;

/// How a matrix is multiplied with a vector: sums and differences of pairs of
/// operands, linear combinations of all those, and sums and differences of
/// pairs of results.
struct Steps {
  SmallVector<std::pair<int64_t, int64_t>> operandPairs;
  SmallVector<Terms> combinations; ///< of operands, then each pair's + and -
  /// Combinations that make a result: (a, -1) is a itself, (a, b) is a + b,
  /// and the next result a - b.
  SmallVector<std::pair<int64_t, int64_t>> results;

  explicit Steps(const Matrix &matrix);

private:
  void pairColumns(const Matrix &matrix);
  void pairRows(const Matrix &matrix);
};

Steps::Steps(const Matrix &matrix) {
  if (matrix.cols > matrix.rows)
    pairColumns(matrix);
  else
    pairRows(matrix);
  // A factor of one makes a start that costs nothing.
  for (Terms &terms : combinations) {
    auto *one = llvm::find_if(terms, [](Term t) { return t.factor == 1; });
    if (one != terms.end())
      std::swap(terms.front(), *one);
  }
  assert(std::accumulate(results.begin(), results.end(), int64_t(0),
                         [](int64_t rows, auto result) {
                           return rows + (result.second < 0 ? 1 : 2);
                         }) == matrix.rows &&
         "a result for each row");
}

/// Columns of equal or opposite numbers need only the sum or the difference of
/// their operands.
void Steps::pairColumns(const Matrix &matrix) {
  combinations.resize(matrix.rows);
  for (int64_t row = 0; row < matrix.rows; ++row)
    results.push_back({row, -1});
  for (int64_t col = 0; col < matrix.cols; ++col) {
    bool isPair = col + 1 < matrix.cols;
    for (int64_t row = 0; row < matrix.rows && isPair; ++row)
      isPair =
          std::abs(matrix.at(row, col)) == std::abs(matrix.at(row, col + 1));
    int64_t sum = matrix.cols + 2 * operandPairs.size();
    for (int64_t row = 0; row < matrix.rows; ++row)
      if (double x = matrix.at(row, col))
        combinations[row].push_back(
            {x, !isPair ? col : sum + (x != matrix.at(row, col + 1))});
    if (isPair) {
      operandPairs.push_back({col, col + 1});
      ++col;
    }
  }
}

/// Rows whose numbers are equal or opposite share two half sums.
void Steps::pairRows(const Matrix &matrix) {
  for (int64_t row = 0; row < matrix.rows; ++row) {
    Terms equal, opposite;
    bool isPair = row + 1 < matrix.rows;
    for (int64_t col = 0; col < matrix.cols; ++col) {
      double x = matrix.at(row, col), y = isPair ? matrix.at(row + 1, col) : x;
      isPair &= std::abs(x) == std::abs(y);
      if (x != 0)
        (x == y ? equal : opposite).push_back({x, col});
    }
    int64_t next = combinations.size();
    if (isPair && !equal.empty() && !opposite.empty()) {
      combinations.push_back(equal);
      combinations.push_back(opposite);
      results.push_back({next, next + 1});
      ++row;
      continue;
    }
    equal.clear();
    for (int64_t col = 0; col < matrix.cols; ++col)
      if (double x = matrix.at(row, col))
        equal.push_back({x, col});
    combinations.push_back(equal);
    results.push_back({next, -1});
  }
}

/// Emits the steps. An arithmetic does the steps: it has the type of its
/// numbers, and for them add, sub, scaled (a product with a constant) and fma
/// (the same, added to a number, rounded once).
struct EmittedArithmetic {
  using Number = Value;
  BuilderBase &k;

  Value add(Value a, Value b) { return arith::AddFOp::create(k.b, a, b); }
  Value sub(Value a, Value b) { return arith::SubFOp::create(k.b, a, b); }
  Value scaled(Value a, double by) {
    return arith::MulFOp::create(k.b, a, k.fconst(by, a.getType()));
  }
  Value fma(Value a, double by, Value b) {
    return k.fma(a, k.fconst(by, a.getType()), b);
  }
};

constexpr int64_t panelWidth = 16;

/// Numbers of a panel side by side, which the compiler makes vectors of.
struct Lanes {
  float x[panelWidth];
};

/// Does the steps. Inlined everywhere, to be compiled for the CPU of its
/// caller.
struct HostArithmetic {
  using Number = Lanes;
  template <typename Function>
  [[gnu::always_inline]] static Lanes each(Function function) {
    Lanes result;
    for (int64_t i = 0; i < panelWidth; ++i)
      result.x[i] = function(i);
    return result;
  }

  [[gnu::always_inline]] Lanes add(const Lanes &a, const Lanes &b) {
    return each([&](int64_t i)
                    __attribute__((always_inline)) { return a.x[i] + b.x[i]; });
  }
  [[gnu::always_inline]] Lanes sub(const Lanes &a, const Lanes &b) {
    return each([&](int64_t i)
                    __attribute__((always_inline)) { return a.x[i] - b.x[i]; });
  }
  [[gnu::always_inline]] Lanes scaled(const Lanes &a, double by) {
    return each([&](int64_t i) __attribute__((always_inline)) {
      return a.x[i] * float(by);
    });
  }
  [[gnu::always_inline]] Lanes fma(const Lanes &a, double by, const Lanes &b) {
    return each([&](int64_t i) __attribute__((always_inline)) {
      return __builtin_fmaf(a.x[i], float(by), b.x[i]);
    });
  }
};

template <typename Arithmetic, typename Number = typename Arithmetic::Number>
[[gnu::always_inline]] inline Number
combine(Arithmetic &a, ArrayRef<Term> terms, ArrayRef<Number> x) {
  Number sum = x[terms[0].of];
  if (terms[0].factor != 1)
    sum = a.scaled(sum, terms[0].factor);
  for (Term t : terms.drop_front()) {
    if (t.factor == 1)
      sum = a.add(sum, x[t.of]);
    else if (t.factor == -1)
      sum = a.sub(sum, x[t.of]);
    else
      sum = a.fma(x[t.of], t.factor, sum);
  }
  return sum;
}

/// The matrix's product with x, which grows by the values that pairs of it
/// share.
template <typename Arithmetic, typename Number = typename Arithmetic::Number>
[[gnu::always_inline]] inline SmallVector<Number, 8>
multiply(Arithmetic &a, const Steps &steps, SmallVector<Number, 8> x) {
  for (auto [p, q] : steps.operandPairs) {
    Number sum = a.add(x[p], x[q]), difference = a.sub(x[p], x[q]);
    x.push_back(sum);
    x.push_back(difference);
  }
  SmallVector<Number, 8> sums, results;
  for (const Terms &terms : steps.combinations)
    sums.push_back(combine(a, terms, ArrayRef<Number>(x)));
  for (auto [p, q] : steps.results) {
    if (q < 0) {
      results.push_back(sums[p]);
      continue;
    }
    results.push_back(a.add(sums[p], sums[q]));
    results.push_back(a.sub(sums[p], sums[q]));
  }
  return results;
}

template <typename Arithmetic, typename Load, typename Store>
[[gnu::always_inline]] inline void
transform(Arithmetic &a, const Matrix &matrix, const Steps &steps, Load load,
          Store store) {
  using Numbers = SmallVector<typename Arithmetic::Number, 8>;
  SmallVector<Numbers, 8> half(matrix.rows);
  for (int64_t col = 0; col < matrix.cols; ++col) {
    Numbers column;
    for (int64_t row = 0; row < matrix.cols; ++row)
      column.push_back(load(row, col));
    Numbers result = multiply(a, steps, std::move(column));
    for (int64_t row = 0; row < matrix.rows; ++row)
      half[row].push_back(result[row]);
  }
  for (int64_t row = 0; row < matrix.rows; ++row) {
    Numbers result = multiply(a, steps, half[row]);
    for (int64_t col = 0; col < matrix.rows; ++col)
      store(row, col, result[col]);
  }
}

/// All of transform2D(), compiled for its caller's CPU.
[[gnu::always_inline]] inline void
transformOnHost(const Matrix &matrix, int64_t count, const float *x,
                int64_t apart, int64_t distance, float *result,
                int64_t resultApart, int64_t resultDistance) {
  Steps steps(matrix);
  HostArithmetic arithmetic;
  for (int64_t i = 0; i < count; ++i, x += apart, result += resultApart)
    transform(
        arithmetic, matrix, steps,
        [&](int64_t row, int64_t col) __attribute__((always_inline)) {
          Lanes lanes;
          std::memcpy(&lanes, x + (row * matrix.cols + col) * distance,
                      sizeof(Lanes));
          return lanes;
        },
        [&](int64_t row, int64_t col, const Lanes &lanes)
            __attribute__((always_inline)) {
              std::memcpy(result + (row * matrix.rows + col) * resultDistance,
                          &lanes, sizeof(Lanes));
            });
}

#ifdef __x86_64__
/// With the instruction: without it each fma is a call.
template <typename... Arguments>
[[gnu::target("avx2,fma")]] void
transformWithFma(const Arguments &...arguments) {
  transformOnHost(arguments...);
}
#endif

} // namespace

void codegen::emitTransform2D(
    BuilderBase &k, const Matrix &matrix,
    llvm::function_ref<Value(int64_t, int64_t)> load,
    llvm::function_ref<void(int64_t, int64_t, Value)> store) {
  EmittedArithmetic arithmetic{k};
  transform(arithmetic, matrix, Steps(matrix), load, store);
}

Values codegen::emitTransform1D(BuilderBase &k, const Matrix &matrix,
                                ValueRange x) {
  EmittedArithmetic arithmetic{k};
  return Values(ArrayRef(multiply<EmittedArithmetic>(
      arithmetic, Steps(matrix), SmallVector<Value, 8>(x))));
}

void codegen::transform2D(const Matrix &matrix, int64_t count, const float *x,
                          int64_t apart, int64_t distance, float *result,
                          int64_t resultApart, int64_t resultDistance) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
    return transformWithFma(matrix, count, x, apart, distance, result,
                            resultApart, resultDistance);
#endif
  transformOnHost(matrix, count, x, apart, distance, result, resultApart,
                  resultDistance);
}

double codegen::transformOperations(const Matrix &matrix) {
  Steps steps(matrix);
  double count = 2 * double(steps.operandPairs.size());
  for (const Terms &terms : steps.combinations)
    count += double(terms.size() - 1);
  for (auto [a, b] : steps.results)
    count += b < 0 ? 0 : 2;
  return count * double(matrix.rows + matrix.cols);
}

std::string codegen::winogradMisfit(Operation *layer) {
  auto op = dyn_cast<nn::ConvOp>(layer);
  if (!op || shapeOf(op.getInput()).size() != 4 || !isNonEmptyF32(op) ||
      op.getGroups() != 1 || !op.getWeights().getDefiningOp<nn::ConstantOp>())
    return "it is no convolution of f32 with two spatial dimensions, constant "
           "weights and one group";
  WindowShape w(op);
  return w.kernelRows == 3 && w.kernelCols == 3 && w.strideRows == 1 &&
                 w.strideCols == 1 && w.dilationRows == 1 && w.dilationCols == 1
             ? ""
             : "its window is not 3x3, of stride 1 and dense";
}
