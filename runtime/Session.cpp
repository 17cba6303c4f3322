//===- Session.cpp - One inference at a time ------------------------------===//
#include "runtime/Session.h"

#include "artifact/Compatibility.h"
#include "artifact/ProgramView.h"
#include "artifact/RuntimePolicy.h"
#include "runtime/FloatMode.h"
#include "runtime/Reader.h"
#if NNV12_GPU
#include "runtime/Gpu.h"
#endif

#include <algorithm>
#include <cassert>
#include <cinttypes>

using namespace nnv12;
using namespace nnv12::runtime;
using artifact::Fault;

nnv12_session::~nnv12_session() {
#if NNV12_GPU
  closeGpu();
#endif
  if (bundle_)
    bundle_->release();
}

Team::Size nnv12_session::teamFor(const nnv12_bundle &bundle,
                                  const nnv12_session_options &options) {
  uint32_t cpus = availableCpus(), threads = options.threads;
  if (threads == 0)
    threads = bundle.metadata()->threads();
  if (threads == 0 || (threads > cpus && !options.oversubscribe))
    threads = cpus;
  if (threads > maxThreads)
    threads = maxThreads;
  Team::Size size = {threads,
                     Lanes::wantedThreads(bundle.chosenProgram(),
                                          options.mode != NNV12_MODE_COLD,
                                          options.no_stealing == 0),
                     false};
  if (!options.oversubscribe) {
    // On a single CPU another thread only takes turns with the caller.
    size.onlyReads = cpus == threads && cpus > 1;
    size.preparing = std::min(size.preparing, cpus - threads + size.onlyReads);
  }
  if (options.preparation_threads == NNV12_NO_PREPARATION_THREADS)
    size.preparing = 0;
  else if (options.preparation_threads)
    size.preparing = std::min(size.preparing, options.preparation_threads);
  return size;
}

bool nnv12_session::mayUseGpu(
    [[maybe_unused]] const nnv12_bundle &bundle,
    [[maybe_unused]] const nnv12_session_options &options) {
#if NNV12_GPU
  return artifact::gpuOverlayOf(bundle.metadata(), bundle.chosenProgram()) &&
         options.gpu != NNV12_GPU_OFF;
#else
  return false;
#endif
}

bool nnv12_session::createRecorder(const nnv12_session_options &options,
                                   Team::Size size, Fault &fault) {
  const nnv12_recorder *wanted = options.recorder;
  if (!wanted)
    return true;
  nnv12_recorder known = NNV12_RECORDER_INIT(nullptr, 0);
  if (!readStruct(wanted, known))
    return fault.set(Fault::InvalidArgument,
                     "recorder: struct_size: found 0, expected what "
                     "NNV12_RECORDER_INIT sets");
  Recorder::Options recording;
  recording.memory = known.memory;
  recording.size = known.size;
  recording.level = static_cast<RecordLevel>(known.level);
  recording.sampleEvery = known.sample_every;
  recording.countersPerMille = known.counters_per_mille;
  recording.gpuPerMille = known.gpu_per_mille;
  if (known.counters &&
      (!readStruct(known.counters, recording.counters) ||
       !recording.counters.attach || !recording.counters.read))
    return fault.set(Fault::InvalidArgument,
                     "recorder: counters: found no functions, expected those "
                     "of nnv12_counter_source");
  Recorder::Subject subject = {bundle_->digest(), bundle_->programNumber(),
                               size.computing + size.preparing, size.preparing,
                               mayUseGpu(*bundle_, options)};
  return recorder_.create(recording, subject, fault);
}

