//===- Cut.h - Where a layer is cut in two ----------------------*- C++ -*-===//
//
// Two processors can compute one layer at once, each a part of its result
// (CoDL, section 4). A coprocessor has the front: it needs the beginning of
// weights and of planes, and no offset in any operand. CPUs have the back: some
// tiles of a grid.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_ROUTINES_CUT_H
#define NNV12_COMPILER_ROUTINES_CUT_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace nnv12 {

/// A place where a layer's result is cut in two: positions [0, at) of dimension
/// `dim` are the front, all others the back. The other dimensions are whole.
struct Cut {
  unsigned dim = 0;
  int64_t at = 0;
  bool operator==(const Cut &o) const { return dim == o.dim && at == o.at; }
};

/// Results are cut along their first three dimensions, never within a row of a
/// picture.
constexpr unsigned numCutDims = 3;
/// Positions of the dimension in memory, the padding of its last block
/// included.
int64_t storedExtent(mlir::RankedTensorType type, unsigned dim);
/// For people, as if it were a picture's: "batch", "channels", "rows".
llvm::StringRef dimName(unsigned dim);
/// None if there is no dimension of that name.
std::optional<unsigned> dimNamed(llvm::StringRef name);

} // namespace nnv12

#endif // NNV12_COMPILER_ROUTINES_CUT_H
