//===- KernelTable.cpp - The kernels that a program needs -----------------===//

#include "compiler/emit/KernelTable.h"

#include "compiler/codegen/cpu/CheckBounds.h"
#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/PartGrid.h"
#include "compiler/codegen/cpu/Widen.h"
#include "compiler/layers/LayerName.h"
#include "compiler/processors/Processor.h"
#include "compiler/routines/Cut.h"
#include "compiler/routines/Descriptor.h"
#include "compiler/routines/KernelKey.h"
#include "compiler/routines/LayerIn.h"
#include "compiler/weights/Narrow.h"
#include "dialects/nn/Layout.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nnv12;
using codegen::CpuRoutine;

unsigned KernelTable::add(std::string id, StringRef name, Location layer,
                          llvm::function_ref<void(Kernel &)> emit) {
  auto [it, isNew] = known.try_emplace(id, kernels_.size());
  if (!isNew)
    return it->second;
  Kernel &kernel = kernels_.emplace_back();
  kernel.id = std::move(id);
  kernel.name = name.str();
  kernel.symbol = "k" + std::to_string(it->second);
  for (char c : kernel.name)
    kernel.symbol += llvm::isAlnum(c) ? c : '_';
  emit(kernel);
  if (!forBounds || kernel.memories.empty())
    return it->second;
  SmallVector<int64_t> bytes;
  for (const Memory &memory : kernel.memories)
    bytes.push_back(memory.bytes);
  codegen::describeBounds(builder.module, kernel.symbol,
                          "kernel " + kernel.name + " of layer '" +
                              layerName(layer) + "'",
                          bytes, kernel.info.scratchBytes);
  return it->second;
}

static KernelTable::Memory memoryOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return {nn::storageSize(tensor), tensor.getElementType()};
}

static const CpuRoutine &packRoutine(PackLayer &pack) {
  return CpuRoutine::of(*hostRoutines().preferred(pack.layer()));
}

std::string KernelTable::executeId(Operation *layer,
                                   const Routine &routine) const {
  std::string id = kernelText(layer, routine);
  // Distinguishes the layer's kernels from those of equal layers.
  if (forBounds)
    id += "@" + std::to_string(reinterpret_cast<uintptr_t>(layer));
  return id;
}

std::string KernelTable::cellsId(Operation *layer,
                                 const Routine &routine) const {
  return "cells:" + executeId(layer, routine);
}

std::string KernelTable::partId(Operation *layer, const Routine &routine,
                                unsigned dim) const {
  return "part" + std::to_string(dim) + ":" + executeId(layer, routine);
}

std::string KernelTable::transformId(Operation *layer,
                                     const Routine &routine) const {
  return "transform:" + executeId(layer, routine);
}

std::string KernelTable::packId(RankedTensorType type) {
  PackLayer pack(type);
  return kernelText(pack.layer(), packRoutine(pack));
}

/// The kernel does not depend on the layer that reads the weights.
std::string KernelTable::widenId(RankedTensorType packed,
                                 plan::Narrowing narrowing) {
  std::string id = "widen:" + std::string(plan::text(narrowing)) + ":";
  llvm::raw_string_ostream(id) << packed;
  return id;
}

void KernelTable::describe(Kernel &kernel, Operation *layer,
                           const Routine &routine,
                           llvm::function_ref<codegen::KernelInfo()> emit) {
  builder.use(CpuRoutine::of(routine).extension(layer));
  kernel.info = emit();
  kernel.extension = builder.target.extension;
  kernel.facts = kernelFacts(layer, routine, builder.target.name);
  kernel.descriptor = descriptorOf(layer, routine);
  builder.use(codegen::Extension::None);
  for (Value v : llvm::concat<Value>(layer->getResults(), layer->getOperands()))
    kernel.memories.push_back(memoryOf(v.getType()));
  kernel.operands = kernel.memories.size();
  kernel.outputs = layer->getNumResults();
  if (auto form = routine.weightForm(layer)) {
    Memory &weights = kernel.memories[kernel.outputs + form->operand];
    weights.bytes = form->bytes;
    if (form->narrow)
      weights.element =
          narrowElementType(builder.b.getContext(), *form->narrow);
  }
}

unsigned KernelTable::execute(Operation *layer, const Routine &routine) {
  auto emit = [&](Kernel &kernel) {
    describe(kernel, layer, routine, [&] {
      return CpuRoutine::of(routine).emit(builder, layer, kernel.symbol);
    });
  };
  return add(executeId(layer, routine), routine.name(), layer->getLoc(), emit);
}

