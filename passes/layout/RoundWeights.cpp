//===- RoundWeights.cpp - Weights that fewer bits hold --------------------===//
#include "compiler/weights/NearWeights.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "passes/Passes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

namespace nnv12 {
#define GEN_PASS_DEF_ROUNDWEIGHTS
#include "passes/Passes.h.inc"
} // namespace nnv12

using namespace mlir;
using namespace nnv12;
using namespace nnv12::nn;

/// Whether the operand is a factor of sums of products.
static bool isFactor(OpOperand &use) {
  auto layer = dyn_cast<Weighted>(use.getOwner());
  return layer && layer.isFactor(use.getOperandNumber());
}

/// The dimension of a layer's weights that has its outputs; none where an index
/// has those of several.
static std::optional<unsigned> outputDimension(OpOperand &use) {
  unsigned rank = unsigned(typeOf(use.get()).getRank());
  return llvm::TypeSwitch<Operation *, std::optional<unsigned>>(use.getOwner())
      .Case<ConvOp, RecurrentOp>([](Operation *) { return 0u; })
      .Case([&](ConvTransposeOp conv) -> std::optional<unsigned> {
        if (conv.getGroups() == 1)
          return 1u;
        bool isDepthwise = typeOf(use.get()).getDimSize(1) == 1;
        return isDepthwise ? std::optional(0u) : std::nullopt;
      })
      .Case([&](MatMulOp matmul) {
        bool isLast = use.getOperandNumber() == 0 ? matmul.getTransposeLhs()
                                                  : !matmul.getTransposeRhs();
        return std::optional(isLast ? rank - 1 : rank - 2);
      })
      .Default(std::nullopt);
}

/// The dimension of all layers of the constants; none where it differs.
static std::optional<unsigned> outputDimension(ArrayRef<ConstantOp> constants) {
  std::optional<unsigned> result =
      outputDimension(*constants.front()->getUses().begin());
  for (ConstantOp constant : constants)
    for (OpOperand &use : constant->getUses())
      if (outputDimension(use) != result)
        return std::nullopt;
  return result;
}

namespace {
struct RoundWeights : nnv12::impl::RoundWeightsBase<RoundWeights> {
  using RoundWeightsBase::RoundWeightsBase;

  void runOnOperation() override {
    if (failed(readLayers()))
      return signalPassFailure();
    // Equal constants stay so: layers share them by their elements.
    using Key = std::pair<Attribute, Type>;
    auto keyOf = [](ConstantOp constant) {
      return Key(constant.getValue(), constant.getType());
    };
    llvm::MapVector<Key, SmallVector<ConstantOp>> equal;
    getOperation().walk([&](ConstantOp constant) {
      if (typeOf(constant).getElementType().isF32() && !constant->use_empty() &&
          llvm::all_of(constant->getUses(), isFactor))
        equal[keyOf(constant)].push_back(constant);
    });
    for (auto &[key, constants] : equal) {
      ElementsAttr near =
          nearWeights(constants.front().getOutput(), bitsOf(constants),
                      outputDimension(constants));
      if (!near)
        continue;
      for (ConstantOp constant : constants)
        constant.setValueAttr(near);
      rounded += constants.size();
    }
  }

private:
  LogicalResult readLayers() {
    for (const std::string &text : layers) {
      auto [name, bits] = StringRef(text).rsplit('=');
      auto known = llvm::StringSwitch<std::optional<WeightBits>>(bits)
                       .Case("f32", WeightBits::F32)
                       .Case("f16", WeightBits::F16)
                       .Case("q8", WeightBits::Q8)
                       .Default(std::nullopt);
      if (!known)
        return getOperation().emitError("round-weights: found layers='")
               << text << "', expected NAME=f32|f16|q8";
      byName[name] = *known;
    }
    return success();
  }

  /// The most bits that a layer of the constants' wants.
  WeightBits bitsOf(ArrayRef<ConstantOp> constants) const {
    std::optional<WeightBits> most;
    auto add = [&](WeightBits bits) {
      most = std::min(bits, most.value_or(bits));
    };
    for (ConstantOp constant : constants)
      for (Operation *layer : constant->getUsers()) {
        bool isNamed = false;
        layer->getLoc()->walk([&](Location part) {
          auto named = dyn_cast<NameLoc>(part);
          auto known = named ? byName.find(named.getName()) : byName.end();
          if (known != byName.end()) {
            add(known->second);
            isNamed = true;
          }
          return WalkResult::advance();
        });
        if (!isNamed)
          add(bits);
      }
    return *most;
  }

  llvm::StringMap<WeightBits> byName;
};
} // namespace
