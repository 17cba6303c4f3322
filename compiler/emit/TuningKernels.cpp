//===- TuningKernels.cpp - Kernels of CPUs to be measured -----------------===//

#include "compiler/emit/TuningKernels.h"

#include "compiler/codegen/cpu/Widen.h"
#include "compiler/emit/TuningBundle.h"
#include "compiler/layers/ExecutionOrder.h"
#include "compiler/layers/LayerName.h"
#include "compiler/processors/Processor.h"
#include "compiler/routines/KernelKey.h"
#include "compiler/weights/Narrow.h"
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
  const RoutineSet &routines = hostRoutines();
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

/// The model's inputs and its outputs, by number.
namespace {
struct TuningInput {
  enum : uint32_t { Weights, Activations, Integers };
};
struct TuningOutput {
  enum : uint32_t { Sink, Fresh };
};
} // namespace

static artifact::Operand operandAt(const TuningMemory::Place &place) {
  using artifact::Space;
  auto in = [&](Space space, uint32_t index) {
    return artifact::Operand{space, index, place.offset, place.size};
  };
  switch (place.region) {
  case TuningMemory::Fresh:
    return in(Space::Output, TuningOutput::Fresh);
  case TuningMemory::Sink:
    return in(Space::Output, TuningOutput::Sink);
  case TuningMemory::Integers:
    return in(Space::Input, TuningInput::Integers);
  case TuningMemory::Weights:
    return in(Space::Input, TuningInput::Weights);
  default:
    llvm_unreachable("kernels of CPUs touch nothing else");
  }
}

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

/// The operands of a kernel: results first.
static std::vector<artifact::Operand> place(const TuningKernel &kernel,
                                            TuningMemory &memory) {
  memory.begin();
  SmallVector<int64_t> written;
  std::vector<TuningMemory::Place> read;
  auto reads = [&](Type type, bool isConstant, uint64_t size) {
    read.push_back(memory.read(type, isConstant, size));
  };
  std::optional<WeightForm> form;
  if (kernel.routine)
    form = kernel.routine->weightForm(kernel.op);
  switch (kernel.stage) {
  case TuningKernel::Stage::Execute:
    for (Value v : kernel.op->getResults())
      written.push_back(bytes(v.getType()));
    for (auto [i, v] : llvm::enumerate(kernel.op->getOperands()))
      reads(v.getType(), bool(v.getDefiningOp<nn::ConstantOp>()),
            form && form->operand == i ? form->bytes : bytes(v.getType()));
    break;
  case TuningKernel::Stage::Transform: {
    Type packed = kernel.op->getOperand(form->operand).getType();
    written = {form->bytes};
    reads(packed, true, bytes(packed));
    break;
  }
  case TuningKernel::Stage::Pack: {
    Type raw = nn::withLayout(kernel.packed, "");
    written = {bytes(kernel.packed)};
    reads(raw, true, bytes(raw));
    break;
  }
  case TuningKernel::Stage::Widen:
    written = {bytes(kernel.packed)};
    reads(kernel.packed, true, narrowBytes(kernel.packed, *kernel.narrow));
    break;
  }
  std::vector<TuningMemory::Place> places = memory.results(written);
  places.insert(places.end(), read.begin(), read.end());
  std::vector<artifact::Operand> operands;
  llvm::transform(places, std::back_inserter(operands), operandAt);
  return operands;
}

LogicalResult nnv12::writeTuningBundle(func::FuncOp main,
                                       ArrayRef<TuningProgram> programs,
                                       const std::string &path,
                                       const std::string &signingKey) {
  TuningWriter writer(main, programs.size());
  TuningMemory memory(WeightTable::alignment, leastTuningWeights,
                      /*granule=*/4096);
  for (const TuningProgram &tuned : programs) {
    auto fill = [&](KernelTable &table, artifact::Program &program) {
      for (const TuningKernel &kernel : tuned.kernels) {
        artifact::Operation operation;
        operation.kernel = emitKernel(kernel, table);
        operation.tiles = table[operation.kernel].info.tiles;
        operation.layer = kernel.layer;
        assert(table[operation.kernel].facts.key == kernel.facts.key &&
               "the bundle's kernels have the keys that were asked for");
        operation.operands = place(kernel, memory);
        // The work of the layer before, on the threads that it would have run
        // on.
        if (uint64_t bytes = memory.freshBytes())
          program.operations.push_back(
              copyOperation(table, "activations", TuningOutput::Fresh,
                            TuningInput::Activations, bytes));
        program.operations.push_back(std::move(operation));
      }
    };
    if (failed(writer.add(tuned.target, tuned.revision, fill)))
      return failure();
  }
  using artifact::ElementType;
  uint64_t activations =
      llvm::alignTo(memory[TuningMemory::Fresh], KernelTable::copyTile);
  writer.input("weights", ElementType::F32, memory[TuningMemory::Weights]);
  writer.input("activations", ElementType::F32, activations);
  writer.input("integers", ElementType::I64, memory[TuningMemory::Integers]);
  writer.output("sink", memory[TuningMemory::Sink]);
  writer.output("fresh", activations);
  return writer.write(path, signingKey);
}