unsigned KernelTable::cells(Operation *layer, const Routine &routine,
                            const Cells &size) {
  auto emit = [&](Kernel &kernel) {
    std::string target; // with the extension
    describe(kernel, layer, routine, [&] {
      target = builder.target.name;
      return CpuRoutine::of(routine).emitCells(builder, layer, kernel.symbol,
                                               size);
    });
    kernel.facts.key = cellsKey(layer, routine, target);
    kernel.descriptor += ".cells";
  };
  return add(cellsId(layer, routine), (routine.name() + ".cells").str(),
             layer->getLoc(), emit);
}

unsigned KernelTable::part(Operation *layer, const Routine &routine,
                           unsigned dim) {
  std::string id = partId(layer, routine, dim);
  if (auto found = known.find(id); found != known.end())
    return found->second;
  const CpuRoutine &own = CpuRoutine::of(routine);
  builder.use(own.extension(layer));
  codegen::Target target = builder.target;
  builder.use(codegen::Extension::None);
  std::optional<codegen::PartGrid> grid =
      codegen::partGrid(layer, own, dim, target);
  assert(grid && "a layer with a part grid");
  if (!grid->cells) {
    unsigned number = execute(layer, routine);
    known[id] = number;
    return number;
  }
  auto emit = [&](Kernel &kernel) {
    describe(kernel, layer, routine, [&] {
      return own.emitCells(builder, layer, kernel.symbol, *grid->cells);
    });
    kernel.facts.key = partKey(layer, routine, dim, target.name);
    kernel.descriptor += ("." + dimName(dim)).str();
  };
  return add(std::move(id), (routine.name() + "." + dimName(dim)).str(),
             layer->getLoc(), emit);
}

unsigned KernelTable::transform(Operation *layer, const Routine &routine) {
  WeightForm form = *routine.weightForm(layer);
  auto emit = [&](Kernel &kernel) {
    kernel.info =
        CpuRoutine::of(routine).emitTransform(builder, layer, kernel.symbol);
    kernel.facts = transformFacts(layer, routine, builder.target.name);
    Memory packed = memoryOf(layer->getOperand(form.operand).getType());
    kernel.memories = {{form.bytes, packed.element}, packed};
  };
  return add(transformId(layer, routine), transformName(form.name),
             layer->getLoc(), emit);
}

unsigned KernelTable::pack(RankedTensorType type) {
  PackLayer pack(type);
  auto emit = [&](Kernel &kernel) {
    kernel.info = packRoutine(pack).emit(builder, pack.layer(), kernel.symbol);
    kernel.facts = packFacts(type, hostRoutines(), builder.target.name);
    kernel.memories = {memoryOf(type),
                       memoryOf(pack.layer()->getOperand(0).getType())};
  };
  return add(packId(type), "pack", pack.layer()->getLoc(), emit);
}

unsigned KernelTable::widen(RankedTensorType packed,
                            plan::Narrowing narrowing) {
  auto emit = [&](Kernel &kernel) {
    kernel.info = codegen::emitWiden(builder, packed, narrowing, kernel.symbol);
    kernel.facts = codegen::widenFacts(packed, narrowing, builder.target.name);
    kernel.memories = {memoryOf(packed),
                       {narrowBytes(packed, narrowing),
                        narrowElementType(builder.b.getContext(), narrowing)}};
  };
  return add(widenId(packed, narrowing), transformName(plan::text(narrowing)),
             builder.b.getUnknownLoc(), emit);
}

unsigned KernelTable::copy() {
  codegen::KernelBuilder &k = builder;
  auto emit = [&](Kernel &kernel) {
    constexpr int64_t elements = copyTile / sizeof(float);
    Type f32 = k.b.getF32Type();
    k.kernel(
        kernel.symbol, {f32, f32},
        [&](ValueRange operands, Value, Value begin, Value end) {
          k.loop(codegen::Index(begin), codegen::Index(end), 1,
                 [&](Value tile) {
                   codegen::Index start = k.mul(codegen::Index(tile), elements);
                   k.loop(0, elements, k.VL, [&](Value i) {
                     codegen::Index at = k.add(start, codegen::Index(i));
                     k.store(k.load(operands[1], at, k.VL), operands[0], at);
                   });
                 });
        });
  };
  return add("copy", "copy", k.b.getUnknownLoc(), emit);
}
