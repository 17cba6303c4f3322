//===- TuningKernels.cpp - Kernels of CPUs to be measured -----------------===//

#include "compiler/emit/TuningKernels.h"

#include "artifact/TuningParts.h"
#include "compiler/codegen/cpu/PartGrid.h"
#include "compiler/codegen/cpu/Widen.h"
#include "compiler/emit/TuningBundle.h"
#include "compiler/layers/ExecutionOrder.h"
#include "compiler/layers/LayerName.h"
#include "compiler/processors/Processor.h"
#include "compiler/routines/KernelKey.h"
#include "compiler/routines/TilesBehind.h"
#include "compiler/weights/Narrow.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/NNDialect.h"
#include "llvm/ADT/StringSet.h"

#include <array>

using namespace mlir;
using namespace nnv12;

/// Less would stay in the caches of a phone's or a desktop's CPU.
static constexpr uint64_t leastTuningWeights = 64u << 20;

//===----------------------------------------------------------------------===//
// Which kernels
//===----------------------------------------------------------------------===//

std::vector<TuningKernel> nnv12::tuningKernels(func::FuncOp main,
                                               const codegen::Target &target,
                                               ArrayRef<Operation *> others) {
  std::vector<TuningKernel> kernels;
  llvm::StringSet<> known;
  auto add = [&](TuningKernel kernel) {
    if (known.insert(kernel.facts.key).second)
      kernels.push_back(std::move(kernel));
  };
  const RoutineSet &routines = hostRoutines();
  ExecutionOrder order(main);
  // Looks at every element: once a constant.
  llvm::DenseMap<Value, std::optional<plan::Narrowing>> narrowings;
  auto narrowingOf = [&](Value constant) {
    auto [it, isNew] = narrowings.try_emplace(constant);
    if (isNew)
      it->second = worthNarrowing(constant);
    return it->second;
  };
  llvm::StringSet<> names;
  for (Operation *op : llvm::concat<Operation *const>(order.layers(), others)) {
    std::string layer = firstName(op->getLoc());
    while (!names.insert(layer).second)
      layer += '~';
    for (const Routine *routine : routines.agreeing(op)) {
      const codegen::CpuRoutine &cpu = codegen::CpuRoutine::of(*routine);
      if (!cpu.isFor(op, target))
        continue;
      std::optional<WeightForm> form = routine->weightForm(op);
      if (form && form->narrow &&
          narrowingOf(op->getOperand(form->operand)) != form->narrow)
        continue; // not of this layer's numbers
      add({kernelFacts(op, *routine, cpu.targetOf(op, target)), layer, op,
           [=](KernelTable &table) { return table.execute(op, *routine); }});
      if (form && !form->narrow)
        add({transformFacts(op, *routine, target.base), layer, nullptr,
             [=](KernelTable &table) {
               return table.transform(op, *routine);
             }});
    }
    // Which constant is stored raw or narrow the plan decides.
    for (Value v : op->getOperands()) {
      if (!v.getDefiningOp<nn::ConstantOp>())
        continue;
      auto type = cast<RankedTensorType>(v.getType());
      if (auto narrow = narrowingOf(v))
        add({codegen::widenFacts(type, *narrow, target.base), layer, nullptr,
             [=](KernelTable &table) { return table.widen(type, *narrow); }});
      if (!nn::layoutTag(type).empty())
        add({packFacts(type, routines, target.base), layer, nullptr,
             [=](KernelTable &table) { return table.pack(type); }});
    }
  }
  return kernels;
}

/// A layer, and a routine that computes parts of it.
namespace {
struct TunedPart {
  Operation *op;
  const Routine *routine;
};
} // namespace

/// Layers with one result, each with one of its routines, each key once.
static std::vector<TunedPart> partCandidates(func::FuncOp main,
                                             const codegen::Target &target) {
  std::vector<TunedPart> found;
  llvm::StringSet<> known;
  ExecutionOrder order(main);
  for (auto [i, op] : llvm::enumerate(order.layers())) {
    if (op->getNumResults() != 1)
      continue;
    SmallVector<const Routine *> routines;
    for (const Routine *routine : hostRoutines().agreeing(op)) {
      std::optional<WeightForm> form = routine->weightForm(op);
      if (codegen::CpuRoutine::of(*routine).isFor(op, target) &&
          !(form && form->narrow))
        routines.push_back(routine);
    }
    if (routines.empty())
      continue;
    const Routine *routine = routines[i % routines.size()];
    if (known.insert(kernelText(op, *routine)).second)
      found.push_back({op, routine});
  }
  return found;
}

