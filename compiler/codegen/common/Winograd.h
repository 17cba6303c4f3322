//===- Winograd.h - Winograd's minimal filtering ----------------*- C++ -*-===//
//
// F(m x m, 3x3): m x m outputs of a 3x3 convolution from t x t inputs, t = m +
// 2,
//
//   Y = At [ (G g Gt) . (Bt d B) ] A
//
// with t*t multiplications instead of 9*m*m (Lavin & Gray, "Fast Algorithms for
// Convolutional Neural Networks"). The matrices follow from t - 1 points at
// which polynomials are multiplied, and infinity (Toom-Cook):
//
//   At[i][k] = p_k^i            G[k][j] = p_k^j / prod_{l != k} (p_k - p_l)
//   Bt[k]    = coefficients of prod_{l != k} (x - p_l), low powers first
//
// At's last column is zero but for its last row, G's last row is (0, 0, 1),
// Bt's last row holds the coefficients of the product over all points.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_WINOGRAD_H
#define NNV12_COMPILER_CODEGEN_COMMON_WINOGRAD_H

#include "compiler/codegen/common/BuilderBase.h"

#include <cassert>
#include <string>

namespace nnv12::codegen {

/// A small dense matrix.
struct Matrix {
  int64_t rows, cols;
  SmallVector<double> data; ///< row-major
  double &at(int64_t row, int64_t col) { return data[index(row, col)]; }
  double at(int64_t row, int64_t col) const { return data[index(row, col)]; }

private:
  int64_t index(int64_t row, int64_t col) const {
    assert(row >= 0 && row < rows && col >= 0 && col < cols && "inside");
    return row * cols + col;
  }
};

/// The matrices of F(m x m, 3x3).
struct Winograd {
  int64_t m, t;
  Matrix output;  ///< At, m x t
  Matrix input;   ///< Bt, t x t
  Matrix weights; ///< G, t x 3

  int64_t taps() const { return t * t; }
  /// m is 2, 4 or 6.
  static const Winograd &of(int64_t m);
};

/// Emits matrix * x * matrix^T for a square x of vectors; multiply-adds that
/// rows or columns of opposite sign share are emitted once. `load` is asked for
/// columns one after the other, `store` gets rows one after the other.
void emitTransform2D(BuilderBase &k, const Matrix &matrix,
                     function_ref<Value(int64_t row, int64_t col)> load,
                     function_ref<void(int64_t row, int64_t col, Value)> store);

/// Emits matrix * x. emitTransform2D() does so with a column, and then with a
/// row.
Values emitTransform1D(BuilderBase &k, const Matrix &matrix, ValueRange x);

/// How many additions and multiplications matrix * x * matrix^T is, about.
double transformOperations(const Matrix &matrix);

/// Why no F(m x m, 3x3) computes the layer, as Routine::misfit() says it.
std::string winogradMisfit(Operation *layer);

/// emitTransform2D() on this machine, with the same bits as a kernel: `count`
/// times matrix * x * matrix^T for 16 square x at once, whose numbers lie side
/// by side, `distance` to the next element of x, and `apart` to the next 16; so
/// does the result.
void transform2D(const Matrix &matrix, int64_t count, const float *x,
                 int64_t apart, int64_t distance, float *result,
                 int64_t resultApart, int64_t resultDistance);

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_WINOGRAD_H
