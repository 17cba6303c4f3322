//===- TuningBundle.cpp - A bundle of kernels to be measured --------------===//

#include "compiler/emit/TuningBundle.h"

#include "compiler/codegen/cpu/Backend.h"
#include "compiler/codegen/cpu/KernelBuilder.h"

using namespace mlir;
using namespace nnv12;

/// Memory of a model is a few times the results of a layer.
static constexpr unsigned resultTurns = 4;

TuningMemory::Place TuningMemory::take(Region region, uint64_t &offset,
                                       uint64_t size) {
  Place place{region, offset, size};
  offset = llvm::alignTo(offset + size, alignment);
  sizes[region] = std::max(sizes[region], offset);
  return place;
}

TuningMemory::Place TuningMemory::read(Type element, bool isConstant,
                                       uint64_t size) {
  if (!isa<FloatType>(element))
    return take(Integers, integers, size);
  if (!isConstant)
    return take(Fresh, activations, size);
  if (weights + size > sizes[Weights]) {
    weights = 0;
    sizes[Weights] = std::max(sizes[Weights], llvm::alignTo(size, granule));
  }
  return take(Weights, weights, size);
}

std::vector<TuningMemory::Place>
TuningMemory::results(ArrayRef<int64_t> bytes) {
  uint64_t offset = 0;
  for (int64_t size : bytes)
    offset += llvm::alignTo(size, alignment);
  offset *= turn++ % resultTurns;
  std::vector<Place> places;
  for (int64_t size : bytes)
    places.push_back(take(Sink, offset, size));
  return places;
}

artifact::Operation nnv12::copyOperation(KernelTable &table, std::string layer,
                                         uint32_t output, uint32_t input,
                                         uint64_t bytes) {
  uint64_t size = llvm::alignTo(bytes, KernelTable::copyTile);
  artifact::Operation operation;
  operation.kernel = table.copy();
  operation.tiles = size / KernelTable::copyTile;
  operation.layer = std::move(layer);
  operation.operands = {{artifact::Space::Output, output, 0, size},
                        {artifact::Space::Input, input, 0, size}};
  return operation;
}

static std::string tuningName(func::FuncOp main) {
  auto name =
      main->getParentOfType<ModuleOp>()->getAttrOfType<StringAttr>("nn.model");
  return name ? "tuning of " + name.str() : "tuning";
}

TuningWriter::TuningWriter(func::FuncOp main, uint32_t programs)
    : builder(tuningName(main), programs), context(*main.getContext()) {
  builder.bundle.kind = artifact::BundleKind::Tuning;
}

LogicalResult TuningWriter::add(
    const codegen::Target &target, const std::string &revision,
    llvm::function_ref<void(KernelTable &, artifact::Program &)> fill) {
  codegen::KernelBuilder kernels(context, target);
  OwningOpRef<ModuleOp> owned(kernels.module);
  KernelTable table(kernels);
  artifact::Program program;
  program.revision = revision;
  fill(table, program);
  auto code = codegen::compileModule(*owned, target);
  if (failed(code))
    return failure();
  builder.addProgram(target, std::move(program), table, std::move(*code));
  return success();
}

artifact::Tensor nnv12::tuningTensor(const char *name,
                                     artifact::ElementType type,
                                     uint64_t bytes) {
  return {name, type, {int64_t(llvm::divideCeil(bytes, elementSize(type)))}};
}
