//===- KernelTable.cpp - The kernels that a program needs -----------------===//

#include "compiler/emit/KernelTable.h"

#include "compiler/codegen/cpu/CheckBounds.h"
#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/Widen.h"
#include "compiler/layers/LayerName.h"
#include "compiler/processors/Processor.h"
#include "compiler/routines/KernelKey.h"
#include "compiler/weights/Narrow.h"
#include "dialects/nn/Layout.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nnv12;
using codegen::CpuRoutine;

std::pair<unsigned, bool> KernelTable::find(StringRef key, StringRef name,
                                            unsigned operands,
                                            unsigned outputs) {
  auto [it, isNew] = known.try_emplace(key, kernels_.size());
  if (isNew) {
    Kernel kernel;
    kernel.name = name.str();
    kernel.symbol = "k" + std::to_string(kernels_.size());
    for (char c : kernel.name)
      kernel.symbol += llvm::isAlnum(c) ? c : '_';
    kernel.operands = operands;
    kernel.outputs = outputs;
    kernels_.push_back(std::move(kernel));
  }
  return {it->second, isNew};
}

static KernelTable::Memory memoryOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return {nn::storageSize(tensor), tensor.getElementType()};
}

static const CpuRoutine &packRoutine(PackLayer &pack) {
  return CpuRoutine::of(*hostRoutines().preferred(pack.layer()));
}

std::string KernelTable::ownerOf(Operation *layer) const {
  return forBounds ? "@" + std::to_string(reinterpret_cast<uintptr_t>(layer))
                   : "";
}

std::string KernelTable::executeText(Operation *layer,
                                     const Routine &routine) const {
  return kernelText(layer, routine) + ownerOf(layer);
}

std::string KernelTable::transformText(Operation *layer,
                                       const Routine &routine) const {
  return "transform:" + executeText(layer, routine);
}

std::optional<unsigned> KernelTable::find(StringRef key) const {
  auto it = known.find(key);
  return it == known.end() ? std::nullopt : std::optional(it->second);
}

std::optional<unsigned> KernelTable::findExecute(Operation *layer,
                                                 const Routine &routine) const {
  return find(executeText(layer, routine));
}

std::optional<unsigned>
KernelTable::findTransform(Operation *layer, const Routine &routine) const {
  return find(transformText(layer, routine));
}

std::optional<unsigned> KernelTable::findPack(RankedTensorType type) const {
  PackLayer pack(type);
  return find(kernelText(pack.layer(), packRoutine(pack)));
}

/// The kernel does not depend on the layer that reads the weights.
static std::string widenText(RankedTensorType packed,
                             plan::Narrowing narrowing) {
  std::string text = "widen:" + std::string(plan::text(narrowing)) + ":";
  llvm::raw_string_ostream(text) << packed;
  return text;
}

std::optional<unsigned>
KernelTable::findWiden(RankedTensorType packed,
                       plan::Narrowing narrowing) const {
  return find(widenText(packed, narrowing));
}

void KernelTable::describe(unsigned index, Location layer,
                           SmallVector<Memory> memories) {
  Kernel &kernel = kernels_[index];
  assert(memories.size() == kernel.operands && "a size for each operand");
  kernel.memories = std::move(memories);
  if (!forBounds)
    return;
  SmallVector<int64_t> bytes;
  for (const Memory &memory : kernel.memories)
    bytes.push_back(memory.bytes);
  codegen::describeBounds(builder.module, kernel.symbol,
                          "kernel " + kernel.name + " of layer '" +
                              layerName(layer) + "'",
                          bytes, kernel.info.scratchBytes);
}

unsigned KernelTable::execute(Operation *layer, const Routine &routine) {
  auto [index, isNew] = find(executeText(layer, routine), routine.name(),
                             layer->getNumResults() + layer->getNumOperands(),
                             layer->getNumResults());
  if (!isNew)
    return index;
  kernels_[index].info =
      CpuRoutine::of(routine).emit(builder, layer, kernels_[index].symbol);
  SmallVector<Memory> memories;
  for (Type type : layer->getResultTypes())
    memories.push_back(memoryOf(type));
  for (Type type : layer->getOperandTypes())
    memories.push_back(memoryOf(type));
  if (auto form = routine.weightForm(layer))
    memories[layer->getNumResults() + form->operand].bytes = form->bytes;
  kernels_[index].facts = kernelFacts(layer, routine, builder.target.name);
  describe(index, layer->getLoc(), std::move(memories));
  return index;
}

unsigned KernelTable::transform(Operation *layer, const Routine &routine) {
  auto [index, isNew] =
      find(transformText(layer, routine),
           transformName(routine.weightForm(layer)->name), 2, 1);
  if (!isNew)
    return index;
  kernels_[index].info = CpuRoutine::of(routine).emitTransform(
      builder, layer, kernels_[index].symbol);
  kernels_[index].facts = transformFacts(layer, routine, builder.target.name);
  WeightForm form = *routine.weightForm(layer);
  Memory packed = memoryOf(layer->getOperand(form.operand).getType());
  describe(index, layer->getLoc(), {{form.bytes, packed.element}, packed});
  return index;
}

unsigned KernelTable::widen(RankedTensorType packed,
                            plan::Narrowing narrowing) {
  StringRef name = plan::text(narrowing);
  auto [index, isNew] =
      find(widenText(packed, narrowing), transformName(name), 2, 1);
  if (!isNew)
    return index;
  kernels_[index].info =
      codegen::emitWiden(builder, packed, narrowing, kernels_[index].symbol);
  kernels_[index].facts =
      codegen::widenFacts(packed, narrowing, builder.target.name);
  Builder &b = builder.b;
  Type element = narrowElementType(b.getContext(), narrowing);
  describe(index, b.getUnknownLoc(),
           {memoryOf(packed), {narrowBytes(packed, narrowing), element}});
  return index;
}

unsigned KernelTable::copy() {
  auto [index, isNew] = find("copy", "copy", 2, 1);
  if (!isNew)
    return index;
  codegen::KernelBuilder &k = builder;
  constexpr int64_t elements = copyTile / sizeof(float);
  Type f32 = k.b.getF32Type();
  k.kernel(
      kernels_[index].symbol, {f32, f32},
      [&](ValueRange operands, Value, Value begin, Value end) {
        k.loop(codegen::Index(begin), codegen::Index(end), 1, [&](Value tile) {
          codegen::Index start = k.mul(codegen::Index(tile), elements);
          k.loop(0, elements, k.VL, [&](Value i) {
            codegen::Index at = k.add(start, codegen::Index(i));
            k.store(k.load(operands[1], at, k.VL), operands[0], at);
          });
        });
      });
  return index;
}

unsigned KernelTable::pack(RankedTensorType type) {
  PackLayer pack(type);
  const CpuRoutine &routine = packRoutine(pack);
  auto [index, isNew] = find(kernelText(pack.layer(), routine), "pack", 2, 1);
  if (!isNew)
    return index;
  kernels_[index].info =
      routine.emit(builder, pack.layer(), kernels_[index].symbol);
  kernels_[index].facts = packFacts(type, hostRoutines(), builder.target.name);
  describe(index, pack.layer()->getLoc(),
           {memoryOf(type), memoryOf(pack.layer()->getOperand(0).getType())});
  return index;
}
