//===- Session.cpp - Memory and threads of one inference at a time --------===//
#include "runtime/Session.h"

#include "runtime/FloatMode.h"

#include <cinttypes>
#include <ctime>

using namespace nnv12;
using namespace nnv12::runtime;
using artifact::Fault;

/// Below this, huge pages waste more than they save.
static constexpr uint64_t hugePageSize = 2u << 20;

nnv12_session::~nnv12_session() {
  if (bundle)
    bundle->release();
}

bool nnv12_session::create(nnv12_bundle &source,
                           const nnv12_session_options &options, Fault &fault) {
  uint32_t threads = options.threads;
  if (threads > maxThreads)
    return fault.set(Fault::InvalidArgument,
                     "threads: found %u, expected at most %u", threads,
                     maxThreads);
  if (threads == 0) {
    uint32_t cpus = availableCpus();
    threads = source.metadata()->threads();
    if (threads == 0 || threads > cpus)
      threads = cpus;
    if (threads > maxThreads)
      threads = maxThreads;
  }
  bundle = &source;
  bundle->retain();
  return allocateMemory(threads, fault) && resolve(fault) &&
         workers.start(threads, options.pin_threads != 0, scratch.data(),
                       scratchStride, fault);
}

bool nnv12_session::allocateMemory(uint32_t threads, Fault &fault) {
  uint64_t arenaSize = bundle->chosenProgram()->arena_size();
  // A page of its own for each thread's scratch, so that no cache line and no
  // page is shared.
  scratchStride = (bundle->scratchSize() + 4095) & ~uint64_t(4095);
  bool huge = arenaSize >= hugePageSize;
  if (!arena.allocate(arenaSize, huge ? hugePageSize : 4096) ||
      !scratch.allocate(scratchStride * threads, 4096))
    return fault.set(Fault::OutOfMemory,
                     "arena: no memory for %" PRIu64
                     " bytes and %zu of scratch",
                     arenaSize, scratchStride * threads);
  // Each first use of a small page costs about a microsecond. Whole huge pages
  // only, so that the rest of the last one is not paid for.
  if (huge)
    madvise(arena.data(), arenaSize & ~(hugePageSize - 1), MADV_HUGEPAGE);
  return true;
}

static bool isCallersBuffer(const bundle::Operand *operand) {
  return operand->space() == bundle::Space_Input ||
         operand->space() == bundle::Space_Output;
}

/// Turns operations into addresses, all but those of the caller's buffers.
bool nnv12_session::resolve(Fault &fault) {
  const bundle::Program *program = bundle->chosenProgram();
  size_t numOperands = 0, numPatches = 0;
  for (const bundle::Operation *operation : *program->operations())
    for (const bundle::Operand *operand : *operation->operands()) {
      ++numOperands;
      numPatches += isCallersBuffer(operand);
    }
  if (!operandTable.allocate(numOperands) || !patches.allocate(numPatches) ||
      !steps.allocate(program->operations()->size()))
    return fault.set(Fault::OutOfMemory, "no memory for the plan");

  void **place = operandTable.data();
  Patch *patch = patches.data();
  for (uint32_t i = 0; i < steps.size(); ++i) {
    const bundle::Operation *operation = program->operations()->Get(i);
    const bundle::Kernel *kernel = program->kernels()->Get(operation->kernel());
    steps[i].kernel = reinterpret_cast<artifact::KernelFn>(
        reinterpret_cast<uintptr_t>(bundle->code() + kernel->entry()));
    steps[i].operands = place;
    steps[i].tiles = operation->tiles();
    for (const bundle::Operand *operand : *operation->operands()) {
      if (isCallersBuffer(operand)) {
        *patch++ = {place, operand->index(),
                    operand->space() == bundle::Space_Output,
                    operand->offset()};
      } else if (operand->space() == bundle::Space_Weights) {
        const bundle::Segment *segment =
            bundle->metadata()->segments()->Get(operand->index());
        *place = const_cast<uint8_t *>(bundle->image()) + segment->offset() +
                 operand->offset();
      } else if (arena.data()) {
        *place = arena.data() + operand->offset();
      }
      ++place;
    }
  }
  return true;
}

static bool checkBuffer(const nnv12_tensor_info &tensor, const void *data,
                        size_t size, const char *what, Fault &fault) {
  if (size != tensor.byte_size)
    return fault.set(Fault::InvalidArgument,
                     "%s '%.200s': size: found %zu bytes, expected %zu", what,
                     tensor.name, size, tensor.byte_size);
  if (!data && size)
    return fault.set(Fault::InvalidArgument,
                     "%s '%.200s': data: found NULL, expected %zu bytes", what,
                     tensor.name, size);
  uint64_t alignment =
      artifact::elementSize(static_cast<bundle::ElementType>(tensor.type));
  if (reinterpret_cast<uintptr_t>(data) % alignment)
    return fault.set(Fault::InvalidArgument,
                     "%s '%.200s': data: found address %p, expected a multiple "
                     "of %" PRIu64,
                     what, tensor.name, data, alignment);
  return true;
}

bool nnv12_session::checkBuffers(const nnv12_input *inputs, uint32_t numInputs,
                                 const nnv12_output *outputs,
                                 uint32_t numOutputs, Fault &fault) const {
  if (numInputs != bundle->inputs().size() || (numInputs && !inputs))
    return fault.set(Fault::InvalidArgument, "inputs: found %u, expected %zu",
                     inputs ? numInputs : 0, bundle->inputs().size());
  if (numOutputs != bundle->outputs().size() || (numOutputs && !outputs))
    return fault.set(Fault::InvalidArgument, "outputs: found %u, expected %zu",
                     outputs ? numOutputs : 0, bundle->outputs().size());
  for (uint32_t i = 0; i < numInputs; ++i)
    if (!checkBuffer(bundle->inputs()[i], inputs[i].data, inputs[i].size,
                     "input", fault))
      return false;
  for (uint32_t i = 0; i < numOutputs; ++i)
    if (!checkBuffer(bundle->outputs()[i], outputs[i].data, outputs[i].size,
                     "output", fault))
      return false;
  return true;
}

static uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return uint64_t(time.tv_sec) * 1000000000 + uint64_t(time.tv_nsec);
}

template <bool Profiled> void nnv12_session::runSteps() {
  uint64_t begin = Profiled ? now() : 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    workers.run(steps[i].kernel, steps[i].operands, steps[i].tiles);
    if (Profiled) {
      uint64_t end = now();
      profile[i] = end - begin;
      begin = end;
    }
  }
}

bool nnv12_session::run(const nnv12_input *inputs, uint32_t numInputs,
                        const nnv12_output *outputs, uint32_t numOutputs,
                        Fault &fault) {
  if (!checkBuffers(inputs, numInputs, outputs, numOutputs, fault))
    return false;
  if (running.exchange(true, std::memory_order_acquire))
    return fault.set(Fault::Busy, "the session runs already");
  for (const Patch &patch : patches) {
    auto *base = static_cast<uint8_t *>(
        patch.isOutput ? outputs[patch.index].data
                       : const_cast<void *>(inputs[patch.index].data));
    *patch.place = base ? base + patch.offset : nullptr;
  }
  {
    FloatMode mode;
    if (profile)
      runSteps<true>();
    else
      runSteps<false>();
  }
  running.store(false, std::memory_order_release);
  return true;
}
