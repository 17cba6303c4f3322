//===- MemoryText.cpp - A program's memory, by its sharers ----------------===//
#include "tools/nnv12-inspect/MemoryText.h"

#include "artifact/ProgramView.h"
#include "tools/page/FlatPlan.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <vector>

namespace nnv12::tools {

namespace {
/// Ranges of the file's weights.
class WeightRanges {
public:
  void add(const bundle::Operand *operand) {
    if (operand->space() == bundle::Space_Weights && operand->size())
      all_.push_back({operand->index(), operand->offset(),
                      operand->offset() + operand->size()});
  }
  void add(const WeightRanges &others) {
    all_.insert(all_.end(), others.all_.begin(), others.all_.end());
  }
  /// Bytes in any of them, each once.
  uint64_t bytes() const {
    std::vector<Range> sorted = all_;
    std::sort(sorted.begin(), sorted.end(), [](const Range &a, const Range &b) {
      return a.segment != b.segment ? a.segment < b.segment : a.begin < b.begin;
    });
    uint64_t sum = 0, end = 0;
    for (size_t i = 0; i < sorted.size(); ++i) {
      const Range &range = sorted[i];
      if (i == 0 || sorted[i - 1].segment != range.segment)
        end = 0;
      uint64_t begin = std::max(range.begin, end);
      if (range.end <= begin)
        continue;
      sum += range.end - begin;
      end = range.end;
    }
    return sum;
  }

private:
  struct Range {
    uint32_t segment;
    uint64_t begin, end;
  };
  std::vector<Range> all_;
};
} // namespace

/// By operation of the program: whether a switch waits for it whose layer is
/// the CPUs' in later runs, though a GPU takes others over.
static std::vector<bool> neededBesideGpu(const bundle::Program *program,
                                         const bundle::ProgramGpu *overlay) {
  std::vector<bool> onGpu(program->operations()->size()),
      needed(program->operations()->size());
  for (uint32_t i = 0;
       overlay && overlay->warm() && i < overlay->warm()->size(); ++i) {
    const bundle::Stretch *stretch =
        overlay->stretches()->Get(overlay->warm()->Get(i));
    std::fill_n(onGpu.begin() + stretch->first(), stretch->count(), true);
  }
  for (uint32_t i = 0; i < artifact::numSwitches(program); ++i) {
    const bundle::Switch *change = program->switches()->Get(i);
    for (uint32_t before : artifact::elementsOf(change->replacement()->after()))
      if (!onGpu[change->operation()])
        needed[before] = true;
  }
  return needed;
}

MemoryUse memoryUse(const bundle::Bundle *bundle,
                    const bundle::GpuOverlays *overlays,
                    const bundle::Program *program, uint64_t metadata) {
  const bundle::Target *target = artifact::targetOf(bundle, program);
  MemoryUse use;
  use.arena = artifact::memorySize(program, bundle::MemoryKind_Arena);
  use.prepared = artifact::memorySize(program, bundle::MemoryKind_Prepared);
  use.metadata = metadata;
  use.code = bundle->segments()->Get(artifact::cpuOf(target)->code())->size();
  use.scratch = artifact::scratchSize(target);
  WeightRanges mapped, prepared;
  std::vector<bool> needed =
      neededBesideGpu(program, artifact::overlayOf(overlays, program));
  uint32_t executes = artifact::numExecutes(program);
  Plan plan(target, program);
  for (const PlannedOperation &entry : plan.operations) {
    if (entry.background) {
      use.later += entry.bytesPrepared();
      if (!needed[executes + entry.index])
        use.withoutGpu += entry.bytesPrepared();
    }
    if (entry.operation->kind() != bundle::OperationKind_Read)
      for (const bundle::Operand *operand : *entry.operation->operands())
        (entry.isPreparation ? prepared : mapped).add(operand);
  }
  for (uint32_t i = 0; i < artifact::numSwitches(program); ++i)
    for (const bundle::Operand *operand :
         *program->switches()->Get(i)->replacement()->operands())
      mapped.add(operand);
  use.later = std::min(use.later, use.prepared);
  use.withoutGpu = std::min(use.withoutGpu, use.later);
  use.prepared -= use.later;
  use.mapped = mapped.bytes();
  prepared.add(mapped);
  use.source = prepared.bytes() - use.mapped;
  return use;
}

void printMemory(const MemoryUse &use) {
  printf("  memory of each session: arena %" PRIu64 ", scratch %" PRIu64
         " bytes a thread\n",
         use.arena, use.scratch);
  printf("    shared by the sessions of a process: prepared weights %" PRIu64
         ", weights for later runs %" PRIu64 " bytes\n",
         use.prepared, use.later);
  if (use.withoutGpu)
    printf("    of the weights for later runs %" PRIu64
           " bytes only where no GPU takes their layers over\n",
           use.withoutGpu);
  printf("    shared by all processes, and their sessions: code %" PRIu64
         ", metadata %" PRIu64 ", weights where the file is mapped %" PRIu64
         " bytes\n",
         use.code, use.metadata, use.mapped);
  printf("    only read, to prepare the weights of sessions: %" PRIu64
         " bytes\n",
         use.source);
}

void addMemory(Json &json, const MemoryUse &use) {
  json.key("memory").beginObject().key("session").beginObject();
  json.member("arena", use.arena);
  json.member("scratch_a_thread", use.scratch);
  json.endObject().key("sessions").beginObject();
  json.member("prepared", use.prepared).member("later", use.later);
  json.member("later_without_gpu", use.withoutGpu);
  json.endObject().key("shared").beginObject();
  json.member("code", use.code).member("metadata", use.metadata);
  json.member("mapped_weights", use.mapped).endObject();
  json.member("only_read", use.source).endObject();
}

} // namespace nnv12::tools
