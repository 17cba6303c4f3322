//===- FlatPlan.cpp - A bundle's plan, flattened for showing --------------===//
#include "tools/page/FlatPlan.h"

#include "artifact/ProgramView.h"
#include "tools/common/TextFormat.h"

#include <cctype>
#include <cstdio>

namespace nnv12::tools {

std::string lowered(std::string name) {
  for (char &c : name)
    c = char(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

std::string stageName(bundle::OperationKind kind) {
  return lowered(bundle::EnumNameOperationKind(kind));
}

std::string codecName(bundle::Codec codec) {
  return lowered(bundle::EnumNameCodec(codec));
}

std::string coreName(bundle::CoreKind core) {
  return lowered(bundle::EnumNameCoreKind(core)) + " core";
}

std::string laneName(bundle::LaneKind kind) {
  return lowered(bundle::EnumNameLaneKind(kind));
}

std::string memoryName(bundle::MemoryKind kind) {
  return lowered(bundle::EnumNameMemoryKind(kind));
}

std::string operationName(const bundle::Program *program, uint32_t number) {
  uint32_t executes = artifact::numExecutes(program);
  uint32_t all = program->operations()->size();
  if (number >= all)
    return "g" + std::to_string(number - all);
  return number < executes ? "e" + std::to_string(number)
                           : "p" + std::to_string(number - executes);
}

std::vector<std::string>
operationNames(const bundle::Program *program,
               const flatbuffers::Vector<uint32_t> *numbers) {
  std::vector<std::string> names;
  for (uint32_t number : artifact::elementsOf(numbers))
    names.push_back(operationName(program, number));
  return names;
}

uint64_t PlannedOperation::bytesIn() const {
  uint64_t weights = 0, prepared = 0;
  for (const bundle::Operand *operand : *operation->operands())
    if (operand->space() == bundle::Space_Weights)
      weights += operand->size();
    else if (artifact::isIn(program, operand, bundle::MemoryKind_Prepared))
      prepared += operand->size();
  return kernel ? weights + prepared - bytesPrepared() : weights;
}

uint64_t PlannedOperation::bytesPrepared() const {
  if (operation->kind() == bundle::OperationKind_Decode)
    return operation->operands()->Get(0)->size();
  if (operation->kind() != bundle::OperationKind_Transform)
    return 0;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < kernel->outputs(); ++i)
    sum += operation->operands()->Get(i)->size();
  return sum;
}

static PlannedOperation describe(const bundle::Target *target,
                                 const bundle::Program *program,
                                 uint32_t executes, uint32_t number) {
  const bundle::Operation *operation = program->operations()->Get(number);
  bool isPreparation = number >= executes;
  return {program, operation,
          artifact::hasKernel(operation) ? artifact::kernelOf(target, operation)
                                         : nullptr,
          isPreparation, isPreparation ? number - executes : number};
}

Plan::Plan(const bundle::Target *target, const bundle::Program *program)
    : target(target), places(program->operations()->size()) {
  uint32_t executes = artifact::numExecutes(program);
  auto add = [&](uint32_t number, uint32_t lane, bool background) {
    PlannedOperation entry = describe(target, program, executes, number);
    entry.lane = lane;
    entry.background = background;
    isPredicted |= entry.isPredicted();
    places[number] = uint32_t(operations.size());
    operations.push_back(entry);
  };
  if (artifact::numLanes(program) == 0) {
    lanes.push_back({bundle::LaneKind_Execute, bundle::CoreKind_Any});
    for (uint32_t i = 0; i < executes; ++i)
      add(i, 0, false);
  }
  for (uint32_t n = 0; n < artifact::numLanes(program); ++n) {
    const bundle::Lane *lane = program->lanes()->Get(n);
    lanes.push_back({lane->kind(), lane->core()});
    for (uint32_t number : *lane->queue())
      add(number, n, false);
    for (uint32_t number : artifact::elementsOf(lane->background()))
      add(number, n, true);
  }
  for (uint32_t i = 0; i < artifact::numSwitches(program); ++i) {
    uint32_t replaced = program->switches()->Get(i)->operation();
    operations[places[replaced]].switchedTo = i;
  }
}

std::string bytesText(uint64_t bytes) {
  static constexpr const char *units[] = {"B", "KB", "MB", "GB", "TB"};
  double value = double(bytes);
  unsigned unit = 0;
  while (value >= 999.5 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  return format(unit == 0 ? "%.0f %s" : "%.3g %s", value, units[unit]);
}

} // namespace nnv12::tools
