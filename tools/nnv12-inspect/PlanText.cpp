//===- PlanText.cpp - A bundle's plan as text and as JSON -----------------===//
#include "tools/nnv12-inspect/PlanText.h"

#include "artifact/ProgramView.h"
#include "tools/common/TextFormat.h"

#include <cinttypes>
#include <cstdio>

namespace nnv12::tools {

std::string spaceName(const bundle::Program *program,
                      const bundle::Operand *operand) {
  return operand->space() == bundle::Space_Memory
             ? memoryName(program->memories()->Get(operand->index())->kind())
             : lowered(bundle::EnumNameSpace(operand->space()));
}

std::string textOf(const flatbuffers::String *text) {
  return text ? text->str() : "";
}

std::string reasonOf(const artifact::Fault &why, const std::string &start) {
  std::string text = why.text;
  if (text.compare(0, start.size(), start) == 0)
    text.erase(0, start.size());
  return text.substr(0, text.find(" (the program is for newer readers)"));
}

std::string rangeText(uint64_t offset, uint64_t size) {
  return "[" + std::to_string(offset) + ", " + std::to_string(offset + size) +
         ")";
}

std::string rangeText(const bundle::Program *program,
                      const bundle::Operand *operand) {
  std::string text = spaceName(program, operand);
  if (operand->space() != bundle::Space_Memory)
    text += std::to_string(operand->index());
  return text + rangeText(operand->offset(), operand->size());
}

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

std::string afterText(const bundle::Program *program,
                      const flatbuffers::Vector<uint32_t> *after) {
  std::vector<std::string> names = operationNames(program, after);
  return names.empty() ? "" : " after " + join(names);
}

std::string predictionText(uint64_t nanoseconds) {
  return nanoseconds ? format("%.3f ms", double(nanoseconds) * 1e-6)
                     : "not predicted";
}

static void printTotals(const bundle::Program *program, const Plan &plan) {
  printf("  plan: cold %s, warm %s; prepared %" PRIu64 " bytes, %zu lanes, "
         "%u switches\n",
         predictionText(program->predicted_cold()).c_str(),
         predictionText(program->predicted_warm()).c_str(),
         artifact::memorySize(program, bundle::MemoryKind_Prepared),
         plan.lanes.size(), artifact::numSwitches(program));
  for (auto kind : {bundle::OperationKind_Read, bundle::OperationKind_Decode,
                    bundle::OperationKind_Transform}) {
    StageSum sum = sumOf(plan, kind);
    if (!sum.count)
      continue;
    printf("    %-9s %5u, %12" PRIu64 " bytes", stageName(kind).c_str(),
           sum.count, sum.in);
    if (sum.prepared)
      printf(" -> %" PRIu64, sum.prepared);
    printf("\n");
  }
}

void printTimes(bool isPredicted, uint64_t start, uint64_t end) {
  if (isPredicted)
    printf("      %9.3f %9.3f", double(start) * 1e-6, double(end) * 1e-6);
  else
    printf("      %9s %9s", "-", "-");
}

static void printEntry(const PlannedOperation &entry) {
  const bundle::Operation *operation = entry.operation;
  printTimes(entry.isPredicted(), operation->predicted_start(),
             operation->predicted_end());
  printf("  %-6s %-9s %s", entry.name().c_str(),
         stageName(operation->kind()).c_str(), operation->layer()->c_str());
  if (entry.kernel)
    printf(", %s", entry.kernel->name()->c_str());
  if (entry.isPreparation)
    printf(", %" PRIu64 " bytes", entry.bytesIn());
  if (uint64_t prepared = entry.bytesPrepared())
    printf(" -> %" PRIu64, prepared);
  if (operation->kind() == bundle::OperationKind_Decode) {
    printf(", %s", codecName(operation->codec()).c_str());
    if (operation->planes() > 1)
      printf(" of %u planes", operation->planes());
  }
  printf("%s%s%s\n", afterText(entry.program, operation->after()).c_str(),
         entry.background ? " (background)" : "",
         entry.switchedTo != UINT32_MAX ? " (switched)" : "");
}

static void printSwitches(const bundle::Target *target,
                          const bundle::Program *program) {
  printf("    switches\n");
  for (const bundle::Switch *change : *program->switches()) {
    const bundle::Operation *replacement = change->replacement();
    printf("      %-6s %s: to %s%s\n",
           operationName(program, change->operation()).c_str(),
           replacement->layer()->c_str(),
           artifact::kernelOf(target, replacement)->name()->c_str(),
           afterText(program, replacement->after()).c_str());
  }
}

void printPlan(const bundle::Target *target, const bundle::Program *program,
               bool summary) {
  if (artifact::numLanes(program) == 0)
    return;
  Plan plan(target, program);
  printTotals(program, plan);
  for (uint32_t n = 0; n < plan.lanes.size(); ++n) {
    const bundle::Lane *lane = program->lanes()->Get(n);
    printf("    lane %u: %s, %s, %u in its queue, %u in the background\n", n,
           laneName(lane->kind()).c_str(), coreName(lane->core()).c_str(),
           lane->queue()->size(),
           artifact::elementsOf(lane->background()).size());
    if (summary)
      continue;
    if (n == 0)
      printf("      %9s %9s  (predicted, ms)\n", "start", "end");
    for (const PlannedOperation &entry : plan.operations)
      if (entry.lane == n)
        printEntry(entry);
  }
  if (!summary && artifact::numSwitches(program))
    printSwitches(target, program);
}

void addNames(Json &json, const char *name, const bundle::Program *program,
              const flatbuffers::Vector<uint32_t> *numbers) {
  json.array(name, operationNames(program, numbers));
}

void addOperand(Json &json, const bundle::Program *program,
                const bundle::Operand *operand) {
  json.member("space", spaceName(program, operand));
  json.member("index", operand->index()).member("offset", operand->offset());
  json.member("size", operand->size());
}

void addSchedule(Json &json, const bundle::Program *program,
                 const bundle::Operation *operation) {
  if (artifact::hasKernel(operation)) {
    json.member("tile_begin", operation->tile_begin());
    json.member("tiles", artifact::numTiles(operation));
  }
  json.member("stage", stageName(operation->kind()));
  addNames(json, "after", program, operation->after());
  json.member("predicted_start", operation->predicted_start());
  json.member("predicted_end", operation->predicted_end());
}

static void addLanes(Json &json, const bundle::Program *program) {
  json.objects("lanes", *program->lanes(), [&](const bundle::Lane *lane) {
    json.member("kind", laneName(lane->kind()));
    json.member("core", coreName(lane->core()));
    addNames(json, "queue", program, lane->queue());
    addNames(json, "background", program, lane->background());
  });
}

static void addPreparation(Json &json, const PlannedOperation &entry) {
  const bundle::Operation *operation = entry.operation;
  json.beginObject().member("id", entry.name());
  json.member("layer", operation->layer()->str());
  if (entry.kernel)
    json.member("kernel", entry.kernel->name()->str());
  json.member("lane", entry.lane).member("background", entry.background);
  json.member("bytes", entry.bytesIn());
  json.member("prepared_bytes", entry.bytesPrepared());
  json.member("codec", codecName(operation->codec()));
  json.member("planes", uint32_t(operation->planes()));
  json.member("last_reader", operation->last_reader());
  addSchedule(json, entry.program, operation);
  json.endObject();
}

static void addSwitches(Json &json, const bundle::Target *target,
                        const bundle::Program *program) {
  const auto &switches = artifact::elementsOf(program->switches());
  json.objects("switches", switches, [&](const bundle::Switch *change) {
    const bundle::Operation *replacement = change->replacement();
    json.member("operation", operationName(program, change->operation()));
    json.member("kernel",
                artifact::kernelOf(target, replacement)->name()->str());
    addSchedule(json, program, replacement);
  });
}

void addPlan(Json &json, const bundle::Target *target,
             const bundle::Program *program, bool summary) {
  Plan plan(target, program);
  json.member("prepared_size",
              artifact::memorySize(program, bundle::MemoryKind_Prepared));
  json.member("predicted_cold", program->predicted_cold());
  json.member("predicted_warm", program->predicted_warm());
  json.member("num_switches", artifact::numSwitches(program));
  json.member("num_lanes", artifact::numLanes(program));
  json.key("stages").beginObject();
  for (bundle::OperationKind kind : bundle::EnumValuesOperationKind()) {
    StageSum sum = sumOf(plan, kind);
    json.key(stageName(kind).c_str()).beginObject().member("count", sum.count);
    json.member("bytes", sum.in).member("prepared_bytes", sum.prepared);
    json.endObject();
  }
  json.endObject();
  if (summary || !program->lanes())
    return;
  json.key("preparations").beginArray();
  for (uint32_t number = artifact::numExecutes(program);
       number < program->operations()->size(); ++number)
    addPreparation(json, plan.operations[plan.places[number]]);
  json.endArray();
  addLanes(json, program);
  addSwitches(json, target, program);
}

} // namespace nnv12::tools
