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
#include "dialects/nn/NNDialect.h"

namespace nnv12::nn {

// `type` is the type of the result; its layout does not matter.

mlir::ElementsAttr evalUnary(FunctionAttr function, const ConstantData &input,
                             mlir::RankedTensorType type);
mlir::ElementsAttr evalBinary(BinaryKind kind, const ConstantData &lhs,
                              const ConstantData &rhs,
                              mlir::RankedTensorType type);
/// As nn.cast.
mlir::ElementsAttr evalCast(const ConstantData &input,
                            mlir::RankedTensorType type, bool saturate = true,
                            Rounding rounding = Rounding::nearest);
mlir::ElementsAttr evalSelect(const ConstantData &condition,
                              const ConstantData &lhs, const ConstantData &rhs,
                              mlir::RankedTensorType type);
mlir::ElementsAttr evalReduce(ReduceKind kind, llvm::ArrayRef<int64_t> axes,
                              const ConstantData &input,
                              mlir::RankedTensorType type);

/// Shares the elements with `value`: nothing is copied when they are large.
mlir::ElementsAttr evalReshape(mlir::Attribute value,
                               mlir::RankedTensorType type);
mlir::ElementsAttr evalTranspose(llvm::ArrayRef<int64_t> perm,
                                 const ConstantData &input,
                                 mlir::RankedTensorType type);
mlir::ElementsAttr evalBroadcast(const ConstantData &input,
                                 mlir::RankedTensorType type);
mlir::ElementsAttr evalSlice(llvm::ArrayRef<int64_t> starts,
                             llvm::ArrayRef<int64_t> steps,
                             const ConstantData &input,
                             mlir::RankedTensorType type);
mlir::ElementsAttr evalConcat(int64_t axis, llvm::ArrayRef<ConstantData> inputs,
                              mlir::RankedTensorType type);
/// Mode constant only; without `value` the padding is zero.
mlir::ElementsAttr evalPad(llvm::ArrayRef<int64_t> low,
                           const ConstantData &input, const ConstantData *value,
                           mlir::RankedTensorType type);
mlir::ElementsAttr evalGather(int64_t axis, const ConstantData &input,
                              const ConstantData &indices,
                              mlir::RankedTensorType type);
/// Reduction none only.
mlir::ElementsAttr evalScatterND(const ConstantData &input,
                                 const ConstantData &indices,
                                 const ConstantData &updates,
                                 mlir::RankedTensorType type);

/// How much larger than its operands a result may be.
enum class Growth { limited, any };

/// Whether a result of `type` is worth storing, given the size of its operands,
/// and the ConstantBudget has room for it, which is taken then.
bool reserveResult(mlir::RankedTensorType type,
                   llvm::ArrayRef<const ConstantData *> operands,
                   Growth growth = Growth::limited);

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_CONSTANTEVAL_H
