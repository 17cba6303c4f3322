//===- KernelNeeds.cpp - A kernel's needs of a GPU ------------------------===//

#include "compiler/codegen/gpu/KernelNeeds.h"

#include "compiler/codegen/common/ElementTypes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace nnv12::codegen;

KernelNeeds::KernelNeeds(const TypesUsed &types) {
  for (Type type : types.moved)
    addValue(type, /*isMoved=*/true);
  for (Type type : types.computed)
    addValue(type, /*isMoved=*/false);
}

KernelNeeds::KernelNeeds(const ElementProgram &program) {
  ElementTypes types(program);
  *this = KernelNeeds(types);
  for (Type type : types.memory)
    addMemory(type);
  bindings = 1 + program.leaves.size() + types.tables;
}

void KernelNeeds::addMemory(Type type) {
  type = getElementTypeOrSelf(type);
  unsigned bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 32;
  if (bits == 8)
    features.add(GpuFeature::Storage8);
  else if (bits == 16)
    features.add(GpuFeature::Storage16);
}

void KernelNeeds::addValue(Type type, bool isMoved) {
  auto refuse = [&] {
    if (impossible.empty())
      llvm::raw_string_ostream(impossible) << type;
  };
  if (auto vector = dyn_cast<VectorType>(type)) {
    if (vector.getRank() != 1 || vector.getNumElements() > 4)
      return refuse();
    type = vector.getElementType();
  }
  if (type.isIndex() || type.isF32() || type.isInteger(1) || type.isInteger(32))
    return;
  if (type.isInteger(64))
    return features.add(GpuFeature::Int64);
  if (type.isF64())
    return features.add(GpuFeature::Float64);
  if (type.isInteger(8) || type.isInteger(16)) {
    if (!isMoved)
      features.add(type.isInteger(8) ? GpuFeature::Int8 : GpuFeature::Int16);
    return;
  }
  // Half precision is for memory alone. Conversions to it and back are none,
  // but the type is that of such memory.
  if (!type.isF16() || !isMoved)
    return refuse();
  features.add(GpuFeature::Storage16);
}

std::string KernelNeeds::refusal(const GpuTarget &target) const {
  if (!impossible.empty())
    return "it computes in " + impossible + ", as no GPU does";
  if (bindings > GpuTarget::maxBindings)
    return "it has more operands and tables than a kernel binds (" +
           std::to_string(GpuTarget::maxBindings) + ")";
  if (GpuFeatures missing = features.missingFrom(target.features);
      !missing.empty())
    return "it needs " + missing.text() + ", which " + target.name + " lacks";
  return "";
}
