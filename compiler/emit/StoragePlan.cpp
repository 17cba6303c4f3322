//===- StoragePlan.cpp - Where every tensor of a model lives --------------===//

#include "compiler/emit/StoragePlan.h"

#include "compiler/emit/ArenaPlan.h"
#include "dialects/nn/ConstantData.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "dialects/nn/View.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace nnv12;

static RankedTensorType tensor(Value v) {
  return cast<RankedTensorType>(v.getType());
}
static int64_t bytes(Value v) { return nn::storageSize(tensor(v)); }

//===----------------------------------------------------------------------===//
// Aliases
//===----------------------------------------------------------------------===//

/// Bytes between consecutive elements along `dim` when all memory outside of that
/// dimension is one piece, so that a range of `dim` is contiguous; 0 if not.
static int64_t outermostStride(RankedTensorType type, int64_t dim) {
  nn::Layout layout = nn::Layout::of(type);
  for (const nn::Layout::Axis &axis : layout.axes()) {
    if (axis.dim == static_cast<unsigned>(dim))
      return axis.stride * nn::storageElementSize(type.getElementType()) /
             axis.step;
    if (axis.extent != 1)
      return 0;
  }
  return 0;
}

Aliases::Aliases(func::FuncOp main) {
  for (Operation &op : main.getBody().front()) {
    if (nn::isView(&op)) {
      parent_[op.getResult(0)] = {op.getOperand(0), 0};
      free_.insert(&op);
    } else if (auto slice = dyn_cast<nn::SliceOp>(op)) {
      // One dimension cut, whole blocks, nothing outside of it.
      auto in = slice.getInput().getType(), out = slice.getType();
      int64_t cut = -1;
      bool simple = nn::layoutTag(in) == nn::layoutTag(out) &&
                    out.getNumElements() > 0;
      for (int64_t d = 0; d < in.getRank() && simple; ++d)
        if (in.getDimSize(d) != out.getDimSize(d)) {
          simple = cut < 0 && slice.getSteps()[d] == 1;
          cut = d;
        } else {
          simple = slice.getStarts()[d] == 0;
        }
      if (!simple || cut < 0)
        continue;
      int64_t stride = outermostStride(cast<RankedTensorType>(in), cut);
      int64_t block = nn::Layout::of(cast<RankedTensorType>(in)).block(cut);
      if (!stride || slice.getStarts()[cut] % block)
        continue;
      parent_[op.getResult(0)] = {op.getOperand(0),
                                  slice.getStarts()[cut] * stride};
      free_.insert(&op);
    }
  }
  // The last concatenation first: its operands may be concatenations.
  for (Operation &op : llvm::reverse(main.getBody().front()))
    if (isa<nn::ConcatOp>(op) && joinConcat(&op))
      free_.insert(&op);
}

bool Aliases::joinConcat(Operation *op) {
  auto concat = cast<nn::ConcatOp>(op);
  auto type = cast<RankedTensorType>(concat.getType());
  int64_t axis = concat.getAxis();
  int64_t stride = outermostStride(type, axis);
  int64_t block = nn::Layout::of(type).block(axis);
  if (!stride)
    return false;
  SmallVector<std::pair<Value, int64_t>> parts;
  int64_t position = 0;
  for (Value v : concat.getInputs()) {
    Operation *producer = v.getDefiningOp();
    // The part must be somebody's own fresh memory.
    if (!producer || isa<nn::ConstantOp>(producer) || parent_.contains(v) ||
        free_.contains(producer) || position % block ||
        nn::layoutTag(v.getType()) != nn::layoutTag(type) ||
        llvm::any_of(parts, [&](auto &p) { return p.first == v; }) ||
        llvm::any_of(v.getUsers(), [](Operation *user) {
          return user->hasTrait<OpTrait::IsTerminator>();
        }))
      return false;
    parts.push_back({v, position * stride});
    position += tensor(v).getDimSize(axis);
  }
  for (auto [v, offset] : parts)
    parent_[v] = {concat.getOutput(), offset};
  return true;
}

