//===- PlanText.cpp - A bundle's plan as text and as JSON -----------------===//
#include "tools/nnv12-inspect/PlanText.h"

#include <cinttypes>
#include <cstdio>

namespace nnv12::tools {

namespace {
/// The preparations of one stage.
struct StageSum {
  uint32_t count = 0;
  uint64_t in = 0, prepared = 0;
};
} // namespace

static StageSum sumOf(const Plan &plan, bundle::OperationKind kind) {
  StageSum sum;
  for (const PlannedOperation &entry : plan.operations) {
    if (entry.operation->kind() != kind)
      continue;
    ++sum.count;
    sum.in += entry.bytesIn();
    sum.prepared += entry.bytesPrepared();
  }
  return sum;
}

static uint32_t countOf(const flatbuffers::Vector<uint32_t> *list) {
  return list ? list->size() : 0;
}

static uint32_t numSwitches(const bundle::Program *program) {
  return program->switches() ? program->switches()->size() : 0;
}

static std::string afterText(const bundle::Operation *operation) {
  std::string text;
  for (uint32_t i = 0; i < countOf(operation->after()); ++i)
    text +=
        (i ? ", p" : " after p") + std::to_string(operation->after()->Get(i));
  return text;
}

static void printTotals(const bundle::Program *program, const Plan &plan) {
  auto predicted = [](uint64_t nanoseconds) {
    if (!nanoseconds)
      return std::string("not predicted");
    char text[40];
    snprintf(text, sizeof text, "%.3f ms", double(nanoseconds) * 1e-6);
    return std::string(text);
  };
  printf("  plan: cold %s, warm %s; prepared %" PRIu64 " bytes, %zu lanes, "
         "%u switches\n",
         predicted(program->predicted_cold()).c_str(),
         predicted(program->predicted_warm()).c_str(), program->prepared_size(),
         plan.lanes.size(), numSwitches(program));
  for (auto kind : {bundle::OperationKind_Read, bundle::OperationKind_Decode,
                    bundle::OperationKind_Transform}) {
    StageSum sum = sumOf(plan, kind);
    if (!sum.count)
      continue;
    printf("    %-9s %5u, %12" PRIu64 " bytes", stageName(kind), sum.count,
           sum.in);
    if (sum.prepared)
      printf(" -> %" PRIu64, sum.prepared);
    printf("\n");
  }
}

static void printEntry(const PlannedOperation &entry) {
  const bundle::Operation *operation = entry.operation;
  if (entry.isPredicted())
    printf("      %9.3f %9.3f", double(operation->predicted_start()) * 1e-6,
           double(operation->predicted_end()) * 1e-6);
  else
    printf("      %9s %9s", "-", "-");
  printf("  %s%-5u %-9s %s", entry.isPreparation ? "p" : "e", entry.index,
         stageName(operation->kind()), operation->layer()->c_str());
  if (entry.kernel)
    printf(", %s", entry.kernel->name()->c_str());
  if (entry.isPreparation)
    printf(", %" PRIu64 " bytes", entry.bytesIn());
  if (uint64_t prepared = entry.bytesPrepared())
    printf(" -> %" PRIu64, prepared);
  if (operation->kind() == bundle::OperationKind_Decode) {
    printf(", %s", codecName(operation->codec()));
    if (operation->planes() > 1)
      printf(" of %u planes", operation->planes());
  }
  printf("%s%s%s\n", afterText(operation).c_str(),
         entry.background ? " (background)" : "",
         entry.switchedTo != UINT32_MAX ? " (switched)" : "");
}

static void printSwitches(const bundle::Program *program) {
  printf("    switches\n");
  for (const bundle::Switch *change : *program->switches()) {
    const bundle::Operation *replacement = change->replacement();
    printf("      e%-5u %s: to %s%s\n", change->operation(),
           replacement->layer()->c_str(),
           program->kernels()->Get(replacement->kernel())->name()->c_str(),
           afterText(replacement).c_str());
  }
}

void printPlan(const bundle::Program *program, bool summary) {
  if (!program->lanes() || program->lanes()->size() == 0)
    return;
  Plan plan(program);
  printTotals(program, plan);
  for (uint32_t n = 0; n < plan.lanes.size(); ++n) {
    const bundle::Lane *lane = program->lanes()->Get(n);
    printf("    lane %u: %s, %s, %u in its queue, %u in the background\n", n,
           laneName(lane->kind()), coreName(lane->core()),
           lane->queue()->size(), countOf(lane->background()));
    if (summary)
      continue;
    if (n == 0)
      printf("      %9s %9s  (predicted, ms)\n", "start", "end");
    for (const PlannedOperation &entry : plan.operations)
      if (entry.lane == n)
        printEntry(entry);
  }
  if (!summary && numSwitches(program))
    printSwitches(program);
}

void addSchedule(Json &json, const bundle::Operation *operation) {
  json.member("stage", stageName(operation->kind()));
  json.key("after").beginArray();
  for (uint32_t i = 0; i < countOf(operation->after()); ++i)
    json.value(operation->after()->Get(i));
  json.endArray();
  json.member("predicted_start", operation->predicted_start());
  json.member("predicted_end", operation->predicted_end());
}

static void addLanes(Json &json, const bundle::Program *program) {
  json.key("lanes").beginArray();
  for (const bundle::Lane *lane : *program->lanes()) {
    json.beginObject().member("kind", laneName(lane->kind()));
    json.member("core", coreName(lane->core())).key("queue").beginArray();
    for (const bundle::LaneEntry *entry : *lane->queue()) {
      bool isPreparation = entry->kind() == bundle::LaneKind_Prepare;
      json.beginObject();
      json.member(isPreparation ? "preparation" : "operation", entry->index());
      json.endObject();
    }
    json.endArray().key("background").beginArray();
    for (uint32_t i = 0; i < countOf(lane->background()); ++i)
      json.value(lane->background()->Get(i));
    json.endArray().endObject();
  }
  json.endArray();
}

void addPlan(Json &json, const bundle::Program *program, bool summary) {
  Plan plan(program);
  json.member("prepared_size", program->prepared_size());
  json.member("predicted_cold", program->predicted_cold());
  json.member("predicted_warm", program->predicted_warm());
  json.member("num_switches", numSwitches(program));
  json.member("num_lanes", program->lanes() ? program->lanes()->size() : 0);
  json.key("stages").beginObject();
  for (bundle::OperationKind kind : bundle::EnumValuesOperationKind()) {
    StageSum sum = sumOf(plan, kind);
    json.key(stageName(kind)).beginObject().member("count", sum.count);
    json.member("bytes", sum.in).member("prepared_bytes", sum.prepared);
    json.endObject();
  }
  json.endObject();
  if (summary || !program->lanes())
    return;
  json.key("preparations").beginArray();
  if (program->preparations())
    for (uint32_t i = 0; i < program->preparations()->size(); ++i)
      for (const PlannedOperation &entry : plan.operations) {
        if (!entry.isPreparation || entry.index != i)
          continue;
        json.beginObject().member("layer", entry.operation->layer()->str());
        if (entry.kernel)
          json.member("kernel", entry.kernel->name()->str());
        json.member("lane", entry.lane).member("background", entry.background);
        json.member("bytes", entry.bytesIn());
        json.member("prepared_bytes", entry.bytesPrepared());
        json.member("codec", codecName(entry.operation->codec()));
        json.member("planes", uint32_t(entry.operation->planes()));
        addSchedule(json, entry.operation);
        json.endObject();
      }
  json.endArray();
  addLanes(json, program);
  json.key("switches").beginArray();
  for (uint32_t i = 0; i < numSwitches(program); ++i) {
    const bundle::Switch *change = program->switches()->Get(i);
    json.beginObject().member("operation", change->operation());
    json.member("kernel", program->kernels()
                              ->Get(change->replacement()->kernel())
                              ->name()
                              ->str());
    addSchedule(json, change->replacement());
    json.endObject();
  }
  json.endArray();
}

} // namespace nnv12::tools
