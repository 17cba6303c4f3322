//===- Narrow.h - Weights stored in fewer bits ------------------*- C++ -*-===//
//
// Packed f32 weights whose elements are all q * s, q an int8 and s an f32 of
// their channel, or all halves, or halves times an f64 of their channel, can
// lie in the file as those. A transform (codegen/cpu/Widen.h) makes the packed
// weights of them, the same bits: the choice costs no accuracy, so it is one of
// bytes and time.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_WEIGHTS_NARROW_H
#define NNV12_COMPILER_WEIGHTS_NARROW_H

#include "dialects/plan/StoredForm.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

#include <optional>
#include <vector>

namespace nnv12 {

/// Where the scale of each element is. Elements lie as the packed ones do, in
/// units one behind the other. Unit u has the scales of set s = setOf(u),
/// [s * lanes, (s + 1) * lanes), and element i of it the one at i % lanes:
/// panelLanes where that is the layout's innermost block, else one.
/// In memory come the scales, then, at the next multiple of 64 bytes, the
/// elements. Halves are one unit and have no scales.
struct NarrowGrid {
  static constexpr int64_t panelLanes = 16;

  int64_t units = 1;
  int64_t length = 0; ///< elements of a unit
  int64_t sets = 0, lanes = 0;
  /// Sets whose units lie one behind the other, and units from the first of
  /// these to that of the next sets.
  int64_t block = 1, blockUnits = 1;
  unsigned axis = 0; ///< logical dimension of the scales: channels
  unsigned scaleSize = sizeof(float); ///< bytes: an f32, or an f64

  int64_t elements() const { return units * length; }
  int64_t setOf(int64_t unit) const {
    return unit / blockUnits % (sets / block) * block + unit % block;
  }
  /// Where the elements begin.
  int64_t elementsAt() const;
};

/// None if elements of `packed` are no f32, or its layout mixes channels in
/// other ways.
std::optional<NarrowGrid> narrowGrid(mlir::RankedTensorType packed,
                                     plan::Narrowing narrowing);

/// The type of an element, as kernels read it.
mlir::Type narrowElementType(mlir::MLIRContext *context,
                             plan::Narrowing narrowing);
/// Bytes of one element, and of all with their scales.
unsigned narrowElementSize(plan::Narrowing narrowing);
int64_t narrowBytes(mlir::RankedTensorType packed, plan::Narrowing narrowing);

/// The constant, packed as its type says, in fewer bits; none where an exact
/// narrowing would not be exact.
std::optional<std::vector<char>> narrowed(mlir::Value constant,
                                          plan::Narrowing narrowing);
/// Whether there is such.
bool canNarrow(mlir::Value constant, plan::Narrowing narrowing);
/// Whether the nearest halves of its f32 elements are as good as halves can be
/// (Exact.h).
bool fitHalves(mlir::Value constant);
/// Whether the narrowing would save enough bytes to be worth a kernel and a
/// call.
bool isWorthNarrowing(mlir::RankedTensorType packed, plan::Narrowing narrowing);
/// The exact one of the fewest bytes that is worth it.
std::optional<plan::Narrowing> worthNarrowing(mlir::Value constant);

} // namespace nnv12

#endif // NNV12_COMPILER_WEIGHTS_NARROW_H
