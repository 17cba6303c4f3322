//===- PlanMemory.cpp - Which plan was fastest on this machine ------------===//

#include "tools/nnv12c/PlanMemory.h"

#include "artifact/Digest.h"
#include "artifact/Hexadecimal.h"
#include "artifact/Limits.h"
#include "artifact/MappedFile.h"
#include "compiler/device/CacheFolder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace nnv12;

PlanMemory::PlanMemory(const std::string &folder, const std::string &bundle,
                       std::optional<unsigned> lanes) {
  artifact::MappedFile file;
  artifact::Fault fault;
  if (folder.empty() || !file.open(bundle.c_str(), fault))
    return;
  artifact::Digest digest = artifact::digestOf(file.data(), file.size());
  path = folder + "/" + artifact::hexadecimal(digest.bytes, 16);
  if (lanes)
    path += "-" + std::to_string(*lanes);
  path += ".plan";
}

namespace nnv12 {
/// For llvm::json::parse().
static bool fromJSON(const llvm::json::Value &json, FastestPlan &plan,
                     llvm::json::Path path) {
  llvm::json::ObjectMapper fields(json, path);
  return fields && fields.map("costs", plan.costs) &&
         fields.map("median_ms", plan.medianMs) &&
         fields.map("p90_ms", plan.p90Ms) && fields.map("lanes", plan.lanes) &&
         plan.lanes.value_or(0) < artifact::maxLanes;
}
} // namespace nnv12

std::optional<FastestPlan> PlanMemory::read(std::string &error) const {
  if (path.empty() || !device::isCacheFile(path, error))
    return std::nullopt;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    error = path + ": " + buffer.getError().message();
    return std::nullopt;
  }
  auto plan = llvm::expectedToOptional(
      llvm::json::parse<FastestPlan>((*buffer)->getBuffer()));
  if (!plan)
    error = path + ": is damaged";
  return plan;
}

std::string PlanMemory::write(const FastestPlan &plan) const {
  if (path.empty())
    return "";
  llvm::json::Object object{{"costs", plan.costs},
                            {"median_ms", plan.medianMs},
                            {"p90_ms", plan.p90Ms}};
  if (plan.lanes)
    object["lanes"] = *plan.lanes;
  return device::writeCacheFile(
      path, llvm::formatv("{0:2}\n", llvm::json::Value(std::move(object))));
}
