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

static std::optional<FastestPlan> parse(llvm::StringRef text) {
  auto json = llvm::json::parse(text);
  if (!json) {
    llvm::consumeError(json.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return std::nullopt;
  auto costs = object->getString("costs");
  auto median = object->getNumber("median_ms"),
       p90 = object->getNumber("p90_ms");
  if (!costs || !median || !p90)
    return std::nullopt;
  FastestPlan plan{costs->str(), std::nullopt, *median, *p90};
  if (const llvm::json::Value *lanes = object->get("lanes")) {
    auto number = lanes->getAsUINT64();
    if (!number || *number >= artifact::maxLanes)
      return std::nullopt;
    plan.lanes = *number;
  }
  return plan;
}

std::optional<FastestPlan> PlanMemory::read(std::string &error) const {
  if (path.empty() || !device::isCacheFile(path, error))
    return std::nullopt;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) {
    error = path + ": " + buffer.getError().message();
    return std::nullopt;
  }
  auto plan = parse((*buffer)->getBuffer());
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
