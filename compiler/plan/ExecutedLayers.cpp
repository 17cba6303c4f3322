//===- ExecutedLayers.cpp - Facts of layers that a plan must know ---------===//

#include "compiler/plan/ExecutedLayers.h"

#include "artifact/RuntimePolicy.h"
#include "compiler/layers/LayerName.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

using namespace mlir;
using namespace nnv12;

static double bytes(Value v) { return nn::storageSize(v); }

/// Memory that comes into use: the arena grows when more lives at a time than
/// ever before, and outputs are the caller's.
static void countFreshBytes(const ExecutionOrder &order,
                            std::vector<ExecutedLayer> &layers) {
  double most = 0;
  std::vector<double> grown;
  std::vector<uint64_t> live = sumLiveBytes(order.lifetimes(), layers.size());
  llvm::DenseSet<Value> read, written;
  for (auto [i, layer] : llvm::enumerate(layers)) {
    for (Value v : layer.op->getOperands())
      if (Value base = order.baseOf(v);
          isa<BlockArgument>(base) && read.insert(base).second)
        layer.uncachedBytes += bytes(base);
    for (Value v : layer.op->getResults()) {
      Value base = order.baseOf(v);
      if (!order.outputOf(base) || !written.insert(base).second)
        continue;
      (bytes(base) < hugePageSize ? layer.freshSmallBytes : layer.freshBytes) +=
          bytes(base);
      layer.uncachedBytes += bytes(base);
    }
    grown.push_back(std::max(double(live[i]) - most, 0.0));
    most = std::max(most, double(live[i]));
  }
  // See LoadedBundle::makeEarlyMemory. The first layers come to the huge page
  // behind it when another thread that is to touch it has hardly begun
  // (runtime/FirstTouch.h).
  double early = hugePageSize, atOnce = hugePageSize;
  double huge = std::max(0.0, inHugePages(uint64_t(most)) - early);
  auto take = [](double &rest, double &growth) {
    double part = std::min(rest, growth);
    rest -= part;
    growth -= part;
    return part;
  };
  // A lane that reads weights that nobody has asked for early has no time.
  double weights = 0;
  for (const ExecutedLayer &layer : layers)
    weights +=
        layer.otherBytes + (layer.mainOperand ? bytes(layer.weights()) : 0);
  bool lanesRead = weights > hugePageSize;
  for (auto [layer, growth] : llvm::zip(layers, grown)) {
    layer.uncachedBytes += growth;
    if (most < leastInHugePage) {
      layer.freshSmallBytes += growth;
      continue;
    }
    take(early, growth);
    double inHuge = take(huge, growth);
    layer.freshBytes += inHuge;
    layer.freshAtOnceBytes += lanesRead ? inHuge : take(atOnce, inHuge);
    layer.freshSmallBytes += growth;
    if (lanesRead)
      layer.freshSmallAtOnceBytes = layer.freshSmallBytes;
  }
}

/// Whether `op`, or a layer fused into it, compares floats for equality.
static bool comparesForEquality(Operation *op) {
  auto visit = [](nn::BinaryOp binary) {
    bool isFloat =
        isa<FloatType>(getElementTypeOrSelf(binary.getLhs().getType()));
    return isFloat && binary.getKind() == nn::BinaryKind::equal
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  return op->walk(visit).wasInterrupted();
}

static void findCompared(std::vector<ExecutedLayer> &layers) {
  if (layers.empty())
    return;
  llvm::SmallPtrSet<Operation *, 16> compared;
  for (Operation &op : llvm::reverse(*layers.front().op->getBlock()))
    if (comparesForEquality(&op) ||
        llvm::any_of(op.getUsers(),
                     [&](Operation *user) { return compared.contains(user); }))
      compared.insert(&op);
  for (ExecutedLayer &layer : layers)
    layer.isComparedForEquality = compared.contains(layer.op);
}

std::vector<ExecutedLayer> nnv12::executedLayers(const ExecutionOrder &order) {
  std::vector<ExecutedLayer> layers;
  // Constants are the same where elements and type are, as in the file. By the
  // layer that owns each: the first to read it.
  llvm::DenseMap<std::pair<Attribute, Type>, size_t> owner;
  auto keyOf = [](nn::ConstantOp constant) {
    return std::pair<Attribute, Type>(constant.getValue(), constant.getType());
  };
  for (Operation *op : order.layers()) {
    size_t number = layers.size();
    ExecutedLayer layer;
    layer.op = op;
    layer.name = firstName(op->getLoc());
    double mainBytes = 0;
    for (OpOperand &operand : op->getOpOperands()) {
      auto constant =
          order.baseOf(operand.get()).getDefiningOp<nn::ConstantOp>();
      if (!constant)
        continue;
      auto [it, isNew] = owner.try_emplace(keyOf(constant), number);
      if (!isNew) {
        if (it->second == number)
          continue; // twice an operand
        ExecutedLayer &first = layers[it->second];
        if (first.mainOperand &&
            keyOf(first.weights().getDefiningOp<nn::ConstantOp>()) == it->first)
          first.isShared = true;
        continue;
      }
      double size = bytes(constant.getOutput());
      layer.otherBytes += size;
      // A constant that is seen through a view stays as it is.
      if (size > mainBytes && operand.get() == constant.getOutput()) {
        mainBytes = size;
        layer.mainOperand = operand.getOperandNumber();
      }
    }
    layer.otherBytes -= mainBytes;
    layers.push_back(std::move(layer));
  }
  countFreshBytes(order, layers);
  findCompared(layers);
  return layers;
}