size_t nnv12_session::recorderSize(const nnv12_bundle &bundle,
                                   const nnv12_session_options &options,
                                   RecordLevel level, uint32_t runs) {
  const bundle::Program *program = bundle.chosenProgram();
  uint32_t executes = artifact::numExecutes(program);
  Team::Size size = teamFor(bundle, options);
  // Counts records of the leader's ring, which has most.
  uint64_t each = 1, once = 0;
  if (level >= RecordLevel::Operation) {
    each += executes;
    // A read has a record for each megabyte, a transform for each sixteenth,
    // and each has a wait before it at worst.
    once = 2 * executes + 2;
    for (uint32_t i = executes; i < program->operations()->size(); ++i)
      once +=
          2 * (17 + (program->operations()->Get(i)->operands()->Get(0)->size() /
                     readPiece));
  }
  // A GPU's part: the submission, and its kernels.
  if (const bundle::Overlay *overlay =
          artifact::gpuOverlayOf(bundle.metadata(), program);
      overlay && level >= RecordLevel::Operation) {
    uint64_t cold = overlay->head()->cold_records(),
             warm = overlay->head()->warm_records();
    once += cold;
    each += warm;
    // Preparations have a ring of their own: a pipeline and weights for a
    // dispatch at most, the commands of a stretch, and the device.
    once = std::max(once, 2 * (cold + warm) + 1);
  }
  if (level >= RecordLevel::Piece)
    each += uint64_t(executes) * (size.computing + 1);
  nnv12_recorder recorder = NNV12_RECORDER_INIT(nullptr, 0);
  if (options.recorder && readStruct(options.recorder, recorder) &&
      recorder.counters)
    each += uint64_t(NNV12_NUM_COUNTERS) * (size.computing + size.preparing);
  // One less than there are: the oldest may be about to be overwritten.
  uint64_t records = std::min(each * runs + once + 1, maxRecords);
  uint32_t rings = size.computing + size.preparing + mayUseGpu(bundle, options);
  return Recorder::sizeFor(rings, static_cast<uint32_t>(records));
}

bool nnv12_session::create(nnv12_bundle &bundle,
                           const nnv12_session_options &options, Fault &fault) {
  uint32_t threads = options.threads;
  if (threads > maxThreads)
    return fault.set(Fault::InvalidArgument,
                     "threads: found %u, expected at most %u", threads,
                     maxThreads);
  if (options.mode > NNV12_MODE_CONTINUOUS)
    return fault.set(Fault::InvalidArgument,
                     "mode: found %d, expected at most %d", int(options.mode),
                     int(NNV12_MODE_CONTINUOUS));
  // A number that is no enumerator must not be read as one.
  int gpuMode;
  memcpy(&gpuMode, &options.gpu, sizeof gpuMode);
  if (gpuMode < 0 || gpuMode > NNV12_GPU_WAIT)
    return fault.set(Fault::InvalidArgument,
                     "gpu: found %d, expected at most %d", gpuMode,
                     int(NNV12_GPU_WAIT));
  bundle_ = &bundle;
  bundle_->retain();
  continuous_ = options.mode != NNV12_MODE_COLD;
  const bundle::Program *program = bundle_->chosenProgram();
  Team::Size size = teamFor(bundle, options);
  threads = size.computing;
  Lanes::Options laneOptions;
  if (options.preparation_threads != NNV12_NO_PREPARATION_THREADS)
    laneOptions.helping = threads - 1;
  laneOptions.preparing = size.preparing;
  laneOptions.onlyReads = size.onlyReads;
  laneOptions.continuous = continuous_;
  laneOptions.holdsLater = mayUseGpu(bundle, options);
  laneOptions.steal = options.no_stealing == 0;
  if (!createRecorder(options, size, fault) ||
      !allocateMemory(threads + size.preparing, fault))
    return false;
  workers_.create(threads, scratch_, scratchStride_, size.preparing, events_,
                  recorder_);
  // Threads begin first of all: reading takes longest.
  bool hasPlan = artifact::numLanes(program) != 0;
  planDone_ = !hasPlan;
  bool good =
      (!hasPlan || lanes_.create(*bundle_, laneOptions, memory_, scratch_,
                                 scratchStride_, events_, recorder_, fault)) &&
      team_.start(program, size, options.pin_threads != 0, workers_, lanes_,
                  events_, firstTouch_, recorder_, fault) &&
      resolve(fault)
#if NNV12_GPU
      && openGpu(options, size, fault)
#endif
      ;
  // Nothing will change.
  isSteady_ = changes_.size() == 0 && !laneOptions.holdsLater;
  if (isSteady_)
    steadyRun_.store(0, std::memory_order_relaxed);
  return good;
}

