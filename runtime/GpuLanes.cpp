//===- GpuLanes.cpp - Preparations for a GPU, in order --------------------===//
#include "runtime/GpuLanes.h"

#include "artifact/ProgramView.h"

namespace nnv12::runtime {

bool GpuLanes::create(const bundle::Program *program,
                      const bundle::ProgramGpu *overlay,
                      const Preparations &host) {
  gpu_ = overlay;
  host_ = &host;
  executes_ = artifact::numExecutes(program);
  operations_ = program->operations()->size();
  left_.store(gpu_->preparations()->size(), std::memory_order_relaxed);
  return states_.allocate(gpu_->preparations()->size());
}

GpuLanes::State GpuLanes::stateOf(uint32_t operation) const {
  if (operation >= operations_)
    return states_[operation - operations_].load(std::memory_order_acquire);
  if (operation < executes_ || host_->isDone(operation - executes_))
    return State::Done;
  return host_->willRun(operation - executes_) ? State::Waiting
                                               : State::Dropped;
}

/// The state of the operation that is furthest from being done.
GpuLanes::State GpuLanes::stateOf(const After *after) const {
  State result = State::Done;
  for (uint32_t i = 0; after && i < after->size(); ++i) {
    State state = stateOf(after->Get(i));
    if (state == State::Dropped)
      return state;
    if (state != State::Done)
      result = State::Waiting;
  }
  return result;
}

bool GpuLanes::areDone(const After *after) const {
  return stateOf(after) == State::Done;
}

uint32_t GpuLanes::take(uint32_t own, bool prefersUploads) {
  uint32_t index = prefersUploads ? takeNext(own, /*onlyUploads=*/true) : none;
  return index == none ? takeNext(own, /*onlyUploads=*/false) : index;
}

uint32_t GpuLanes::takeNext(uint32_t own, bool onlyUploads) {
  // A dropped preparation may drop others that this loop has passed already.
  for (bool hasDropped = true; hasDropped;) {
    hasDropped = false;
    for (uint32_t i = 0; i < numLanes(); ++i)
      for (uint32_t operation :
           *gpu_->lanes()->Get((own + i) % numLanes())->queue()) {
        uint32_t index = operation - operations_;
        const bundle::GpuPreparation *of = gpu_->preparations()->Get(index);
        State state = State::Waiting;
        if (states_[index].load(std::memory_order_relaxed) != state ||
            (onlyUploads && of->stage() != bundle::GpuStage_Upload))
          continue;
        State before = stateOf(of->after());
        if (before == State::Waiting ||
            !states_[index].compare_exchange_strong(state, State::Taken))
          continue;
        if (before == State::Done)
          return index;
        finish(index, /*good=*/false);
        hasDropped = true;
      }
  }
  return none;
}

void GpuLanes::finish(uint32_t index, bool good) {
  states_[index].store(good ? State::Done : State::Dropped,
                       std::memory_order_release);
  left_.fetch_sub(1, std::memory_order_acq_rel);
}

} // namespace nnv12::runtime
