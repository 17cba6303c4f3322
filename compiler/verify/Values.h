//===- Values.h - The contents of a model's values --------------*- C++ -*-===//
#ifndef NNV12_COMPILER_VERIFY_VALUES_H
#define NNV12_COMPILER_VERIFY_VALUES_H

#include "compiler/verify/MemoryImage.h"
#include "compiler/weights/WeightsKey.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <optional>
#include <string>
#include <tuple>

namespace nnv12 {

/// Numbers all that memory can hold while a program runs, and says of each
/// value of a model which bytes of which contents it is.
class Values {
public:
  /// `computed`: the layers of `main` that operations compute. Results of
  /// others are bytes of their operands where they can be (see movesOf()).
  Values(mlir::func::FuncOp main,
         const llvm::DenseSet<mlir::Operation *> &computed);

  /// The contents that the memory of `value` must have.
  const Runs &of(mlir::Value value) const { return runs.find(value)->second; }
  /// The content that the operation of `value` writes, or an input of the
  /// model.
  Content computed(mlir::Value value);
  /// Weights in a form, without a codec, and the compressed bytes of frame
  /// `number` of it.
  Content weights(const WeightsKey &key);
  Content frame(const WeightsKey &key, size_t number);
  /// A table that a kernel of a GPU looks up; its bytes must outlive this.
  Content table(llvm::StringRef bytes);

  /// Memory that the steps of a layer on a GPU hand over to each other.
  struct StepMemory {
    mlir::Operation *layer;
    bool isTemporary; ///< else a result that later steps go on with
    unsigned index;   ///< of the temporary or the result
    unsigned step;    ///< that has written it

    bool operator<(const StepMemory &other) const {
      return std::tie(layer, isTemporary, index, step) <
             std::tie(other.layer, other.isTemporary, other.index, other.step);
    }
  };
  Content handedOver(const StepMemory &memory);

  /// The same f32 in f16: results of layers, and packed weights.
  Content half(Content content);
  Runs halves(const Runs &runs);
  /// Halves that are exact are the nearest ones: a GPU reads both alike. Other
  /// contents are themselves.
  Content nearest(Content content);

  /// The weights that content is, from its first byte; null for other contents.
  const WeightsKey *weightsOf(Content content) const;
  /// The frame that content is, from its first byte.
  std::optional<std::pair<WeightsKey, size_t>> frameOf(Content content) const;

  /// For messages: "bytes 64 to 128 of result 0 of 'conv1'".
  std::string describe(Content content, uint64_t size) const;

private:
  struct Thing {
    mlir::Value value; ///< or null
    WeightsKey weights;
    std::optional<size_t> frame = std::nullopt;
    bool isHalf = false; ///< the value in f16
    llvm::StringRef table = {};
    std::optional<StepMemory> step = std::nullopt;

    bool operator<(const Thing &other) const {
      return std::tuple(value.getAsOpaquePointer(), weights, frame, isHalf,
                        table, step) <
             std::tuple(other.value.getAsOpaquePointer(), other.weights,
                        other.frame, other.isHalf, other.table, other.step);
    }
  };
  Content add(Thing thing);

  std::map<Thing, uint32_t> numbers;
  std::vector<const Thing *> things; ///< by number
  llvm::DenseMap<mlir::Value, Runs> runs;
};

} // namespace nnv12

#endif // NNV12_COMPILER_VERIFY_VALUES_H