bool nnv12_session::allocateMemory(uint32_t threads, Fault &fault) {
  const bundle::Program *program = bundle_->chosenProgram();
  const bundle::Memory *arena = artifact::memoryOf(program,
                                                   bundle::MemoryKind_Arena),
                       *prepared = artifact::memoryOf(
                           program, bundle::MemoryKind_Prepared);
  uint64_t arenaSize = arena ? arena->size() : 0,
           preparedSize = prepared ? prepared->size() : 0;
  // One behind the other, so that they share huge pages: each first use of a
  // small page takes one or two microseconds, that of a huge one a hundred.
  // Prepared weights come last: those of later runs are at their end, and leave
  // all else where it would be without them.
  static constexpr uint64_t page = 4096;
  auto after = [](uint64_t end, const bundle::Memory *memory) {
    uint64_t alignment = page;
    if (memory && memory->alignment() > page)
      alignment = memory->alignment();
    return (end + alignment - 1) & ~(alignment - 1);
  };
  // Pages of its own for each thread's scratch, so that no cache line and no
  // page is shared.
  scratchStride_ = after(artifact::scratchSize(bundle_->target()), nullptr);
  uint64_t scratchAt = after(arenaSize, nullptr),
           preparedAt = after(scratchAt + scratchStride_ * threads, prepared),
           size = preparedAt + preparedSize, huge = inHugePages(size);
  if (!pages_.allocate(std::max(size, huge),
                       std::max(huge ? hugePageSize : page, after(1, arena))))
    return fault.set(Fault::OutOfMemory,
                     "arena: no memory for %" PRIu64 " bytes, %" PRIu64
                     " of prepared weights and %zu of scratch",
                     arenaSize, preparedSize, scratchStride_ * threads);
  if (huge)
    pages_.adviseHuge(huge);
  memory_ = {pages_.data(), pages_.data() + preparedAt};
  scratch_ = pages_.data() + scratchAt;
  uint64_t supplied =
      huge && bundle_->giveEarlyMemory(pages_) ? hugePageSize : 0;
  if (!firstTouch_.create(1 + bundle_->outputs().size()))
    return fault.set(Fault::OutOfMemory, "no memory for the plan");
  if (arenaSize > supplied)
    firstTouch_.add(memory_.arena + supplied, arenaSize - supplied,
                    /*ours=*/true);
  return true;
}

static bool isCallersBuffer(const bundle::Operand *operand) {
  return operand->space() == bundle::Space_Input ||
         operand->space() == bundle::Space_Output;
}

/// Turns an operation into addresses, all but those of the caller's buffers.
nnv12_session::Step nnv12_session::resolve(const bundle::Operation *operation,
                                           void **&place, Patch *&patch) {
  Step step = {kernelOf(*bundle_, operation), place, operation->tile_begin(),
               operation->tile_end(), false};
  for (const bundle::Operand *operand : *operation->operands()) {
    if (isCallersBuffer(operand))
      *patch++ = {place, operand->index(),
                  operand->space() == bundle::Space_Output, operand->offset()};
    else
      *place = addressOf(*bundle_, operand, memory_);
    ++place;
  }
  return step;
}

