//===- GpuCode.cpp - Modules and pipelines of a bundle --------------------===//

#include "compiler/emit/GpuCode.h"

#include "artifact/SpirvVerifier.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVDialect.h"
#include "mlir/Dialect/SPIRV/IR/SPIRVOps.h"
#include "mlir/Target/SPIRV/Deserialization.h"

#include <cstdlib>
#include <memory>

using namespace mlir;
using namespace nnv12;
using codegen::SpirvModule;

FailureOr<codegen::GpuSteps> GpuCode::add(Operation *layer,
                                          const codegen::GpuRoutine &routine,
                                          codegen::HalfTensors half,
                                          std::optional<Cut> cut) {
  FailureOr<codegen::GpuSteps> steps = kernels.add(layer, routine, half, cut);
  if (failed(steps))
    return failure();
  while (pipelineOfKernel.size() < kernels.kernels().size())
    if (failed(addKernel(layer, pipelineOfKernel.size())))
      return failure();
  return steps;
}

/// Verifies a module as the maker of a pipeline does.
static bool verify(const SpirvModule &module, artifact::Fault &fault) {
  artifact::SpirvInterface interface = {
      module.words.data(),
      module.words.size(),
      module.bindings,
      module.written,
      module.pushWords,
      {module.localSize[0], module.localSize[1], module.localSize[2]},
      module.sharedBytes,
      module.features.bits,
      nullptr,
      0};
  size_t size = artifact::spirvScratchSize(interface);
  std::unique_ptr<void, void (*)(void *)> scratch(std::malloc(size), std::free);
  return artifact::verifySpirv(interface, scratch.get(), size, fault);
}

/// The contents of a kernel's tables are no part of its pipeline.
static bool arePipelinesEqual(const SpirvModule &a, const SpirvModule &b) {
  return a.words == b.words && a.bindings == b.bindings &&
         a.written == b.written && a.pushWords == b.pushWords &&
         a.localSize == b.localSize && a.sharedBytes == b.sharedBytes &&
         a.features == b.features;
}

LogicalResult GpuCode::addKernel(Operation *layer, unsigned kernel) {
  const SpirvModule &module = kernels[kernel].module;
  auto pipeline = llvm::find_if(pipelines, [&](const Pipeline &p) {
    return arePipelinesEqual(kernels[p.kernel].module, module);
  });
  if (pipeline != pipelines.end()) {
    pipelineOfKernel.push_back(pipeline - pipelines.begin());
    return success();
  }
  artifact::Fault fault;
  if (!verify(module, fault))
    return layer->emitError()
           << "kernel '" << kernels[kernel].key << "': " << fault.text;
  auto same = llvm::find_if(modules, [&](unsigned other) {
    return kernels[other].module.words == module.words;
  });
  auto number = static_cast<uint32_t>(same - modules.begin());
  if (same == modules.end())
    modules.push_back(kernel);
  pipelineOfKernel.push_back(pipelines.size());
  pipelines.push_back({kernel, number});
  return success();
}

artifact::Dispatch GpuCode::dispatchOf(const codegen::GpuStep &step) const {
  artifact::Dispatch result{/*operation=*/0, pipelineOf(step.kernel)};
  result.groups = {step.groups[0], step.groups[1], step.groups[2]};
  result.push = step.push;
  for (const TileMap &map : step.maps)
    result.maps.push_back(map.inBundle());
  return result;
}

uint64_t GpuCode::bytes() const {
  uint64_t sum = 0;
  for (unsigned kernel : modules)
    sum += kernels[kernel].module.words.size() * sizeof(uint32_t);
  return sum;
}

artifact::Gpu GpuCode::describe(uint32_t segment) const {
  artifact::Gpu result;
  result.code = segment;
  for (auto [i, kernel] : llvm::enumerate(modules))
    result.modules.push_back({kernels[kernel].key, uint32_t(i)});
  for (const Pipeline &pipeline : pipelines) {
    const SpirvModule &module = kernels[pipeline.kernel].module;
    artifact::GpuPipeline described{pipeline.module, uint8_t(module.bindings),
                                    module.written};
    described.pushWords = uint8_t(module.pushWords);
    described.local = {module.localSize[0], module.localSize[1],
                       module.localSize[2]};
    described.shared = module.sharedBytes;
    described.features = module.features.bits;
    result.pipelines.push_back(std::move(described));
  }
  return result;
}

artifact::Segment GpuCode::segment() const {
  artifact::Segment result{artifact::SegmentKind::Spirv, {}};
  for (unsigned kernel : modules) {
    const std::vector<uint32_t> &words = kernels[kernel].module.words;
    result.pieces.push_back({words.data(), words.size() * sizeof(uint32_t)});
  }
  return result;
}

LogicalResult GpuCode::print(MLIRContext &context,
                             llvm::raw_ostream &os) const {
  context.loadDialect<spirv::SPIRVDialect>();
  for (const Pipeline &pipeline : pipelines) {
    const codegen::GpuKernelTable::Kernel &kernel = kernels[pipeline.kernel];
    const SpirvModule &module = kernel.module;
    os << "// " << kernel.key << ": " << module.words.size() << " words, "
       << module.bindings << " bindings, " << module.pushWords
       << " words of push constants, local " << module.localSize[0] << "x"
       << module.localSize[1] << "x" << module.localSize[2];
    if (!module.features.empty())
      os << ", needs " << module.features.text();
    os << "\n";
    OwningOpRef<spirv::ModuleOp> text =
        spirv::deserialize(module.words, &context);
    if (!text)
      return failure();
    text->print(os);
    os << "\n";
  }
  return success();
}
