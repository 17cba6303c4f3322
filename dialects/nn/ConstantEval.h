//===- ConstantEval.h - Computes layers on constants ------------*- C++ -*-===//
//
// Each function gives the value of a layer whose operands are known, or null
// when it declines: an element type it does not know, an operation without a
// value (division of an integer by zero), a result so much larger than the
// operands that storing it would cost more than computing it, or one for which
// the ConstantBudget has no room.
//
// Values are exact: integers in 64 bits with wrap-around, floats in double with
// one rounding to the type. Equal elements stay a splat, however many they are.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_DIALECTS_NN_CONSTANTEVAL_H
#define NNV12_DIALECTS_NN_CONSTANTEVAL_H

#include "dialects/nn/ConstantData.h"
#include "dialects/nn/ElementCodec.h"
#include "dialects/nn/NNDialect.h"

namespace nnv12::nn {

/// A constant to compute with: row-major elements, or one for a splat. Lives as
/// long as the attribute it was made from.
class ConstantOperand {
public:
  /// nullopt if `attr` is null, no constant, or of an unknown element type.
  static std::optional<ConstantOperand> get(mlir::Attribute attr);

  mlir::RankedTensorType type() const { return type_; }
  llvm::ArrayRef<int64_t> shape() const { return type_.getShape(); }
  const ElementCodec &codec() const { return *codec_; }
  /// Whether all elements are equal and bytes() holds just one of them.
  bool isSplat() const { return splat; }
  const char *bytes() const { return bytes_; }
  /// Size of the data that bytes() points at.
  int64_t storedBytes() const {
    return (splat ? 1 : type_.getNumElements()) * codec_->size;
  }
  /// Element i of the row-major order.
  int64_t intAt(int64_t i) const;
  double doubleAt(int64_t i) const;
  /// Whether all elements are equal as stored (looks at them all).
  bool allEqual() const;

private:
  mlir::RankedTensorType type_;
  const ElementCodec *codec_ = nullptr;
  bool splat = false;
  const char *bytes_ = nullptr;
  std::optional<ConstantData> data;
};

/// A constant of `type` whose elements all are the one stored at `element`.
mlir::ElementsAttr makeSplatOf(mlir::RankedTensorType type,
                               const char *element);

// `type` is the type of the result; its layout does not matter.

mlir::ElementsAttr evalUnary(FunctionAttr function,
                             const ConstantOperand &input,
                             mlir::RankedTensorType type);
mlir::ElementsAttr evalBinary(BinaryKind kind, const ConstantOperand &lhs,
                              const ConstantOperand &rhs,
                              mlir::RankedTensorType type);
/// As nn.cast.
mlir::ElementsAttr evalCast(const ConstantOperand &input,
                            mlir::RankedTensorType type, bool saturate = true,
                            Rounding rounding = Rounding::nearest);
mlir::ElementsAttr evalSelect(const ConstantOperand &condition,
                              const ConstantOperand &lhs,
                              const ConstantOperand &rhs,
                              mlir::RankedTensorType type);
mlir::ElementsAttr evalReduce(ReduceKind kind, llvm::ArrayRef<int64_t> axes,
                              const ConstantOperand &input,
                              mlir::RankedTensorType type);

/// Shares the elements with `value`: nothing is copied when they are large.
mlir::ElementsAttr evalReshape(mlir::Attribute value,
                               mlir::RankedTensorType type);
mlir::ElementsAttr evalTranspose(llvm::ArrayRef<int64_t> perm,
                                 const ConstantOperand &input,
                                 mlir::RankedTensorType type);
mlir::ElementsAttr evalBroadcast(const ConstantOperand &input,
                                 mlir::RankedTensorType type);
mlir::ElementsAttr evalSlice(llvm::ArrayRef<int64_t> starts,
                             llvm::ArrayRef<int64_t> steps,
                             const ConstantOperand &input,
                             mlir::RankedTensorType type);
mlir::ElementsAttr evalConcat(int64_t axis,
                              llvm::ArrayRef<ConstantOperand> inputs,
                              mlir::RankedTensorType type);
/// Mode constant only; without `value` the padding is zero.
mlir::ElementsAttr evalPad(llvm::ArrayRef<int64_t> low,
                           const ConstantOperand &input,
                           const ConstantOperand *value,
                           mlir::RankedTensorType type);
mlir::ElementsAttr evalGather(int64_t axis, const ConstantOperand &input,
                              const ConstantOperand &indices,
                              mlir::RankedTensorType type);
/// Reduction none only.
mlir::ElementsAttr evalScatterND(const ConstantOperand &input,
                                 const ConstantOperand &indices,
                                 const ConstantOperand &updates,
                                 mlir::RankedTensorType type);

/// Whether a result of `type` is worth storing, given the size of its operands,
/// and the ConstantBudget has room for it, which is taken then.
bool reserveResult(mlir::RankedTensorType type,
                   llvm::ArrayRef<const ConstantOperand *> operands);

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_CONSTANTEVAL_H