bool nnv12_session::resolve(Fault &fault) {
  const bundle::Program *program = bundle_->chosenProgram();
  uint32_t numSteps = artifact::numExecutes(program);
  uint32_t numChanges = continuous_ ? artifact::numSwitches(program) : 0;
  size_t numOperands = 0, numPatches = 0;
  auto count = [&](const bundle::Operation *operation) {
    for (const bundle::Operand *operand : *operation->operands()) {
      ++numOperands;
      numPatches += isCallersBuffer(operand);
    }
  };
  for (uint32_t i = 0; i < numSteps; ++i)
    count(program->operations()->Get(i));
  for (uint32_t i = 0; i < numChanges; ++i)
    count(program->switches()->Get(i)->replacement());
  if (!operandTable_.allocate(numOperands) || !patches_.allocate(numPatches) ||
      !steps_.allocate(numSteps) || !changes_.allocate(numChanges))
    return fault.set(Fault::OutOfMemory, "no memory for the plan");

  void **place = operandTable_.data();
  Patch *patch = patches_.data();
  for (uint32_t i = 0; i < numSteps; ++i)
    steps_[i] = resolve(program->operations()->Get(i), place, patch);
  for (uint32_t i = 0; i < numChanges; ++i) {
    const bundle::Switch *change = program->switches()->Get(i);
    changes_[i] = {resolve(change->replacement(), place, patch),
                   change->operation(), change->replacement()->after()};
    changes_[i].step.switched = true;
  }
  assert(place == operandTable_.end() && patch == patches_.end() &&
         "all were counted");
  return true;
}

nnv12_session_info nnv12_session::info() const {
  nnv12_session_info result = {};
  result.threads = workers_.threads();
  result.preparation_threads = team_.preparing();
  result.num_preparations = lanes_.numWanted();
  result.preparations_done = lanes_.preparations().numDone();
  result.switches_done = changesDone_.load(std::memory_order_relaxed);
  for (const Change &change : changes_)
    if (!lanes_.areHeld(change.after)) {
      ++result.num_switches;
      result.switches_ready += lanes_.preparations().areDone(change.after);
    }
  result.steady_run = steadyRun_.load(std::memory_order_relaxed);
  result.gpu_reason = result.gpu_device_name = "";
#if NNV12_GPU
  if (gpu_)
    gpu_->tell(result);
  else
    result.gpu_reason = whyNoGpu_;
#else
  result.gpu_reason = "this library was built without GPUs";
#endif
  return result;
}

template <typename Buffer>
static bool checkStride(const Buffer *array, uint32_t count, const char *what,
                        Fault &fault) {
  if (count == 0 || (array->struct_size >= sizeof(Buffer) &&
                     array->struct_size % alignof(Buffer) == 0))
    return true;
  return fault.set(Fault::InvalidArgument,
                   "%s: struct_size: found %zu, expected %zu", what,
                   array->struct_size, sizeof(Buffer));
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
  if (numInputs != bundle_->inputs().size() || (numInputs && !inputs))
    return fault.set(Fault::InvalidArgument, "inputs: found %u, expected %zu",
                     inputs ? numInputs : 0, bundle_->inputs().size());
  if (numOutputs != bundle_->outputs().size() || (numOutputs && !outputs))
    return fault.set(Fault::InvalidArgument, "outputs: found %u, expected %zu",
                     outputs ? numOutputs : 0, bundle_->outputs().size());
  if (!checkStride(inputs, numInputs, "inputs", fault) ||
      !checkStride(outputs, numOutputs, "outputs", fault))
    return false;
  for (uint32_t i = 0; i < numInputs; ++i)
    if (!checkBuffer(bundle_->inputs()[i], elementOf(inputs, i).data,
                     elementOf(inputs, i).size, "input", fault))
      return false;
  for (uint32_t i = 0; i < numOutputs; ++i)
    if (!checkBuffer(bundle_->outputs()[i], elementOf(outputs, i).data,
                     elementOf(outputs, i).size, "output", fault))
      return false;
  return true;
}

/// One step, recorded as far as somebody wants it.
void nnv12_session::runRecorded(uint32_t index) {
  const Step &step = steps_[index];
  uint64_t start = recorder_.startTime();
  if (recorder_.records(RecordLevel::Piece))
    workers_.runRecorded(index, start, step.kernel, step.operands, step.begin,
                         step.end);
  else
    workers_.run(step.kernel, step.operands, step.begin, step.end);
  Record record = {};
  record.start = start;
  record.index = index;
  record.kind = RecordKind::Execute;
  record.flags = step.switched ? NNV12_RECORD_SWITCHED : 0;
  recorder_.end(record);
}

