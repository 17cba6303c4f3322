//===- QuantEval.h - Quantisation of constants ------------------*- C++ -*-===//
//
// As ConstantEval.h, for nn.quantize and nn.dequantize: each gives null where
// it declines. `zero` may be null.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_DIALECTS_NN_QUANTEVAL_H
#define NNV12_DIALECTS_NN_QUANTEVAL_H

#include "dialects/nn/ConstantData.h"

namespace nnv12::nn {

mlir::ElementsAttr evalQuantize(const ConstantData &input,
                                const ConstantData &scale,
                                const ConstantData *zero,
                                mlir::RankedTensorType type);
mlir::ElementsAttr evalDequantize(const ConstantData &input,
                                  const ConstantData &scale,
                                  const ConstantData *zero,
                                  mlir::RankedTensorType type);

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_QUANTEVAL_H
