//===- NarrowTables.cpp - Gather from tables of halves --------------------===//
#include "compiler/weights/Exact.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/NNBuild.h"
#include "mlir/IR/Builders.h"
#include "passes/Passes.h"
#include "passes/simplify/Match.h"
#include "llvm/ADT/DenseMap.h"

#include <cstring>

namespace nnv12 {
#define GEN_PASS_DEF_NARROWTABLES
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// A cast of the rows costs nothing beside those of smaller tables, and gains
/// nothing.
static constexpr int64_t leastBytes = 4096;

/// The constant's elements as halves; null where one of them is none.
static ElementsAttr halvesOf(ConstantOp constant) {
  auto values = ConstantData::get(constant);
  if (!values || values->isSplat())
    return {};
  ArrayRef<char> bytes = values->stored();
  SmallVector<uint16_t> halves;
  for (size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    float value;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    std::optional<uint16_t> half = exactHalf(value);
    if (!half)
      return {};
    halves.push_back(*half);
  }
  return makeConstant(
      values->type().clone(Float16Type::get(constant.getContext())),
      ArrayRef<char>(reinterpret_cast<const char *>(halves.data()),
                     halves.size() * sizeof(uint16_t)));
}

namespace {
struct NarrowTables : nnv12::impl::NarrowTablesBase<NarrowTables> {
  void runOnOperation() override {
    llvm::DenseMap<ConstantOp, Value> tables;
    getOperation().walk([&](GatherOp gather) {
      auto constant = gather.getInput().getDefiningOp<ConstantOp>();
      if (!constant || !typeOf(constant).getElementType().isF32() ||
          storageSize(constant) < leastBytes)
        return;
      auto [it, isNew] = tables.try_emplace(constant);
      OpBuilder b(constant);
      if (isNew)
        if (ElementsAttr halves = halvesOf(constant))
          it->second = createConstant(b, constant.getLoc(), halves);
      if (it->second)
        narrow(gather, it->second);
    });
  }

private:
  void narrow(GatherOp gather, Value table) {
    OpBuilder b(gather);
    Type half = Float16Type::get(gather.getContext());
    auto rows = GatherOp::create(b, gather.getLoc(),
                                 typeOf(gather.getResult()).clone(half), table,
                                 gather.getIndices(), gather.getAxis());
    Value wide =
        CastOp::create(b, gather.getLoc(), gather.getType(), rows.getResult());
    gather.replaceAllUsesWith(wide);
    gather.erase();
    ++narrowed;
  }
};
} // namespace
