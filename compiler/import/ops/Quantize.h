//===- Quantize.h - Helpers of quantised operators --------------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_OPS_QUANTIZE_H
#define NNV12_COMPILER_IMPORT_OPS_QUANTIZE_H

#include "compiler/import/Node.h"

namespace nnv12::importer {

/// Integers that stand for (values - zeroPoint) * scale.
struct Quantized {
  Value values, scale, zeroPoint;
};

/// Its values as float32. It has one scale and at most one zero point.
Value real(Node &n, const Quantized &q);

/// A scale or zero point (scalar, one a slice along `axis`, or one a block) so
/// that it broadcasts against x.
Value spread(Node &n, Value v, Value x, int64_t axis, int64_t block);

/// round(x) + zeroPoint, saturated to `type`. x is float32, the zero point may
/// be null.
Value saturate(Node &n, Value x, Value zeroPoint, mlir::Type type);

/// x - zeroPoint as int32. A zero point of rank one goes along `axis`; it may
/// be null.
Value centred(Node &n, Value x, Value zeroPoint, int64_t axis);

/// The exact int32 product of two matrices less their zero points, which may be
/// null.
Value integerMatmul(Node &n, Value a, Value aZero, Value b, Value bZero);

/// An int32 product of matrices as float32: times the scales, of which the
/// second may be one a column, plus a bias that may be null.
Value scaledProduct(Node &n, Value sum, Value aScale, Value bScale, Value bias);

/// x as uint8 over the range of x, which is made to contain zero
/// (DynamicQuantizeLinear).
Quantized dynamicallyQuantized(Node &n, Value x);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_OPS_QUANTIZE_H
