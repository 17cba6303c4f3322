//===- Dependence.h - Which pixels a pixel depends on -----------*- C++ -*-===//
//
// Reuse between frames of a video asks of each layer: if these pixels of an
// operand changed, which pixels of the result may have? `nn::neededPart` knows
// it for boxes. Here its answers become windows of rows and columns, which a
// runtime follows in no time.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_VIDEO_DEPENDENCE_H
#define NNV12_COMPILER_VIDEO_DEPENDENCE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace nnv12::video {

/// The dimensions of a tensor that are the rows and the columns of pictures.
/// The elements of all other dimensions at one row and column are a pixel.
struct Plane {
  unsigned row, column;

  bool operator==(const Plane &other) const {
    return row == other.row && column == other.column;
  }
};

/// The planes of a model's values.
class Planes {
public:
  explicit Planes(mlir::func::FuncOp main);
  /// None for a value without rows and columns, or with one pixel.
  std::optional<Plane> of(mlir::Value value) const;

private:
  void findInputs(mlir::func::FuncOp main);
  std::optional<Plane> planeOfResult(mlir::OpResult result) const;

  llvm::DenseMap<mlir::Value, Plane> planes;
};

/// Position i of a result needs positions floor((i * num + low) / den) to
/// floor((i * num + high) / den) of an operand, as far as there are such.
struct Window {
  int64_t num = 1, den = 1, low = 0, high = 0;

  /// The first and the last position; outside of the operand where it has
  /// none.
  std::pair<int64_t, int64_t> of(int64_t i) const;
  bool operator==(const Window &other) const {
    return num == other.num && den == other.den && low == other.low &&
           high == other.high;
  }
};

/// The positions of an operand's dimension `operandDim` that positions of
/// dimension `dim` of result number `result` need; none where no position needs
/// any. `together`: see dependence().
std::optional<Window> windowAlong(mlir::OpOperand &operand, unsigned result,
                                  unsigned dim, unsigned operandDim,
                                  int64_t together = 1);

/// The pixels of an operand that a pixel of a result depends on.
struct Dependence {
  enum class Kind {
    None,   ///< on none
    Window, ///< on those in a window of rows and one of columns
    All     ///< it is unknown, or on all
  };
  Kind kind = Kind::All;
  Window rows = {}, columns = {}; ///< of Kind::Window
};

/// How result number `result` depends on an operand: on those pixels at most.
/// A kernel computes groups of `together` neighbouring rows and columns, from
/// the first ones on. All of a group depend on the same pixels, at least by
/// their rounding.
Dependence dependence(mlir::OpOperand &operand, unsigned result,
                      const Planes &planes, int64_t together = 1);

} // namespace nnv12::video

#endif // NNV12_COMPILER_VIDEO_DEPENDENCE_H