/// Why a run ends before step `index`: weights cannot be had, or it is late.
bool nnv12_session::reportStop(uint32_t index, Fault &fault) const {
  if (lanes_.preparations().hasFailed())
    return lanes_.preparations().reportFailure(fault);
  return fault.set(
      Fault::TimedOut,
      "deadline: over before layer '%.200s', after %u of %zu operations",
      bundle_->chosenProgram()->operations()->Get(index)->layer()->c_str(),
      index, steps_.size());
}

/// Follows the execute lane's queue to the last execute: entries behind that
/// are for later runs.
bool nnv12_session::runPlan(Fault &fault) {
  const bundle::Program *program = bundle_->chosenProgram();
  uint32_t numDone = 0;
  for (uint32_t index : *program->lanes()->Get(0)->queue()) {
    if (numDone == steps_.size())
      break;
    if (isLate())
      return reportStop(numDone, fault);
    if (index >= steps_.size()) {
      lanes_.prepare(index - static_cast<uint32_t>(steps_.size()), workers_);
      continue;
    }
    if (!lanes_.waitFor(index, program->operations()->Get(index)->after(),
                        workers_))
      return reportStop(index, fault);
    runRecorded(index);
    ++numDone;
  }
  planDone_ = true;
  return true;
}

/// All steps, each of which ends where the next one begins.
template <RecordLevel Level> bool nnv12_session::runSteps(Fault &fault) {
  if constexpr (Level < RecordLevel::Operation) {
    for (const Step &step : steps_) {
      if (isLate())
        return reportStop(uint32_t(&step - steps_.data()), fault);
      workers_.run(step.kernel, step.operands, step.begin, step.end);
    }
    return true;
  }
  Record record = {};
  record.kind = RecordKind::Execute;
  record.run = recorder_.run();
  record.start = recorder_.ticks();
  for (const Step &step : steps_) {
    if (isLate())
      return reportStop(record.index, fault);
    uint64_t end;
    if constexpr (Level == RecordLevel::Piece) {
      end = workers_.runRecorded(record.index, record.start, step.kernel,
                                 step.operands, step.begin, step.end);
    } else {
      workers_.run(step.kernel, step.operands, step.begin, step.end);
      end = recorder_.ticks();
    }
    record.ticks = end - record.start;
    record.flags = step.switched ? NNV12_RECORD_SWITCHED : 0;
    recorder_.ring(0).write(record);
    record.start = end;
    ++record.index;
  }
  return true;
}

/// Before a run: changes to the steps of later runs once all of them are ready,
/// so that no run is half and half. False when a preparation has failed: an
/// error is better than to stay slow for ever. Waits for nothing.
bool nnv12_session::takeLater(Fault &fault) {
  if (isSteady_)
    return true;
  if (lanes_.preparations().hasFailed())
    return lanes_.preparations().reportFailure(fault);
#if NNV12_GPU
  if (gpu_ && !gpu_->isReadyForLater())
    return true;
#endif
  uint32_t count = 0;
  for (const Change &change : changes_) {
    bool isHeld = lanes_.areHeld(change.after);
    if (!isHeld && !lanes_.preparations().areDone(change.after))
      return true;
    count += !isHeld;
  }
  for (const Change &change : changes_)
    if (!lanes_.areHeld(change.after))
      steps_[change.operation] = change.step;
  changesDone_.store(count, std::memory_order_relaxed);
  steadyRun_.store(numRuns_, std::memory_order_relaxed);
  isSteady_ = true;
  return true;
}

/// The first run is over: the outputs are the caller's again.
void nnv12_session::endFirst() {
  firstTouch_.close();
  team_.release();
}

