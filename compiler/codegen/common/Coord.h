//===- Coord.h - Indices that may differ by lane ----------------*- C++ -*-===//
//
// An element kernel computes some lanes at once. The logical index of a lane
// along a dimension is a Coord: the same for all lanes, or an arithmetic
// progression over them, or (after a division that cuts the progression, or
// read from memory) any vector. Most indices stay progressions, so that most
// memory accesses stay one load.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_COMMON_COORD_H
#define NNV12_COMPILER_CODEGEN_COMMON_COORD_H

#include "compiler/codegen/common/BuilderBase.h"

#include <cassert>

namespace nnv12::codegen {

struct Coord {
  Index base;         ///< of lane 0, unless `vector` is set
  int64_t stride = 0; ///< lane l is base + l * stride
  Value vector;       ///< the lanes, if no progression
  int64_t lo = 0;     ///< bounds of all active lanes, inclusive
  int64_t hi = 0;
  int64_t multiple = 1; ///< base.value is a multiple of this
  /// Inactive lanes, lane 0 among them, may be out of bounds.
  bool wild = false;

  Coord(int64_t c = 0) : base(c), lo(c), hi(c) {}
  /// A value in [lo, hi] that is a multiple of `multiple`.
  Coord(Value value, int64_t lo, int64_t hi, int64_t multiple = 1)
      : base(value), lo(lo), hi(hi), multiple(multiple) {
    assert(lo <= hi && multiple > 0 && "there is such a value");
  }

  bool isUniform() const { return !vector && stride == 0; }
  bool isConstant() const { return isUniform() && base.isConstant(); }
  bool operator==(const Coord &other) const {
    return base.value == other.base.value &&
           base.constant == other.base.constant && stride == other.stride &&
           vector == other.vector;
  }
};

using Coords = SmallVector<Coord, 6>;

/// The result of a comparison: it may be decided, or a test that is the same
/// for all lanes, or one by lane, or both of these (which must both hold).
struct Condition {
  bool never = false;
  Value uniform; ///< i1; null if that holds always
  Value varying; ///< a vector of i1; null if that holds always
  bool always() const { return !never && !uniform && !varying; }
};

/// Arithmetic on coordinates. Divisions take non-negative coordinates.
class CoordMath {
public:
  /// `laneType` is the integer type of indices in vectors.
  CoordMath(BuilderBase &k, Type laneType) : k(k), laneType(laneType) {}

  int64_t lanes = 1;  ///< of a vector now
  int64_t active = 1; ///< the first of them whose result counts

  Coord add(const Coord &x, const Coord &y);
  Coord mul(const Coord &x, int64_t factor);
  Coord div(const Coord &x, int64_t divisor);
  Coord rem(const Coord &x, int64_t divisor);
  Coord clamp(const Coord &x, int64_t lo, int64_t hi);
  Coord select(const Condition &condition, const Coord &x, const Coord &y);
  /// x < bound.
  Condition less(const Coord &x, int64_t bound);
  Condition notLess(const Coord &x, int64_t bound);
  /// lo <= x < end.
  Condition within(const Coord &x, int64_t lo, int64_t end);
  Condition both(const Condition &x, const Condition &y);
  /// The condition (neither always nor never) as an i1 or a vector of it.
  Value toMask(const Condition &condition);
  /// The same coordinate, known to lie in [lo, hi] in the lanes that stay
  /// active.
  Coord bounded(Coord x, int64_t lo, int64_t hi);
  /// An integer (a scalar or a vector of `lanes`) as a coordinate; any integer
  /// type, values in [lo, hi].
  Coord fromValue(Value value, int64_t lo, int64_t hi);
  /// The lanes as a vector of laneType.
  Value toVector(const Coord &x);
  /// A scalar of `type` if uniform, else a vector.
  Value toValue(const Coord &x, mlir::IntegerType type);
  /// `first` plus the index of each lane times stride.
  Value iota(int64_t stride, int64_t first = 0);

private:
  VectorType vectorType();
  /// Whether base + [0, (active - 1) * stride] lies between two multiples.
  bool staysBetweenMultiples(const Coord &x, int64_t divisor);
  Coord fromVector(Value vector, int64_t lo, int64_t hi, bool wild);

  BuilderBase &k;
  Type laneType;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_COMMON_COORD_H
