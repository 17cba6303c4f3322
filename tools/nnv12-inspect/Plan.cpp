//===- Plan.cpp - A bundle's plan, flattened for showing ------------------===//
#include "tools/nnv12-inspect/Plan.h"

#include <cstdio>
#include <iterator>

namespace nnv12::tools {

const char *stageName(bundle::OperationKind kind) {
  static constexpr const char *names[] = {"execute", "read", "decode",
                                          "transform"};
  static_assert(std::size(names) == bundle::OperationKind_MAX + 1);
  return names[kind];
}

const char *codecName(bundle::Codec codec) {
  static constexpr const char *names[] = {"stored", "zstd"};
  static_assert(std::size(names) == bundle::Codec_MAX + 1);
  return names[codec];
}

const char *coreName(bundle::CoreKind core) {
  static constexpr const char *names[] = {"any core", "big core",
                                          "little core"};
  static_assert(std::size(names) == bundle::CoreKind_MAX + 1);
  return names[core];
}

const char *laneName(bundle::LaneKind kind) {
  static constexpr const char *names[] = {"execute", "prepare"};
  static_assert(std::size(names) == bundle::LaneKind_MAX + 1);
  return names[kind];
}

static uint64_t sumOf(const bundle::Operation *operation, bundle::Space space) {
  uint64_t sum = 0;
  for (const bundle::Operand *operand : *operation->operands())
    if (operand->space() == space)
      sum += operand->size();
  return sum;
}

uint64_t PlannedOperation::bytesIn() const {
  uint64_t weights = sumOf(operation, bundle::Space_Weights);
  if (!kernel)
    return weights;
  return weights + sumOf(operation, bundle::Space_Prepared) - bytesPrepared();
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

static bool hasKernel(const bundle::Operation *operation) {
  return operation->kind() == bundle::OperationKind_Execute ||
         operation->kind() == bundle::OperationKind_Transform;
}

static PlannedOperation describe(const bundle::Program *program,
                                 bool isPreparation, uint32_t index) {
  const bundle::Operation *operation =
      (isPreparation ? program->preparations() : program->operations())
          ->Get(index);
  return {operation,
          hasKernel(operation) ? program->kernels()->Get(operation->kernel())
                               : nullptr,
          isPreparation, index};
}

Plan::Plan(const bundle::Program *program) {
  auto add = [&](bool isPreparation, uint32_t index, uint32_t lane,
                 bool background) {
    PlannedOperation entry = describe(program, isPreparation, index);
    entry.lane = lane;
    entry.background = background;
    isPredicted |= entry.isPredicted();
    operations.push_back(entry);
  };
  if (!program->lanes() || program->lanes()->size() == 0) {
    lanes.push_back({bundle::LaneKind_Execute, bundle::CoreKind_Any});
    for (uint32_t i = 0; i < program->operations()->size(); ++i)
      add(false, i, 0, false);
  } else {
    for (uint32_t n = 0; n < program->lanes()->size(); ++n) {
      const bundle::Lane *lane = program->lanes()->Get(n);
      lanes.push_back({lane->kind(), lane->core()});
      for (const bundle::LaneEntry *entry : *lane->queue())
        add(entry->kind() == bundle::LaneKind_Prepare, entry->index(), n,
            false);
      if (lane->background())
        for (uint32_t index : *lane->background())
          add(true, index, n, true);
    }
  }
  if (!program->switches())
    return;
  for (uint32_t i = 0; i < program->switches()->size(); ++i)
    for (PlannedOperation &entry : operations)
      if (!entry.isPreparation &&
          entry.index == program->switches()->Get(i)->operation())
        entry.switchedTo = i;
}

std::string bytesText(uint64_t bytes) {
  static constexpr const char *units[] = {"B", "KB", "MB", "GB", "TB"};
  double value = double(bytes);
  unsigned unit = 0;
  while (value >= 999.5 && unit < 4) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.3g %s", value,
           units[unit]);
  return text;
}

} // namespace nnv12::tools
