//===- Cut.cpp - Where a layer is cut in two ------------------------------===//

#include "compiler/routines/Cut.h"

#include "dialects/nn/Layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>

using namespace nnv12;

static constexpr llvm::StringLiteral names[numCutDims] = {"batch", "channels",
                                                          "rows"};

int64_t nnv12::storedExtent(mlir::RankedTensorType type, unsigned dim) {
  return int64_t(llvm::alignTo(uint64_t(type.getDimSize(dim)),
                               uint64_t(nn::Layout::of(type).block(dim))));
}

llvm::StringRef nnv12::dimName(unsigned dim) {
  assert(dim < numCutDims && "a dimension that results are cut along");
  return names[dim];
}

std::optional<unsigned> nnv12::dimNamed(llvm::StringRef name) {
  const auto *found = llvm::find(names, name);
  if (found == std::end(names))
    return std::nullopt;
  return unsigned(found - names);
}
