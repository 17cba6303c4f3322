//===- KernelTable.cpp - The kernels that a program needs -----------------===//

#include "compiler/emit/KernelTable.h"

#include "compiler/codegen/cpu/KernelBuilder.h"
#include "compiler/codegen/cpu/KernelKey.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nnv12;

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

unsigned KernelTable::execute(Operation *layer,
                              const codegen::Routine &routine) {
  auto [index, isNew] =
      find(codegen::kernelKey(layer, routine), routine.name(),
           layer->getNumResults() + layer->getNumOperands(),
           layer->getNumResults());
  if (isNew)
    kernels_[index].info = routine.emit(builder, layer, kernels_[index].symbol);
  return index;
}

unsigned KernelTable::transform(Operation *layer,
                                const codegen::Routine &routine) {
  auto [index, isNew] =
      find("transform:" + codegen::kernelKey(layer, routine),
           ("transform." + routine.weightForm(layer)->name), 2, 1);
  if (isNew)
    kernels_[index].info =
        routine.emitTransform(builder, layer, kernels_[index].symbol);
  return index;
}

unsigned KernelTable::copy() {
  auto [index, isNew] = find("copy", "copy", 2, 1);
  if (!isNew)
    return index;
  codegen::KernelBuilder &k = builder;
  constexpr int64_t elements = copyTile / sizeof(float);
  Type f32 = k.b.getF32Type();
  k.kernel(kernels_[index].symbol, {f32, f32},
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
  codegen::PackLayer pack(type);
  const codegen::Routine &routine = pack.routine();
  auto [index, isNew] =
      find(codegen::kernelKey(pack.layer(), routine), "pack", 2, 1);
  if (isNew)
    kernels_[index].info =
        routine.emit(builder, pack.layer(), kernels_[index].symbol);
  return index;
}
