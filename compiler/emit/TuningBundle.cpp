//===- TuningBundle.cpp - A bundle of kernels to be measured --------------===//

#include "compiler/emit/TuningBundle.h"

#include "compiler/codegen/cpu/Backend.h"
#include "compiler/codegen/cpu/Widen.h"
#include "compiler/emit/BundleBuilder.h"
#include "compiler/emit/WeightTable.h"
#include "compiler/layers/ExecutionOrder.h"
#include "compiler/layers/LayerName.h"
#include "compiler/narrow/Narrow.h"
#include "compiler/routines/KernelKey.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace nnv12;

/// Less would stay in the caches of a phone's or a desktop's CPU.
static constexpr uint64_t leastTuningWeights = 64u << 20;

//===----------------------------------------------------------------------===//
// Which kernels
//===----------------------------------------------------------------------===//

static int64_t bytes(Type type) {
  return nn::storageSize(cast<RankedTensorType>(type));
}

std::vector<TuningKernel> nnv12::tuningKernels(func::FuncOp main,
                                               const codegen::Target &target) {
  std::vector<TuningKernel> kernels;
  llvm::StringSet<> known;
  auto add = [&](TuningKernel kernel) {
    if (known.insert(kernel.facts.key).second)
      kernels.push_back(std::move(kernel));
  };
  const RoutineSet &routines = codegen::cpuRoutines();
  ExecutionOrder order(main);
  for (Operation *op : order.layers()) {
    std::string layer = firstName(op->getLoc());
    for (const Routine *routine : routines.agreeing(op)) {
      add({TuningKernel::Stage::Execute, kernelFacts(op, *routine, target.name),
           layer, op, routine});
      if (routine->weightForm(op))
        add({TuningKernel::Stage::Transform,
             transformFacts(op, *routine, target.name), layer, op, routine});
    }
    // Which constant is stored raw or narrow the plan decides.
    for (Value v : op->getOperands()) {
      if (!v.getDefiningOp<nn::ConstantOp>())
        continue;
      auto type = cast<RankedTensorType>(v.getType());
      if (auto narrow = worthNarrowing(v))
        add({TuningKernel::Stage::Widen,
             codegen::widenFacts(type, *narrow, target.name), layer, nullptr,
             nullptr, type, narrow});
      if (!nn::layoutTag(type).empty())
        add({TuningKernel::Stage::Pack, packFacts(type, routines, target.name),
             layer, nullptr, nullptr, type});
    }
  }
  return kernels;
}

//===----------------------------------------------------------------------===//
// The bundle
//===----------------------------------------------------------------------===//

namespace {
/// The model's inputs and its outputs, by number.
struct TuningInput {
  enum : uint32_t { Weights, Activations, Integers };
};
struct TuningOutput {
  enum : uint32_t { Sink, Fresh };
};

/// Gives operands their places.
class Places {
public:
  /// The kernel that comes next: what it reads of `Fresh` starts from 0. Its
  /// results do not lie where those of the one before do: in a model no layer
  /// writes to what has just been written, and where much is written it is not
  /// in a cache close by.
  void begin(uint64_t resultBytes) {
    activations = integers = 0;
    results =
        turn++ % turns * llvm::alignTo(resultBytes, WeightTable::alignment);
  }
  artifact::Operand result(uint64_t size) {
    return take(artifact::Space::Output, TuningOutput::Sink, results, sink,
                size);
  }
  artifact::Operand read(Type type, bool constant, uint64_t size) {
    using artifact::Space;
    if (!isa<FloatType>(cast<RankedTensorType>(type).getElementType()))
      return take(Space::Input, TuningInput::Integers, integers, integersSize,
                  size);
    if (!constant)
      return take(Space::Output, TuningOutput::Fresh, activations,
                  activationsSize, size);
    if (next + size > weightsSize) {
      next = 0;
      weightsSize = std::max(weightsSize, llvm::alignTo(size, 4096));
    }
    return take(Space::Input, TuningInput::Weights, next, weightsSize, size);
  }
  /// Of the kernel: bytes that it reads of `Fresh`.
  uint64_t freshBytes() const { return activations; }

  uint64_t sink = 0, weightsSize = leastTuningWeights, activationsSize = 0,
           integersSize = 0; ///< bytes that each tensor needs

private:
  static artifact::Operand take(artifact::Space space, uint32_t index,
                                uint64_t &offset, uint64_t &needed,
                                uint64_t size) {
    artifact::Operand operand{space, index, offset, size};
    offset = llvm::alignTo(offset + size, WeightTable::alignment);
    needed = std::max(needed, offset);
    return operand;
  }

  /// Memory of a model is a few times what a layer of it writes.
  static constexpr unsigned turns = 4;
  unsigned turn = 0;
  uint64_t results = 0, activations = 0, integers = 0, next = 0;
};
} // namespace

