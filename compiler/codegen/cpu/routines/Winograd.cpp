//===- Winograd.cpp - Winograd's minimal filtering ------------------------===//

#include "compiler/codegen/cpu/routines/Winograd.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cassert>
#include <cmath>
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

void codegen::transform2D(const Matrix &matrix, int64_t lanes, const float *x,
                          int64_t distance, float *result,
                          int64_t resultDistance) {
  int64_t rows = matrix.rows, cols = matrix.cols;
  // [row][column][lane]
  SmallVector<double, 1024> half(rows * cols * lanes, 0.0);
  SmallVector<double, 64> sum(lanes);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t inner = 0; inner < cols; ++inner)
      if (double factor = matrix.at(row, inner))
        for (int64_t col = 0; col < cols; ++col) {
          const float *from = x + (inner * cols + col) * distance;
          double *to = &half[(row * cols + col) * lanes];
          for (int64_t lane = 0; lane < lanes; ++lane)
            to[lane] += factor * from[lane];
        }
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t col = 0; col < rows; ++col) {
      llvm::fill(sum, 0.0);
      for (int64_t inner = 0; inner < cols; ++inner) {
        const double *from = &half[(row * cols + inner) * lanes];
        for (int64_t lane = 0; lane < lanes; ++lane)
          sum[lane] += matrix.at(col, inner) * from[lane];
      }
      float *to = result + (row * rows + col) * resultDistance;
      for (int64_t lane = 0; lane < lanes; ++lane)
        to[lane] = float(sum[lane]);
    }
}

//===----------------------------------------------------------------------===//
// Code
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

Value combine(KernelBuilder &k, Terms terms, const Values &x) {
  // A factor of one makes a start that costs nothing.
  auto *one = llvm::find_if(terms, [](Term t) { return t.factor == 1; });
  if (one != terms.end())
    std::swap(terms.front(), *one);
  Type type = x[0].getType();
  Value sum = x[terms[0].of];
  if (terms[0].factor != 1)
    sum = arith::MulFOp::create(k.b, sum, k.fconst(terms[0].factor, type));
  for (Term t : llvm::drop_begin(terms)) {
    Value value = x[t.of];
    if (t.factor == 1)
      sum = arith::AddFOp::create(k.b, sum, value);
    else if (t.factor == -1)
      sum = arith::SubFOp::create(k.b, sum, value);
    else
      sum = k.fma(value, k.fconst(t.factor, type), sum);
  }
  return sum;
}

Values multiply(KernelBuilder &k, const Steps &steps, Values x) {
  for (auto [a, b] : steps.operandPairs) {
    x.push_back(arith::AddFOp::create(k.b, x[a], x[b]));
    x.push_back(arith::SubFOp::create(k.b, x[a], x[b]));
  }
  Values sums, results;
  for (const Terms &terms : steps.combinations)
    sums.push_back(combine(k, terms, x));
  for (auto [a, b] : steps.results) {
    if (b < 0) {
      results.push_back(sums[a]);
      continue;
    }
    results.push_back(arith::AddFOp::create(k.b, sums[a], sums[b]));
    results.push_back(arith::SubFOp::create(k.b, sums[a], sums[b]));
  }
  return results;
}

} // namespace

void codegen::emitTransform2D(
    KernelBuilder &k, const Matrix &matrix,
    llvm::function_ref<Value(int64_t, int64_t)> load,
    llvm::function_ref<void(int64_t, int64_t, Value)> store) {
  Steps steps(matrix);
  SmallVector<Values> half(matrix.rows);
  for (int64_t col = 0; col < matrix.cols; ++col) {
    Values column;
    for (int64_t row = 0; row < matrix.cols; ++row)
      column.push_back(load(row, col));
    for (auto [row, value] : llvm::enumerate(multiply(k, steps, column)))
      half[row].push_back(value);
  }
  for (int64_t row = 0; row < matrix.rows; ++row)
    for (auto [col, value] : llvm::enumerate(multiply(k, steps, half[row])))
      store(row, col, value);
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
