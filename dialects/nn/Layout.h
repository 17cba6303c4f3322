//===- Layout.h - Meaning of a layout tag -----------------------*- C++ -*-===//
//
// A layout maps a logical index to an element offset in memory. The notation is
// oneDNN's (see LayoutAttr in NNAttrs.td).
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_DIALECTS_NN_LAYOUT_H
#define NNV12_DIALECTS_NN_LAYOUT_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace nnv12::nn {

/// A parsed tag, bound to a shape.
class Layout {
public:
  /// One loop of the physical array, outermost first: `extent` steps, each
  /// moving `stride` elements in memory and `step` along logical dimension
  /// `dim`. A blocked dimension has two: blocks (step 16) and inside a block
  /// (step 1). One that is blocked twice has three.
  struct Axis {
    unsigned dim;
    int64_t extent;
    int64_t stride;
    int64_t step;
  };

  /// nullopt when the tag does not fit the rank, or names a dimension twice
  /// (inside of blocks: three times).
  static std::optional<Layout> parse(llvm::StringRef tag,
                                     llvm::ArrayRef<int64_t> shape);
  /// Dense row-major.
  static Layout dense(llvm::ArrayRef<int64_t> shape);
  /// The layout of a tensor by its encoding (dense if it has none).
  static Layout of(mlir::RankedTensorType type);

  llvm::ArrayRef<Axis> axes() const { return axes_; }
  /// Block size of a dimension, 1 if it is not blocked.
  int64_t block(unsigned dim) const;
  /// Elements in memory, padding included.
  int64_t size() const { return size_; }
  /// Whether memory holds padding, that is, size() exceeds the shape's product.
  bool isPadded() const;
  /// Offset of the element at a logical index.
  int64_t offset(llvm::ArrayRef<int64_t> index) const;

private:
  /// Strides follow from the axes' extents.
  Layout(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<Axis> axes);

  llvm::SmallVector<Axis> axes_;
  llvm::SmallVector<int64_t> shape;
  int64_t size_ = 1;
};

/// The type of a layer's operand or result.
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// The tensor type with another layout; an empty tag means dense.
mlir::RankedTensorType withLayout(mlir::RankedTensorType type,
                                  llvm::StringRef tag);
/// The tag of a type's layout, empty if dense.
llvm::StringRef layoutTag(mlir::Type type);
/// Bytes that a tensor takes in memory (i1 is one byte an element).
int64_t storageSize(mlir::RankedTensorType type);
inline int64_t storageSize(mlir::Value value) {
  return storageSize(typeOf(value));
}
/// Bytes of one element as stored: i1 is one byte.
int64_t storageElementSize(mlir::Type elementType);

/// Copies `type`-shaped elements of `elementSize` bytes from row-major `source`
/// into the layout `type` names; padding becomes zero. `target` has
/// storageSize(type) bytes.
void pack(mlir::RankedTensorType type, const char *source, char *target);

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_LAYOUT_H
