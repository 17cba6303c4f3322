//===- Layers.cpp - The layers that a plan is about -----------------------===//

#include "compiler/plan/Layers.h"

#include "artifact/RuntimeFacts.h"
#include "compiler/emit/Aliases.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::plan;

static double bytes(Value v) {
  return nn::storageSize(cast<RankedTensorType>(v.getType()));
}

std::string plan::firstName(Location location) {
  std::string name;
  location->walk([&](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (!named)
      return WalkResult::advance();
    name = named.getName().str();
    return WalkResult::interrupt();
  });
  return name;
}

/// Memory that comes into use: the arena grows when more lives at a time than
/// ever before, and outputs are the caller's.
static void countFreshBytes(func::FuncOp main, const Aliases &aliases,
                            std::vector<ExecutedLayer> &layers) {
  llvm::DenseMap<Value, size_t> last; // use, by base
  for (auto [i, layer] : llvm::enumerate(layers))
    for (Value v : layer.op->getOperands())
      last[aliases.find(v).base] = i;
  llvm::DenseSet<Value> outputs;
  for (Value v : main.getBody().front().getTerminator()->getOperands())
    outputs.insert(aliases.find(v).base);

  llvm::DenseSet<Value> live, read;
  std::vector<std::vector<Value>> dying(layers.size());
  double now = 0, most = 0;
  std::vector<double> grown(layers.size());
  for (auto [i, layer] : llvm::enumerate(layers)) {
    for (Value v : layer.op->getOperands())
      if (Value base = aliases.find(v).base;
          isa<BlockArgument>(base) && read.insert(base).second)
        layer.uncachedBytes += bytes(base);
    for (Value v : layer.op->getResults()) {
      Value base = aliases.find(v).base;
      if (!live.insert(base).second)
        continue;
      if (outputs.contains(base)) {
        (bytes(base) < artifact::hugePageSize ? layer.freshSmallBytes
                                              : layer.freshBytes) +=
            bytes(base);
        layer.uncachedBytes += bytes(base);
        continue;
      }
      now += bytes(base);
      auto end = last.find(base);
      dying[end == last.end() ? i : std::max<size_t>(end->second, i)].push_back(
          base);
    }
    if (now > most) {
      grown[i] = now - most;
      most = now;
    }
    for (Value base : dying[i])
      now -= bytes(base);
  }
  // See nnv12_bundle::makeEarlyMemory. The first layers come to the huge page
  // behind it when another thread that is to touch it has hardly begun
  // (runtime/FirstTouch.h).
  double early = artifact::hugePageSize, atOnce = artifact::hugePageSize;
  double huge = std::max(0.0, artifact::inHugePages(uint64_t(most)) - early);
  auto take = [](double &rest, double &growth) {
    double part = std::min(rest, growth);
    rest -= part;
    growth -= part;
    return part;
  };
  // A lane that reads what nobody has asked for early has no time at all.
  double weights = 0;
  for (const ExecutedLayer &layer : layers)
    weights +=
        layer.otherBytes + (layer.mainOperand ? bytes(layer.weights()) : 0);
  bool lanesRead = weights > artifact::hugePageSize;
  for (auto [layer, growth] : llvm::zip(layers, grown)) {
    layer.uncachedBytes += growth;
    if (most < artifact::leastInHugePage) {
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
  WalkResult result = op->walk([](nn::BinaryOp binary) {
    bool isFloat =
        isa<FloatType>(getElementTypeOrSelf(binary.getLhs().getType()));
    return isFloat && binary.getKind() == nn::BinaryKind::equal
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return result.wasInterrupted();
}

static void findCompared(std::vector<ExecutedLayer> &layers) {
  llvm::SmallPtrSet<Operation *, 16> compared;
  SmallVector<Operation *> todo;
  for (const ExecutedLayer &layer : layers)
    if (comparesForEquality(layer.op))
      todo.push_back(layer.op);
  while (!todo.empty()) {
    Operation *op = todo.pop_back_val();
    if (!compared.insert(op).second)
      continue;
    for (Value operand : op->getOperands())
      if (Operation *producer = operand.getDefiningOp())
        todo.push_back(producer);
  }
  for (ExecutedLayer &layer : layers)
    layer.isComparedForEquality = compared.contains(layer.op);
}

std::vector<ExecutedLayer> plan::executedLayers(func::FuncOp main) {
  Aliases aliases(main);
  std::vector<ExecutedLayer> layers;
  // Constants are the same where elements and type are, as in the file. By the
  // layer that owns each: the first to read it.
  llvm::DenseMap<std::pair<Attribute, Type>, size_t> owner;
  auto keyOf = [](nn::ConstantOp constant) {
    return std::pair<Attribute, Type>(constant.getValue(), constant.getType());
  };
  for (Operation &op : main.getBody().front()) {
    if (isa<nn::ConstantOp>(op) || aliases.isFree(&op) ||
        op.hasTrait<OpTrait::IsTerminator>())
      continue;
    size_t number = layers.size();
    ExecutedLayer layer;
    layer.op = &op;
    layer.name = firstName(op.getLoc());
    double mainBytes = 0;
    for (OpOperand &operand : op.getOpOperands()) {
      auto constant =
          aliases.find(operand.get()).base.getDefiningOp<nn::ConstantOp>();
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
      // What is seen through a view stays as it is.
      if (size > mainBytes && operand.get() == constant.getOutput()) {
        mainBytes = size;
        layer.mainOperand = operand.getOperandNumber();
      }
    }
    layer.otherBytes -= mainBytes;
    layers.push_back(std::move(layer));
  }
  countFreshBytes(main, aliases, layers);
  findCompared(layers);
  return layers;
}
