//===- ConstantData.h - Elements of constant tensors ------------*- C++ -*-===//
//
// Constants are DenseElementsAttr when small and resources (not hashed, not
// copied) when large. Code that reads or makes them goes through here.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_DIALECTS_NN_CONSTANTDATA_H
#define NNV12_DIALECTS_NN_CONSTANTDATA_H

#include "dialects/nn/ElementCodec.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <functional>
#include <optional>

namespace nnv12::nn {

/// Makes a constant of dense `type` (no layout) from row-major elements, each
/// storageElementSize bytes (i1: one byte, 0 or 1; of fewer than eight bits:
/// the low ones, below zeros). The bytes are copied.
mlir::ElementsAttr makeConstant(mlir::RankedTensorType type,
                                llvm::ArrayRef<char> bytes);
/// The same without a copy when the constant is large: `fill` writes the bytes
/// of a fresh buffer.
mlir::ElementsAttr
makeConstant(mlir::RankedTensorType type,
             llvm::function_ref<void(llvm::MutableArrayRef<char>)> fill);
/// All elements the one stored at `element`.
mlir::ElementsAttr makeSplatOf(mlir::RankedTensorType type,
                               const char *element);
/// All elements the same, as storeNumber() writes it.
mlir::ElementsAttr makeSplat(mlir::RankedTensorType type, double value);
/// Writes a number as an element. For integers it is truncated, clamped to
/// int64_t (for ui64 from 2^63 on, to uint64_t; NaN gives 0), and then wraps in
/// a narrower type.
void storeNumber(mlir::Type element, double number, char *target);

/// Row-major view of a constant, which lives as long as its attribute. Splats
/// are expanded only where bytes() is called.
class ConstantData {
public:
  /// nullopt if `attr` is null, or no tensor constant of a supported element
  /// type.
  static std::optional<ConstantData> get(mlir::Attribute attr);
  /// The data of the nn.constant that defines `value`, if one does.
  static std::optional<ConstantData> get(mlir::Value value);

  mlir::RankedTensorType type() const { return type_; }
  llvm::ArrayRef<int64_t> shape() const { return type_.getShape(); }
  const ElementCodec &codec() const { return *codec_; }
  int64_t size() const { return type_.getNumElements(); }
  /// Whether stored() holds one element, which all equal.
  bool isSplat() const { return isSplat_; }
  llvm::ArrayRef<char> stored() const { return stored_; }
  /// The bytes, storageElementSize each, row-major.
  llvm::ArrayRef<char> bytes() const;
  /// Element i as a double / an int64 (converted).
  double asDouble(int64_t i) const;
  int64_t asInt(int64_t i) const;
  llvm::SmallVector<int64_t> asInts() const;
  llvm::SmallVector<double> asDoubles() const;
  /// The one value of a constant whose elements are all equal as stored (looks
  /// at them all).
  std::optional<double> splat() const;

private:
  mlir::RankedTensorType type_;
  const ElementCodec *codec_ = nullptr;
  bool isSplat_ = false;
  llvm::ArrayRef<char> stored_;
  std::shared_ptr<llvm::SmallVector<char, 0>> owned; // i1, one byte each
  mutable std::shared_ptr<llvm::SmallVector<char, 0>> expanded;
};

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_CONSTANTDATA_H
