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

/// Quantisers of weights in blocks write negative scales, and zero where all
/// weights of a block are zero.
enum class Scales { positive, finite };

/// Whether a scale, if it is known, has such numbers alone, else a fault.
bool isScale(Node &n, Value scale, Scales allowed = Scales::positive);

/// round(x / scale) + zeroPoint, saturated to `type`. x is float32; scale and
/// zero point broadcast to it; the zero point has the type, or is null.
Value quantized(Node &n, Value x, Value scale, Value zeroPoint,
                mlir::Type type);
/// The same with a scale of 1.
Value saturate(Node &n, Value x, Value zeroPoint, mlir::Type type);

/// (q - zeroPoint) * scale as float32. Scale and zero point broadcast to q; the
/// zero point may be null.
Value dequantized(Node &n, Value q, Value scale, Value zeroPoint);

/// Whether x has 8-bit integers and its zero point, if it has one, is of their
/// type, else a fault.
bool areBytes(Node &n, Value x, Value zeroPoint);

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