std::vector<TuningKernel> nnv12::tuningParts(func::FuncOp main,
                                             const codegen::Target &target) {
  // Parts of one layer share operands, which are still in the caches behind
  // another one of them. So all layers take turns: first their kernels, then
  // one part of each.
  std::array<std::vector<TuningKernel>, 4 * numCutDims> turns;
  std::vector<TunedPart> found = partCandidates(main, target);
  size_t count = std::min(found.size(), mostTunedParts);
  for (size_t i = 0; i < count; ++i) {
    auto [op, routine] = found[i * found.size() / count];
    const auto &cpu = codegen::CpuRoutine::of(*routine);
    codegen::Target own = target.upTo(cpu.extension(op));
    RankedTensorType result = nn::typeOf(op->getResult(0));
    std::string layer = firstName(op->getLoc());
    for (unsigned dim = 1;
         dim < std::min<unsigned>(numCutDims, result.getRank()); ++dim) {
      auto grid = codegen::partGrid(op, cpu, dim, own);
      if (!grid || grid->starts.empty())
        continue;
      TuningKernel kernel{
          kernelFacts(op, *routine, cpu.targetOf(op, target)),
          layer + ", in parts along " + dimName(dim).str(), op,
          [op = op, routine = routine, dim](KernelTable &table) {
            return table.part(op, *routine, dim);
          }};
      if (grid->cells) {
        kernel.facts.key = partKey(op, *routine, dim, own.name);
        turns[dim].push_back(kernel);
      }
      int64_t extent = result.getDimSize(dim), last = 0;
      for (unsigned quarter : {1u, 2u, 3u}) {
        // The first of those that are nearest.
        int64_t at =
            *llvm::min_element(grid->starts, [&](int64_t a, int64_t b) {
              return std::abs(a * 4 - quarter * extent) <
                     std::abs(b * 4 - quarter * extent);
            });
        if (at == last)
          continue;
        last = at;
        kernel.layer = artifact::partName(layer, dimName(dim).str(), at,
                                          storedExtent(result, dim));
        kernel.cut = Cut{dim, at};
        turns[quarter * numCutDims + dim].push_back(kernel);
      }
    }
  }
  std::vector<TuningKernel> kernels;
  for (std::vector<TuningKernel> &turn : turns)
    llvm::append_range(kernels, turn);
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

/// The operands of a kernel as it was emitted: results first.
static std::vector<artifact::Operand> place(const TuningKernel &kernel,
                                            const KernelTable::Kernel &emitted,
                                            TuningMemory &memory) {
  memory.begin();
  SmallVector<int64_t> written;
  std::vector<TuningMemory::Place> read;
  for (auto [i, operand] : llvm::enumerate(emitted.memories))
    if (i < emitted.outputs)
      written.push_back(operand.bytes);
    else if (!kernel.op)
      // Narrow weights, too, are of the type that is made of them.
      read.push_back(memory.read(emitted.memories.front().element,
                                 /*isConstant=*/true, operand.bytes));
    else
      read.push_back(memory.read(operand.element,
                                 bool(kernel.op->getOperand(i - emitted.outputs)
                                          .getDefiningOp<nn::ConstantOp>()),
                                 operand.bytes));
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
        operation.kernel = kernel.emit(table);
        const KernelTable::Kernel &emitted = table[operation.kernel];
        operation.tiles = emitted.info.tiles;
        operation.layer = kernel.layer;
        assert(emitted.facts.key == kernel.facts.key &&
               "the bundle's kernels have the keys that were asked for");
        operation.operands = place(kernel, emitted, memory);
        // The work of the layer before, on the threads that it would have run
        // on.
        if (uint64_t bytes = memory.freshBytes())
          program.operations.push_back(
              copyOperation(table, "activations", TuningOutput::Fresh,
                            TuningInput::Activations, bytes));
        if (!kernel.cut) {
          program.operations.push_back(std::move(operation));
          continue;
        }
        auto ranges =
            tilesBehind(emitted.info.maps.front(),
                        nn::typeOf(kernel.op->getResult(0)), *kernel.cut);
        assert(ranges && "the grid was chosen so that tiles begin there");
        for (TileRange range : *ranges) {
          operation.tileBegin = static_cast<uint64_t>(range.begin);
          operation.tiles = static_cast<uint64_t>(range.end - range.begin);
          program.operations.push_back(operation);
        }
      }
    };
    if (failed(writer.add(tuned.target, tuned.revision, fill)))
      return failure();
  }
  using artifact::ElementType;
  uint64_t activations =
      llvm::alignTo(memory[TuningMemory::Fresh], KernelTable::copyTile);
  writer.builder.bundle.inputs = {
      tuningTensor("weights", ElementType::F32, memory[TuningMemory::Weights]),
      tuningTensor("activations", ElementType::F32, activations),
      tuningTensor("integers", ElementType::I64,
                   memory[TuningMemory::Integers])};
  writer.builder.bundle.outputs = {
      tuningTensor("sink", ElementType::F32, memory[TuningMemory::Sink]),
      tuningTensor("fresh", ElementType::F32, activations)};
  return writer.builder.write(*main.getContext(), path, signingKey);
}
