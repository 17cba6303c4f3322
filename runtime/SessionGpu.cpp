//===- SessionGpu.cpp - Runs of which a GPU may take a part ---------------===//
#include "artifact/ProgramView.h"
#include "runtime/Gpu.h"
#include "runtime/Session.h"

using namespace nnv12;
using namespace nnv12::runtime;
using artifact::Fault;

bool nnv12_session::openGpu(const nnv12_session_options &options,
                            Team::Size size, Fault &fault) {
  const bundle::Program *program = bundle_->chosenProgram();
  if (!mayUseGpu(*bundle_, options)) {
    whyNoGpu_ = artifact::gpuOverlayOf(bundle_->metadata(), program)
                    ? "the session was told to do without"
                    : "the bundle has no part for GPUs";
    return true;
  }
  gpu_ = ::create<Gpu>();
  if (!gpu_)
    return fault.set(Fault::OutOfMemory, "no memory for a session");
  if (!gpu_->create(*bundle_, options, memory_,
                    artifact::memorySize(program, bundle::MemoryKind_Arena),
                    lanes_.preparations(), events_, recorder_, fault))
    return false;
  gpu_->sessionBegins(availableCpus() > size.computing + size.preparing);
  return true;
}

void nnv12_session::closeGpu() {
  // A device that gave no answer may still write to the arena, for ever.
  if (gpu_ && gpu_->isHung())
    pages_.abandon();
  destroy(gpu_);
}

/// Has the CPU prepare for later runs: for the layers that it will compute
/// itself, and for the GPU's.
void nnv12_session::releaseLater() {
  uint32_t known = gpu_->knowledge();
  if (known == gpuKnowledge_)
    return;
  uint32_t before = lanes_.numWanted();
  for (const Change &change : changes_)
    if (!gpu_->covers(change.operation))
      lanes_.release(change.after);
  gpu_->releaseNeeded(lanes_);
  gpuKnowledge_ = known;
  if (lanes_.numWanted() == before && !gpu_->isGone())
    return;
  isSteady_ = false;
  steadyRun_.store(NNV12_NO_RUN, std::memory_order_relaxed);
  events_.happen(Events::Preparation);
}

/// Has the GPU compute the stretch from execute `index` on, if there is one;
/// `index` is the first execute behind it then.
nnv12_session::Taken nnv12_session::take(uint32_t &index, Fault &fault) {
#ifdef NNV12_TEST_HOOKS
  if (Fault ignored; gpu_->isAwaitedAt(index))
    (void)prepareAll(ignored);
#endif
  uint32_t stretch = gpu_->at(index);
  if (stretch == Gpu::none)
    return Taken::None;
  Fault why;
  switch (gpu_->run(stretch, callers_, why)) {
  case Gpu::Result::Done:
    index += gpu_->countOf(stretch);
    return Taken::Some;
  case Gpu::Result::Failed:
    // Nothing that the CPU needs for it has changed.
    return Taken::None;
  case Gpu::Result::Hung:
    break;
  }
  fault = why;
  return Taken::Hung;
}

/// As runPlan(). Postpones the execute lane's preparations while the GPU
/// computes: they are for the CPU.
bool nnv12_session::runPlanBeside(Fault &fault) {
  const bundle::Program *program = bundle_->chosenProgram();
  const auto *queue = program->lanes()->Get(0)->queue();
  constexpr uint32_t none = ~0u;
  uint32_t end = 0, postponed = none;
  auto numSteps = static_cast<uint32_t>(steps_.size());
  auto prepare = [&](uint32_t operation) {
    if (operation >= numSteps)
      lanes_.prepare(operation - numSteps, workers_);
  };
  for (uint32_t i = 0; i < queue->size() && end < numSteps; ++i) {
    uint32_t index = queue->Get(i);
    if (index >= numSteps) {
      if (postponed == none)
        prepare(index);
      continue;
    }
    if (index < end)
      continue;
    if (isLate())
      return reportStop(index, fault);
    Taken taken = take(end = index, fault);
    if (taken == Taken::Hung)
      return false;
    if (taken == Taken::Some) {
      if (postponed == none)
        postponed = i;
      continue;
    }
    for (; postponed < i; ++postponed)
      prepare(queue->Get(postponed));
    postponed = none;
    if (!lanes_.waitFor(index, program->operations()->Get(index)->after(),
                        workers_))
      return reportStop(index, fault);
    runRecorded(index);
    ++end;
  }
  // Until all that executes wait for is done, runs look at it.
  bool isDone = true;
  for (uint32_t i = 0; i < numSteps && isDone; ++i)
    isDone =
        lanes_.preparations().areDone(program->operations()->Get(i)->after());
  planDone_ = isDone;
  return true;
}

bool nnv12_session::runStepsBeside(Fault &fault) {
  for (uint32_t i = 0; i < steps_.size();) {
    if (isLate())
      return reportStop(i, fault);
    Taken taken = take(i, fault);
    if (taken == Taken::Hung)
      return false;
    if (taken == Taken::None)
      runRecorded(i++);
  }
  return true;
}

bool nnv12_session::runBeside(Fault &fault) {
  if (gpu_->isHung())
    return gpu_->reportHang(fault);
  bool isWaited = gpu_->isWaitedFor() && !isSteady_;
  if (isWaited && !prepareAll(fault))
    return false;
  releaseLater();
  // Where nobody has waited the first run is the plan's.
  if ((gpu_->hasRun() || isWaited || planDone_) && !takeLater(fault))
    return false;
  gpu_->runBegins(isSteady_);
  if (!planDone_) {
    bool good = runPlanBeside(fault);
    endFirst();
    return good;
  }
  return runStepsBeside(fault);
}
