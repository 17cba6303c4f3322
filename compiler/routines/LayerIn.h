//===- LayerIn.h - A layer in other layouts ---------------------*- C++ -*-===//
//
// Layers by themselves, outside of any model: to be priced, measured and
// compiled in layouts that the model does not have.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_ROUTINES_LAYERIN_H
#define NNV12_COMPILER_ROUTINES_LAYERIN_H

#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

#include <string>

namespace nnv12 {

/// The layout of each operand and result of a layer: a tag, "" for dense.
/// SoftNeuro calls that a signature, with the element types, which are the
/// layer's.
struct LayerLayouts {
  llvm::SmallVector<std::string> operands, results;

  /// Those that the layer's types have.
  static LayerLayouts of(mlir::Operation *layer);
  bool operator==(const LayerLayouts &o) const {
    return operands == o.operands && results == o.results;
  }
};

/// Gives the results of `layer` these layouts, and the layers in an nn.fuse
/// those of its operands. The operands must have theirs.
void retype(mlir::Operation *layer, const LayerLayouts &layouts);

/// A copy of a layer, and of the constants that it reads, in `layouts`.
class LayerIn {
public:
  LayerIn(mlir::Operation *layer, const LayerLayouts &layouts);
  mlir::Operation *layer() { return &block.back(); }

private:
  mlir::Block block;
};

/// An nn.adapt.
class AdaptLayer {
public:
  AdaptLayer(mlir::RankedTensorType from, mlir::RankedTensorType to,
             mlir::Location location);
  mlir::Operation *layer() { return &block.front(); }

private:
  mlir::Block block;
};

/// The layer that makes packed weights of raw ones: an nn.adapt from dense to
/// the layout that `packed` names. A session runs it where a plan stores
/// weights as they are in the model.
class PackLayer : public AdaptLayer {
public:
  explicit PackLayer(mlir::RankedTensorType packed);
};

} // namespace nnv12

#endif // NNV12_COMPILER_ROUTINES_LAYERIN_H