/// Until there is nothing left that any run would wait for or change to. The
/// calling thread prepares as well, a piece at a time. False where a
/// preparation has failed or the deadline is over.
bool nnv12_session::prepareAll(Fault &fault) {
  lanes_.beginLater();
  for (;;) {
    uint32_t seen = events_.seen();
    bool isSettled = lanes_.areAllDone();
#if NNV12_GPU
    if (gpu_) {
      // Asks this first: the answer may leave more to prepare.
      bool isGpuSettled = gpu_->isSettled();
      releaseLater();
      isSettled = isGpuSettled && lanes_.areAllDone();
    }
#endif
    if (lanes_.preparations().hasFailed())
      return lanes_.preparations().reportFailure(fault);
    if (isSettled)
      return true;
    if (isLate())
      return fault.set(Fault::TimedOut,
                       "time is over: found %u of %u preparations done%s",
                       lanes_.preparations().numDone(), lanes_.numWanted(),
                       lanes_.areAllDone() ? ", and a GPU being prepared" : "");
    // Other threads signal the end of their preparations.
    if (!lanes_.prepareInBackground(0))
      events_.sleepUntil(deadline_, seen, Events::Preparation);
  }
}

bool nnv12_session::prepare(uint32_t milliseconds, Fault &fault) {
  if (running_.exchange(true, std::memory_order_acquire))
    return fault.set(Fault::Busy, "the session runs already");
  FloatMode mode;
  deadline_ = now() + milliseconds * uint64_t(1000000);
#if NNV12_GPU
  if (gpu_)
    gpu_->start();
#endif
  bool good = prepareAll(fault);
  if (good) {
    while (firstTouch_.touchNext()) {
    }
    planDone_ = true;
    team_.release();
    good = takeLater(fault);
  }
  running_.store(false, std::memory_order_release);
  return good;
}

bool nnv12_session::runOnce(Fault &fault) {
  FloatMode mode;
#if NNV12_GPU
  if (gpu_)
    return runBeside(fault);
#endif
  if (!planDone_) {
    bool good = runPlan(fault);
    endFirst();
    return good;
  }
  if (!takeLater(fault))
    return false;
  if (!recorder_.records(RecordLevel::Operation))
    return runSteps<RecordLevel::Off>(fault);
  if (!recorder_.records(RecordLevel::Piece))
    return runSteps<RecordLevel::Operation>(fault);
  return runSteps<RecordLevel::Piece>(fault);
}

bool nnv12_session::run(const nnv12_input *inputs, uint32_t numInputs,
                        const nnv12_output *outputs, uint32_t numOutputs,
                        uint64_t until, Fault &fault) {
  if (!checkBuffers(inputs, numInputs, outputs, numOutputs, fault))
    return false;
  if (isOver(until))
    return fault.set(Fault::TimedOut,
                     "deadline: found one that was over before the run");
  if (running_.exchange(true, std::memory_order_acquire))
    return fault.set(Fault::Busy, "the session runs already");
  deadline_ = until;
  lanes_.setDeadline(until);
  for (const Patch &patch : patches_) {
    auto *base = static_cast<uint8_t *>(
        patch.isOutput
            ? elementOf(outputs, patch.index).data
            : const_cast<void *>(elementOf(inputs, patch.index).data));
    *patch.place = base ? base + patch.offset : nullptr;
  }
#if NNV12_GPU
  callers_ = {inputs, outputs};
#endif
  if (!planDone_)
    for (uint32_t i = 0; i < numOutputs; ++i)
      firstTouch_.add(elementOf(outputs, i).data, elementOf(outputs, i).size,
                      /*ours=*/false);
  recorder_.beginRun();
  bool mayPrepare = lanes_.isLater() && lanes_.mayPrepareInBackground();
  uint64_t start = mayPrepare ? now() : 0;
  bool good = runOnce(fault);
  if (uint64_t end = mayPrepare ? now() : never; good && end < deadline_)
    lanes_.prepareInBackground(std::min((end - start) / 16, deadline_ - end));
  if (good && !lanes_.isLater())
    lanes_.beginLater();
  recorder_.endRun(good ? Fault::None : fault.code);
#if NNV12_GPU
  if (gpu_ && good)
    gpu_->runEnds();
#endif
  ++numRuns_;
  running_.store(false, std::memory_order_release);
  return good;
}
