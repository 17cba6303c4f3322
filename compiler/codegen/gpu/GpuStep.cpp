//===- GpuStep.cpp - The steps of a layer on a GPU ------------------------===//

#include "compiler/codegen/gpu/GpuStep.h"

#include "llvm/Support/MathExtras.h"

using namespace nnv12;
using namespace nnv12::codegen;

GpuDispatch GpuDispatch::over(TileMap memory,
                              std::array<int64_t, 3> positions) {
  GpuDispatch result;
  for (unsigned axis : {0, 1, 2}) {
    int64_t taken = positions[2 - axis],
            extent = memory.parts[0].box.extent(axis);
    result.groups[2 - axis] = uint32_t(llvm::divideCeil(extent, taken));
    memory.shareOut({axis}, taken);
  }
  result.maps.push_back(std::move(memory));
  return result;
}
