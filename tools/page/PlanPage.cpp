//===- PlanPage.cpp - A bundle's plan and profile as a web page -----------===//
//
// The page's skeleton, style and scripts are files of this folder, put in by
// CMake. Here the data is added: as JSON, in which nothing can end the script
// element that holds it.
//
//===----------------------------------------------------------------------===//
#include "tools/page/PlanPage.h"

#include "artifact/ProgramView.h"
#include "tools/common/Json.h"
#include "tools/page/GpuPlanJson.h"

#include <algorithm>
#include <cassert>

namespace nnv12::tools {

extern const char pageSkeleton[], pageStyle[], pageScript[];

/// The text with codes in the place of some characters.
static std::string
encoded(const std::string &text,
        const std::vector<std::pair<char, const char *>> &codes) {
  std::string result;
  for (char c : text) {
    auto code = std::find_if(codes.begin(), codes.end(),
                             [&](const auto &code) { return code.first == c; });
    result += code == codes.end() ? std::string(1, c) : code->second;
  }
  return result;
}

/// Text as HTML shows it.
static std::string escaped(const std::string &text) {
  return encoded(text, {{'&', "&amp;"},
                        {'<', "&lt;"},
                        {'>', "&gt;"},
                        {'"', "&quot;"},
                        {'\'', "&#39;"}});
}

/// JSON that HTML's parser passes over: these characters stand in strings only.
static std::string inertJson(const std::string &json) {
  return encoded(json, {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
}

static void addOperation(Json &json, const PlanPage &page,
                         const PlannedOperation &entry) {
  const bundle::Operation *operation = entry.operation;
  json.member("id", entry.name());
  json.member("layer", operation->layer()->str());
  json.member("stage", stageName(operation->kind()));
  if (entry.kernel)
    json.member("kernel", entry.kernel->name()->str());
  json.member("lane", entry.lane).member("bytes", entry.bytesIn());
  if (uint64_t prepared = entry.bytesPrepared())
    json.member("prepared", prepared);
  if (operation->kind() == bundle::OperationKind_Decode) {
    json.member("codec", codecName(operation->codec()));
    json.member("planes", uint32_t(operation->planes()));
  }
  if (entry.kernel)
    json.member("tiles", artifact::numTiles(operation));
  if (operation->after() && operation->after()->size())
    json.array("after", operationNames(page.program, operation->after()));
  if (entry.background)
    json.member("background", true);
  if (entry.switchedTo != UINT32_MAX) {
    const bundle::Operation *replacement =
        page.program->switches()->Get(entry.switchedTo)->replacement();
    json.member(
        "switched_to",
        artifact::kernelOf(page.plan.target, replacement)->name()->str());
  }
  if (entry.isPredicted()) {
    json.member("start", double(operation->predicted_start()) * 1e-3);
    json.member("duration", double(operation->predicted_end() -
                                   operation->predicted_start()) *
                                1e-3);
  }
}

static void addEvents(Json &json, const char *name,
                      const std::vector<TraceEvent> &events) {
  json.objects(name, events, [&](const TraceEvent &event) {
    json.member("layer", event.layer);
    json.member("stage", event.stage).member("lane", event.lane);
    json.member("start", event.start).member("duration", event.duration);
    if (event.stolen)
      json.member("stolen", true);
    if (event.planned != UINT32_MAX)
      json.member("planned", event.planned);
    if (!event.id.empty())
      json.member("id", event.id);
  });
}

/// Times are microseconds.
static std::string makeData(const PlanPage &page) {
  Json json;
  json.beginObject().member("file", page.bundlePath);
  json.member("file_size", page.bundleSize).member("model", page.model);
  json.member("target", page.plan.target->name()->str());
  json.member("prepared_size",
              artifact::memorySize(page.program, bundle::MemoryKind_Prepared));
  json.member("predicted_cold", double(page.program->predicted_cold()) * 1e-3);
  json.member("predicted_warm", double(page.program->predicted_warm()) * 1e-3);
  json.objects("lanes", page.plan.lanes, [&](const Plan::Lane &lane) {
    json.member("kind", laneName(lane.kind));
    json.member("core", coreName(lane.core));
  });
  json.objects("operations", page.plan.operations,
               [&](const auto &entry) { addOperation(json, page, entry); });
  addGpuPlan(json, page.overlays, page.program);
  if (!page.tracePath.empty()) {
    json.member("trace_file", page.tracePath);
    addEvents(json, "trace", page.trace);
  }
  if (!page.warmRun.empty())
    addEvents(json, "warm_run", page.warmRun);
  if (!page.precision.empty())
    json.member("precision", page.precision);
  if (!page.lines.empty())
    json.array("lines", page.lines);
  json.endObject();
  return json.text();
}

std::string makePage(const PlanPage &page) {
  struct {
    const char *mark;
    std::string text;
  } const parts[] = {
      {"@TITLE@", escaped(page.model.empty() ? page.bundlePath : page.model)},
      {"@STYLE@", pageStyle},
      {"@DATA@", inertJson(makeData(page))},
      {"@PROFILE@", page.profile.empty() ? "null\n" : inertJson(page.profile)},
      {"@SCRIPT@", pageScript}};
  // Looks for marks in the skeleton alone, never in inserted text.
  std::string skeleton = pageSkeleton, result;
  size_t begin = 0;
  for (const auto &part : parts) {
    size_t place = skeleton.find(part.mark, begin);
    assert(place != std::string::npos && "the skeleton has them in this order");
    result.append(skeleton, begin, place - begin).append(part.text);
    begin = place + std::string(part.mark).size();
  }
  return result.append(skeleton, begin, std::string::npos);
}

} // namespace nnv12::tools
