//===- GpuKernelTable.cpp - The kernels of GPUs that layers need ----------===//

#include "compiler/codegen/gpu/GpuKernelTable.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <cassert>

using namespace mlir;
using namespace nnv12::codegen;

FailureOr<GpuSteps> GpuKernelTable::add(Operation *layer,
                                        const GpuRoutine &routine,
                                        HalfTensors half,
                                        std::optional<Cut> cut) {
  if (std::string reason = routine.refusal(layer, target); !reason.empty())
    return layer->emitError() << routine.name() << ": " << reason;
  if (!half.empty() && !target.features.has(GpuFeature::Storage16))
    return layer->emitError()
           << routine.name() << ": tensors in f16 need storage16, which "
           << target.name << " lacks";
  SmallVector<HalfKernel> made;
  GpuSteps result =
      stepsInHalf(cut ? routine.front(layer, *cut) : routine.steps(layer),
                  layer, routine, half, made);
  SmallVector<unsigned> numbers;
  for (auto [i, key] : llvm::enumerate(result.kernels)) {
    auto found = known.find(key);
    bool isNew = found == known.end();
    if (isNew || comparesTwins) {
      FailureOr<SpirvModule> module =
          compileKernel(layer, routine, made[i], target);
      if (failed(module))
        return failure();
      if (isNew) {
        found = known.try_emplace(key, kernels_.size()).first;
        kernels_.push_back({key, routine.name().str(), std::move(*module)});
      } else if (*module != kernels_[found->second].module) {
        return layer->emitError()
               << "kernel '" << key
               << "': found other code, expected that of an earlier layer";
      }
    }
    numbers.push_back(found->second);
  }
  result.kernels.clear();
  for (GpuStep &step : result.steps) {
    step.kernel = numbers[step.kernel];
    assert((step.maps.empty() ||
            int(step.maps.size()) ==
                llvm::popcount(kernels_[step.kernel].module.written)) &&
           "a map for each written operand");
    assert(llvm::all_of(step.maps,
                        [&](const TileMap &map) {
                          return map.tiles() ==
                                 llvm::product_of(step.groups, int64_t(1));
                        }) &&
           "groups are tiles");
  }
  return result;
}
