//===- ElementCodec.h - Element types as doubles and integers ---*- C++ -*-===//
//
// Constant evaluation computes floats as double and integers as 64-bit; a codec
// moves rows of elements between their storage and those. One rounding, at the
// store: + - * / and sqrt on f32 and narrower then equal the type's own
// arithmetic, as double has more than twice their precision.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_DIALECTS_NN_ELEMENTCODEC_H
#define NNV12_DIALECTS_NN_ELEMENTCODEC_H

#include "mlir/IR/Types.h"

namespace nnv12::nn {

struct ElementCodec {
  enum Domain { Float, Signed, Unsigned };
  Domain domain;
  unsigned size; // bytes as stored
  /// Reads n elements, `stride` elements apart. As integers, unsigned 64-bit
  /// values keep their bits; floats truncate and clamp.
  void (*loadDouble)(const char *from, int64_t stride, int64_t n, double *to);
  void (*loadInt)(const char *from, int64_t stride, int64_t n, int64_t *to);
  /// Writes n elements side by side. Doubles are rounded to a float type (ties
  /// to even; out of range infinity, or NaN where there is none), truncated and
  /// clamped to an integer type (NaN gives 0), and to i1 compared with zero.
  /// Integers wrap in a narrower integer type.
  void (*storeDouble)(const double *from, int64_t n, char *to);
  void (*storeInt)(const int64_t *from, int64_t n, char *to);

  /// nullptr for a type that constant evaluation does not know.
  static const ElementCodec *get(mlir::Type elementType);
};

} // namespace nnv12::nn

#endif // NNV12_DIALECTS_NN_ELEMENTCODEC_H
