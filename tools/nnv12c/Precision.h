//===- Precision.h - Layers in fewer bits, by a set of samples --*- C++ -*-===//
//
// Post-training quantisation: the model of floats runs over a set of samples,
// its values get ranges, products or weights alone are rounded, and the error
// is measured.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TOOLS_NNV12C_PRECISION_H
#define NNV12_TOOLS_NNV12C_PRECISION_H

#include "tools/nnv12c/Observer.h"
#include "tools/nnv12c/PricedPlan.h"

namespace nnv12 {

/// A model with products in 8 bits, or with rounded weights.
struct QuantizedModel {
  std::string bytes;     ///< an ONNX file, with QuantizeLinear
  WeightOptions weights; ///< of the layers that stay float
  std::string report;    ///< lines for people
  std::string property;  ///< the bundle's property "precision": see
                         ///< PrecisionReport.h; empty: it has none
};

/// Quantises the model of the options as these say. Fails with a diagnostic:
/// one line, also where a bound cannot be kept.
mlir::FailureOr<QuantizedModel> quantizeModel(const CompileOptions &options,
                                              mlir::MLIRContext &context,
                                              CompileModel compile,
                                              PriceModel price);

} // namespace nnv12

#endif // NNV12_TOOLS_NNV12C_PRECISION_H
