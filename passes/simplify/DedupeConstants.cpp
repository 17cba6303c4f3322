//===- DedupeConstants.cpp - One constant for equal values ----------------===//
#include "dialects/nn/ConstantData.h"
#include "mlir/IR/Builders.h"
#include "passes/Passes.h"
#include "passes/simplify/Match.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <unordered_map>

namespace nnv12 {
#define GEN_PASS_DEF_DEDUPECONSTANTS
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

namespace {
struct DedupeConstants : nnv12::impl::DedupeConstantsBase<DedupeConstants> {
  void runOnOperation() override {
    std::unordered_multimap<uint64_t, ConstantOp> byContent;
    SmallVector<ConstantOp> constants(getOperation().getOps<ConstantOp>());
    for (ConstantOp constant : constants) {
      if (constant->use_empty()) {
        constant.erase();
        continue;
      }
      auto values = ConstantData::get(constant);
      if (!values)
        continue;
      uint64_t hash = llvm::xxh3_64bits(llvm::toStringRef(values->stored()));
      auto [begin, end] = byContent.equal_range(hash);
      auto same = std::find_if(begin, end, [&](auto &entry) {
        return isSame(entry.second, constant, *values);
      });
      if (same == end) {
        byContent.emplace(hash, constant);
        continue;
      }
      // Constants are visited in order: the first one is there for all.
      constant.replaceAllUsesWith(same->second.getOutput());
      constant.erase();
      ++merged;
    }
  }

  static bool isSame(ConstantOp first, ConstantOp second,
                     const ConstantData &values) {
    if (first.getType() != second.getType())
      return false;
    auto other = ConstantData::get(first);
    return other && other->isSplat() == values.isSplat() &&
           (other->stored().data() == values.stored().data() ||
            other->stored() == values.stored());
  }
};
} // namespace
