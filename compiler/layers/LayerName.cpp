//===- LayerName.cpp - A layer's name for people --------------------------===//

#include "compiler/layers/LayerName.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace nnv12;

std::string nnv12::layerName(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().str();
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    std::string joined;
    for (Location part : fused.getLocations()) {
      std::string name = layerName(part);
      if (!name.empty() && joined.size() < 200)
        joined += (joined.empty() ? "" : "+") + name;
    }
    return joined;
  }
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return layerName(call.getCallee());
  return "";
}

std::string nnv12::firstName(Location location) {
  std::string name;
  location->walk([&](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (!named)
      return WalkResult::advance();
    name = named.getName().str();
    return WalkResult::interrupt();
  });
  return name;
}