unsigned nnv12::emitKernel(const TuningKernel &kernel, KernelTable &table) {
  switch (kernel.stage) {
  case TuningKernel::Stage::Execute:
    return table.execute(kernel.op, *kernel.routine);
  case TuningKernel::Stage::Transform:
    return table.transform(kernel.op, *kernel.routine);
  case TuningKernel::Stage::Pack:
    return table.pack(kernel.packed);
  case TuningKernel::Stage::Widen:
    return table.widen(kernel.packed, *kernel.narrow);
  }
  llvm_unreachable("all stages are there");
}

/// What the layer before would have done, on the threads that it would have run
/// on: writes `bytes` from the start of `Fresh`.
static artifact::Operation makeFresh(uint64_t bytes, KernelTable &table) {
  uint64_t size = llvm::alignTo(bytes, KernelTable::copyTile);
  artifact::Operation operation;
  operation.kernel = table.copy();
  operation.tiles = size / KernelTable::copyTile;
  operation.layer = "activations";
  operation.operands = {
      {artifact::Space::Output, TuningOutput::Fresh, 0, size},
      {artifact::Space::Input, TuningInput::Activations, 0, size}};
  return operation;
}

static void place(const TuningKernel &kernel, Places &places,
                  std::vector<artifact::Operand> &operands) {
  auto writes = [&](uint64_t size) { operands.push_back(places.result(size)); };
  auto reads = [&](Type type, bool constant, uint64_t size) {
    operands.push_back(places.read(type, constant, size));
  };
  switch (kernel.stage) {
  case TuningKernel::Stage::Execute: {
    auto form = kernel.routine->weightForm(kernel.op);
    uint64_t size = 0;
    for (Value v : kernel.op->getResults())
      size += llvm::alignTo(bytes(v.getType()), WeightTable::alignment);
    places.begin(size);
    for (Value v : kernel.op->getResults())
      writes(bytes(v.getType()));
    for (auto [i, v] : llvm::enumerate(kernel.op->getOperands()))
      reads(v.getType(), bool(v.getDefiningOp<nn::ConstantOp>()),
            form && form->operand == i ? form->bytes : bytes(v.getType()));
    break;
  }
  case TuningKernel::Stage::Transform: {
    auto form = *kernel.routine->weightForm(kernel.op);
    Type packed = kernel.op->getOperand(form.operand).getType();
    places.begin(form.bytes);
    writes(form.bytes);
    reads(packed, true, bytes(packed));
    break;
  }
  case TuningKernel::Stage::Pack: {
    Type raw = nn::withLayout(kernel.packed, "");
    places.begin(bytes(kernel.packed));
    writes(bytes(kernel.packed));
    reads(raw, true, bytes(raw));
    break;
  }
  case TuningKernel::Stage::Widen:
    places.begin(bytes(kernel.packed));
    writes(bytes(kernel.packed));
    reads(kernel.packed, true, narrowBytes(kernel.packed, *kernel.narrow));
    break;
  }
}

LogicalResult nnv12::writeTuningBundle(func::FuncOp main,
                                       ArrayRef<TuningProgram> programs,
                                       const std::string &path,
                                       const std::string &signingKey) {
  auto name =
      main->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>("nn.model");
  BundleBuilder builder(name ? "tuning of " + name.str() : "tuning");
  Places places;
  for (const TuningProgram &tuned : programs) {
    codegen::KernelBuilder kernelBuilder(*main.getContext(), tuned.target);
    OwningOpRef<ModuleOp> owned(kernelBuilder.module);
    artifact::Program program;
    program.revision = tuned.revision;
    KernelTable table(kernelBuilder);
    for (const TuningKernel &kernel : tuned.kernels) {
      artifact::Operation operation;
      operation.kernel = emitKernel(kernel, table);
      operation.tiles = table[operation.kernel].info.tiles;
      operation.layer = kernel.layer;
      assert(table[operation.kernel].facts.key == kernel.facts.key &&
             "the bundle's kernels have the keys that were asked for");
      place(kernel, places, operation.operands);
      if (places.freshBytes())
        program.operations.push_back(makeFresh(places.freshBytes(), table));
      program.operations.push_back(std::move(operation));
    }
    auto blob = codegen::compileModule(*owned, tuned.target);
    if (failed(blob))
      return failure();
    builder.addProgram(tuned.target, std::move(program), table,
                       std::move(*blob));
  }
  uint64_t activations =
      llvm::alignTo(places.activationsSize, KernelTable::copyTile);
  builder.bundle.kind = artifact::BundleKind::Tuning;
  using artifact::ElementType;
  auto tensor = [](const char *name, ElementType type, uint64_t bytes) {
    return artifact::Tensor{
        name, type, {int64_t(llvm::divideCeil(bytes, elementSize(type)))}};
  };
  builder.bundle.inputs = {
      tensor("weights", ElementType::F32, places.weightsSize),
      tensor("activations", ElementType::F32, activations),
      tensor("integers", ElementType::I64, places.integersSize)};
  builder.bundle.outputs = {tensor("sink", ElementType::F32, places.sink),
                            tensor("fresh", ElementType::F32, activations)};
  return builder.write(*main.getContext(), path, signingKey);
}