Aliases::Place Aliases::find(Value value) const {
  Place place{value, 0};
  for (auto it = parent_.find(value); it != parent_.end();
       it = parent_.find(place.base)) {
    place.offset += it->second.offset;
    place.base = it->second.base;
  }
  return place;
}

void nnv12::insertOutputCopies(func::FuncOp main) {
  Operation *ret = main.getBody().front().getTerminator();
  Aliases aliases(main);
  llvm::DenseSet<Value> claimed;
  for (OpOperand &operand : ret->getOpOperands()) {
    Value value = operand.get();
    Aliases::Place place = aliases.find(value);
    bool direct = place.base.getDefiningOp() &&
                  !place.base.getDefiningOp<nn::ConstantOp>() &&
                  bytes(place.base) == bytes(value) &&
                  nn::layoutTag(place.base.getType()).empty() &&
                  claimed.insert(place.base).second;
    if (direct)
      continue;
    OpBuilder b(ret);
    operand.set(nn::UnaryOp::create(
        b, value.getLoc(), value.getType(), value,
        nn::FunctionAttr::get(main.getContext(), nn::UnaryKind::identity)));
  }
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

uint64_t WeightTable::offsetOf(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  auto type = tensor(value);
  auto [it, isNew] =
      offsets_.try_emplace({constant.getValue(), type}, size_);
  if (!isNew)
    return it->second;
  auto data = std::make_shared<nn::ConstantData>(
      *nn::ConstantData::get(constant.getValue()));
  uint64_t size = nn::storageSize(type);
  if (nn::layoutTag(type).empty()) {
    pieces_.push_back({data->bytes().data(), size});
    owned_.push_back(std::move(data));
  } else {
    std::shared_ptr<char[]> packed(new char[size]);
    nn::pack(type, data->bytes().data(), packed.get());
    pieces_.push_back({packed.get(), size});
    owned_.push_back(std::move(packed));
  }
  uint64_t offset = size_;
  size_ += llvm::alignTo(size, alignment);
  return offset;
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

/// What people call the layer.
static std::string layerName(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().str();
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    std::string joined;
    for (Location part : fused.getLocations()) {
      std::string name = layerName(part);
      if (!name.empty() && joined.size() < 200)
        joined += (joined.empty() ? "" : "+") + name;
    }
    return joined;
  }
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return layerName(call.getCallee());
  return "";
}

namespace {
/// A buffer of the arena while it is being planned.
struct Buffer {
  Lifetime lifetime;
  bool shared = false; ///< has aliases: never reused in place
};

class Planner {
public:
  Planner(func::FuncOp main, const KernelTable &kernels, WeightTable &weights,
          uint32_t weightsSegment)
      : main(main), kernels(kernels), weights(weights),
        weightsSegment(weightsSegment), aliases(main) {}

  PlannedProgram run() {
    collect();
    reuse();
    std::vector<Lifetime> lifetimes;
    for (Buffer &buffer : buffers)
      lifetimes.push_back(buffer.lifetime);
    arena = planArena(lifetimes);
    PlannedProgram program;
    program.arenaSize = arena.size;
    for (Operation *op : steps)
      program.operations.push_back(emit(op));
    return program;
  }

private:
  void collect() {
    Block &block = main.getBody().front();
    for (auto [i, v] : llvm::enumerate(block.getTerminator()->getOperands()))
      outputs[aliases.find(v).base] = i;
    for (auto [i, v] : llvm::enumerate(block.getArguments()))
      inputs[v] = i;
    for (Operation &op : block) {
      if (isa<nn::ConstantOp>(op) || aliases.isFree(&op) ||
          op.hasTrait<OpTrait::IsTerminator>() ||
          kernels.kernels()[kernels.of(&op)].info.tiles == 0)
        continue;
      int64_t step = steps.size();
      steps.push_back(&op);
      for (Value v : op.getResults())
        touch(v, step);
      for (Value v : op.getOperands())
        touch(v, step);
    }
  }

  /// Notes that `v` is written or read at `step`.
  void touch(Value v, int64_t step) {
    Value base = aliases.find(v).base;
    bool ownMemory = base.getDefiningOp() &&
                     !base.getDefiningOp<nn::ConstantOp>() &&
                     !outputs.contains(base);
    if (!ownMemory)
      return;
    auto [it, isNew] = bufferOf.try_emplace(base, buffers.size());
    if (isNew)
      buffers.push_back({{static_cast<uint64_t>(bytes(base)), step, step}});
    Buffer &buffer = buffers[it->second];
    buffer.lifetime.last = std::max(buffer.lifetime.last, step);
    buffer.shared |= base != v;
  }

  /// A result takes the memory of an operand that dies with it.
  void reuse() {
    for (auto [step, op] : llvm::enumerate(steps)) {
      if (!bufferOf.contains(op->getResult(0)))
        continue;
      for (unsigned i :
           kernels.kernels()[kernels.of(op)].info.inPlaceOperands) {
        Value operand = op->getOperand(i);
        auto source = bufferOf.find(operand);
        if (source == bufferOf.end())
          continue;
        unsigned from = source->second, to = bufferOf[op->getResult(0)];
        Buffer &a = buffers[from], &b = buffers[to];
        if (from == to || a.shared || b.shared ||
            a.lifetime.size != b.lifetime.size ||
            a.lifetime.last != static_cast<int64_t>(step) ||
            b.lifetime.first != static_cast<int64_t>(step) ||
            llvm::count(op->getOperands(), operand) != 1)
          continue;
        a.lifetime.last = b.lifetime.last;
        b.lifetime.size = 0; // gone
        b.lifetime.last = b.lifetime.first;
        for (auto &entry : bufferOf)
          if (entry.second == to)
            entry.second = from;
        break;
      }
    }
  }

  artifact::Operand place(Value v) {
    uint64_t size = bytes(v);
    Aliases::Place place = aliases.find(v);
    uint64_t offset = place.offset;
    if (place.base.getDefiningOp<nn::ConstantOp>())
      return {artifact::Space::Weights, weightsSegment,
              weights.offsetOf(place.base) + offset, size};
    if (auto it = inputs.find(place.base); it != inputs.end())
      return {artifact::Space::Input, it->second, offset, size};
    if (auto it = outputs.find(place.base); it != outputs.end())
      return {artifact::Space::Output, it->second, offset, size};
    return {artifact::Space::Arena, 0,
            arena.offsets[bufferOf.lookup(place.base)] + offset, size};
  }

  artifact::Operation emit(Operation *op) {
    unsigned kernel = kernels.of(op);
    artifact::Operation result;
    result.layer = layerName(op->getLoc());
    result.kernel = kernel;
    for (Value v : op->getResults())
      result.operands.push_back(place(v));
    for (Value v : op->getOperands())
      result.operands.push_back(place(v));
    result.tiles = kernels.kernels()[kernel].info.tiles;
    return result;
  }

  func::FuncOp main;
  const KernelTable &kernels;
  WeightTable &weights;
  uint32_t weightsSegment;
  Aliases aliases;
  std::vector<Operation *> steps;
  llvm::DenseMap<Value, uint32_t> inputs, outputs;
  llvm::DenseMap<Value, unsigned> bufferOf;
  std::vector<Buffer> buffers;
  ArenaPlan arena;
};
} // namespace

PlannedProgram nnv12::planProgram(func::FuncOp main, const KernelTable &kernels,
                                  WeightTable &weights,
                                  uint32_t weightsSegment) {
  return Planner(main, kernels, weights, weightsSegment).run();
}
