//===- Session.cpp - One inference at a time ------------------------------===//
#include "runtime/Session.h"

#include "artifact/Compatibility.h"
#include "artifact/ProgramView.h"
#include "artifact/RuntimePolicy.h"
#include "runtime/FloatMode.h"
#include "runtime/Reader.h"
#include <algorithm>
#include <cassert>
#include <cinttypes>
#include <unistd.h>

namespace nnv12::runtime {

using artifact::Fault;

#ifdef NNV12_TEST_HOOKS
/// Makes the overlay's executor in place of createGpu(), and has every session
/// use one; see test/unit/runtime/OverlayExecutorTest.cpp.
decltype(&createGpu) makeOverlay = nullptr;
/// Called while the overlay's executor computes.
void (*betweenSubmitAndWait)(Workers &) = nullptr;
#define BETWEEN_SUBMIT_AND_WAIT()                                              \
  (betweenSubmitAndWait ? betweenSubmitAndWait(workers_) : (void)0)
#else
static constexpr decltype(&createGpu) makeOverlay = nullptr;
#define BETWEEN_SUBMIT_AND_WAIT() (void)0
#endif

Session::~Session() {
  if (OverlayExecutor *executor = overlay()) {
    // A device that gave no answer may still write to the arena, for ever.
    if (executor->hangReason())
      pages_.abandon();
    executor->close();
  }
  // Its threads prepare for others, too, as long as they live.
  team_.end();
  if (hasWeights_)
    bundle_->weights().leave(listener_);
  if (bundle_)
    bundle_->release();
}

Team::Size Session::teamFor(const LoadedBundle &bundle,
                            const nnv12_session_options &options) {
  uint32_t cpus = availableCpus(), threads = options.threads;
  if (threads == 0)
    threads = bundle.metadata()->threads();
  if (threads == 0 || (threads > cpus && !options.oversubscribe))
    threads = cpus;
  threads = std::min(threads, maxThreads);
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

bool Session::mayUseGpu(const LoadedBundle &bundle,
                        const nnv12_session_options &options) {
  return hasGpus && (bundle.gpuOverlay() || makeOverlay) &&
         options.gpu->mode != NNV12_GPU_OFF && !options.stream;
}

bool Session::createRecorder(const nnv12_session_options &options,
                             Team::Size size, Fault &fault) {
  const nnv12_recorder *wanted = options.recorder;
  if (!wanted)
    return true;
  nnv12_recorder known = NNV12_RECORDER_INIT(nullptr, 0);
  if (!readStruct(wanted, known, "recorder", "NNV12_RECORDER_INIT", fault))
    return false;
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

size_t Session::recorderSize(const LoadedBundle &bundle,
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
  if (const bundle::Overlay *overlay = bundle.gpuOverlay();
      overlay && level >= RecordLevel::Operation) {
    uint64_t cold = overlay->head()->cold_records(),
             warm = overlay->head()->warm_records();
    once += cold;
    each += warm;
    // Preparations have a ring of their own: a pipeline and weights for a
    // dispatch at most, the commands of a stretch, and the device.
    once = std::max(once, 2 * (cold + warm) + 1);
  }
  // A frame of a stream: its inputs, and results at checks.
  if (options.stream && level >= RecordLevel::Operation)
    each += program->inputs()->size() + executes;
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

bool Session::create(LoadedBundle &bundle, const nnv12_session_options &options,
                     Fault &fault) {
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
  memcpy(&gpuMode, &options.gpu->mode, sizeof gpuMode);
  if (gpuMode < 0 || gpuMode > NNV12_GPU_WAIT)
    return fault.set(Fault::InvalidArgument,
                     "gpu: mode: found %d, expected at most %d", gpuMode,
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
  laneOptions.later = !program->later_waits();
  if (!createRecorder(options, size, fault) || !createStream(options, fault) ||
      !allocateMemory(threads + size.preparing, fault))
    return false;
  WeightPreparations &weights = bundle_->weights().preparations();
  laneOptions.decodes = weights.usesZstd();
  laneOptions.largestSplit = weights.largestSplit();
  workers_.create(threads, scratch_, scratchStride_, size.preparing, events_,
                  recorder_);
  // Threads begin first of all: reading takes longest.
  bool hasPlan = artifact::numLanes(program) != 0;
  planDone_ = !hasPlan;
  bool good = (!hasPlan ||
               lanes_.create(weights, program->lanes(), laneOptions, scratch_,
                             scratchStride_, events_, recorder_, fault)) &&
              team_.start(program, size, options.pin_threads != 0, workers_,
                          lanes_, events_, firstTouch_, recorder_, fault) &&
              resolve(fault) && openOverlay(options, size, fault);
  if (good && stream_.isOn())
    stream_.adopt(steps_);
  // Nothing will change.
  isSteady_ = changes_.size() == 0 && !laneOptions.holdsLater;
  if (isSteady_)
    steadyRun_.store(0, std::memory_order_relaxed);
  return good;
}

bool Session::createStream(const nnv12_session_options &options, Fault &fault) {
  return !options.stream || stream_.create(*bundle_, *options.stream, fault);
}

bool Session::openOverlay(const nnv12_session_options &options, Team::Size size,
                          Fault &fault) {
  if constexpr (hasGpus) {
    if (!mayUseGpu(*bundle_, options)) {
      whyNoGpu_ = bundle_->gpuOverlay() ? "the session was told to do without"
                                        : "the bundle has no part for GPUs";
      return true;
    }
    overlay_ = (makeOverlay ? makeOverlay : createGpu)(
        *bundle_, *options.gpu, memory_, lanes_, events_, recorder_, fault);
    if (!overlay_)
      return false;
    overlay_->sessionBegins(availableCpus() > size.computing + size.preparing);
  }
  return true;
}

bool Session::allocateMemory(uint32_t threads, Fault &fault) {
  const bundle::Program *program = bundle_->chosenProgram();
  const bundle::Memory *arena = artifact::memoryOf(program,
                                                   bundle::MemoryKind_Arena),
                       *prepared = artifact::memoryOf(
                           program, bundle::MemoryKind_Prepared);
  uint64_t arenaSize = arena ? arena->size() : 0;
  // One behind the other, so that they share huge pages: each first use of a
  // small page takes one or two microseconds, that of a huge one a hundred.
  // Prepared weights come last: those of later runs are at their end, and leave
  // all else where it would be without them.
  auto page = static_cast<uint64_t>(getpagesize());
  auto after = [page](uint64_t end, const bundle::Memory *memory) {
    uint64_t alignment = page;
    if (memory && memory->alignment() > page)
      alignment = memory->alignment();
    return (end + alignment - 1) & ~(alignment - 1);
  };
  // Pages of its own for each thread's scratch, so that no cache line and no
  // page is shared.
  scratchStride_ = after(
      std::max(artifact::scratchSize(bundle_->target()), stream_.scratchSize()),
      nullptr);
  uint64_t scratchAt = after(arenaSize, nullptr),
           preparedAt = after(scratchAt + scratchStride_ * threads, prepared);
  uint64_t supplied = 0;
  if (!bundle_->weights().join(bundle_->loaded(), preparedAt, after(1, arena),
                               pages_, supplied, listener_))
    return fault.set(Fault::OutOfMemory,
                     "arena: no memory for %" PRIu64 " bytes, %" PRIu64
                     " of prepared weights and %zu of scratch",
                     arenaSize, prepared ? prepared->size() : 0,
                     scratchStride_ * threads);
  hasWeights_ = true;
  memory_ = {pages_.data(), bundle_->weights().data()};
  scratch_ = pages_.data() + scratchAt;
  if (!firstTouch_.create(1 + bundle_->outputs().size()))
    return fault.set(Fault::OutOfMemory, "no memory for the plan");
  if (arenaSize > supplied)
    firstTouch_.add(memory_.arena + supplied, arenaSize - supplied,
                    /*ours=*/true);
  return true;
}

bool Session::resolve(Fault &fault) {
  const bundle::Program *program = bundle_->chosenProgram();
  uint32_t numSteps = artifact::numExecutes(program);
  uint32_t numChanges = continuous_ ? artifact::numSwitches(program) : 0;
  for (uint32_t i = 0; i < numSteps; ++i)
    operands_.count(program->operations()->Get(i));
  for (uint32_t i = 0; i < numChanges; ++i)
    operands_.count(program->switches()->Get(i)->replacement());
  if (!operands_.allocate() || !steps_.allocate(numSteps) ||
      !changes_.allocate(numChanges))
    return fault.set(Fault::OutOfMemory, "no memory for the plan");

  auto resolve = [&](const bundle::Operation *operation, uint32_t index) {
    return operands_.resolve(operation, index, &workers_, bundle_->loaded(),
                             memory_);
  };
  for (uint32_t i = 0; i < numSteps; ++i)
    steps_[i] = resolve(program->operations()->Get(i), i);
  for (uint32_t i = 0; i < numChanges; ++i) {
    const bundle::Switch *change = program->switches()->Get(i);
    changes_[i] = {resolve(change->replacement(), change->operation()),
                   change->replacement()->after()};
    changes_[i].step.switched = true;
  }
  assert(operands_.isFull() && "all were counted");
  return true;
}

nnv12_session_info Session::info() const {
  nnv12_session_info result = {};
  result.threads = workers_.threads();
  result.preparation_threads = team_.preparing();
  result.num_preparations = lanes_.numWanted();
  result.preparations_done = lanes_.numDone();
  result.switches_done = changesDone_.load(std::memory_order_relaxed);
  for (const Change &change : changes_)
    if (!lanes_.areHeld(change.after)) {
      ++result.num_switches;
      result.switches_ready += lanes_.preparations().areDone(change.after);
    }
  result.steady_run = steadyRun_.load(std::memory_order_relaxed);
  result.gpu_reason = result.gpu_device_name = "";
  if (overlay())
    overlay()->tell(result);
  else
    result.gpu_reason = whyNoGpu_;
  return result;
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

/// Whether the caller gives all inputs, or outputs, as they are wanted.
template <typename Buffer>
static bool checkBuffers(const Buffer *given, uint32_t count,
                         const Array<nnv12_tensor_info> &wanted,
                         const char *what, Fault &fault) {
  if (count != wanted.size() || (count && !given))
    return fault.set(Fault::InvalidArgument, "%ss: found %u, expected %zu",
                     what, given ? count : 0, wanted.size());
  if (count && (given->struct_size < sizeof(Buffer) ||
                given->struct_size % alignof(Buffer)))
    return fault.set(Fault::InvalidArgument,
                     "%ss: struct_size: found %zu, expected %zu", what,
                     given->struct_size, sizeof(Buffer));
  for (uint32_t i = 0; i < count; ++i)
    if (!checkBuffer(wanted[i], elementOf(given, i).data,
                     elementOf(given, i).size, what, fault))
      return false;
  return true;
}

/// Why weights cannot be had.
bool Session::reportFailure(Fault &fault) const {
  return bundle_->weights().preparations().reportFailure(lanes_.findFailed(),
                                                         fault);
}

/// Why a run ends before step `index`: weights cannot be had, or it is late.
bool Session::reportStop(uint32_t index, Fault &fault) const {
  if (lanes_.hasFailed())
    return reportFailure(fault);
  return fault.set(
      Fault::TimedOut,
      "deadline: over before layer '%.200s', after %u of %zu operations",
      bundle_->chosenProgram()->operations()->Get(index)->layer()->c_str(),
      index, steps_.size());
}

/// Does the entries of the execute lane's queue that come before execute
/// `index`, and waits until the execute's other preparations are done. Entries
/// behind the last execute are for later runs. While an overlay computes, the
/// queue waits: its preparations are for the CPU.
bool Session::prepareFor(uint32_t index, Fault &fault) {
  const bundle::Program *program = bundle_->chosenProgram();
  auto executes = static_cast<uint32_t>(steps_.size());
  for (const auto *queue = program->lanes()->Get(0)->queue();;) {
    if (isLate())
      return reportStop(index, fault);
    uint32_t entry = queue->Get(planAt_++);
    if (entry == index)
      break;
    if (entry >= executes)
      lanes_.prepare(entry - executes, workers_);
  }
  return lanes_.waitFor(index, program->operations()->Get(index)->after(),
                        workers_) ||
         reportStop(index, fault);
}

/// Computes the CPUs' part of a step that the overlay was given. False where it
/// is too late for all of it.
bool Session::runParts(const Step &step) {
  for (const Part &part : overlay_->partsOf(step)) {
    if (isLate())
      return false;
    uint64_t start = recorder_.startTime();
    runStep(part.step, start, part.allTiles);
  }
  return true;
}

/// Has the overlay compute the steps from `next` on, if it takes them; `next`
/// is the first one behind them then. False where it hangs, or the run is late.
bool Session::takeOver(const Step *&next, Fault &fault) {
#ifdef NNV12_TEST_HOOKS
  if (Fault ignored; overlay_->isAwaitedAt(next->operation))
    (void)prepareAll(ignored);
#endif
  const Step *step = overlay_->stepAt(next->operation);
  if (!step)
    return true;
  Fault why;
  Executor::Result result = step->executor->submit(*step, why);
  bool isWhole = true;
  if (result == Executor::Result::Done) {
    BETWEEN_SUBMIT_AND_WAIT();
    isWhole = runParts(*step);
    result = step->executor->wait(*step, why);
  }
  if (result == Executor::Result::Hung)
    return fault.set(Fault::Io, "%s", overlay_->hangReason());
  if (!isWhole)
    return reportStop(next->operation, fault);
  if (result == Executor::Result::Done)
    next += step->count;
  else
    step->executor->fail(why.text);
  return true;
}

/// Has the arena lie where the overlay wants it. False where it does already.
bool Session::moveArena() {
  uint8_t *own = pages_.data(), *place = overlay_->arena();
  if (!place)
    place = own;
  if (place == memory_.arena)
    return false;
  uint64_t size =
      artifact::memorySize(bundle_->chosenProgram(), bundle::MemoryKind_Arena);
  operands_.move(memory_.arena, size, place);
  memory_.arena = place;
  if (place != own) {
    // Nobody shall ask for these pages again.
    firstTouch_.close();
    pages_.empty(size);
  }
  return true;
}

/// Begins a run again whose earlier results are gone, with the memory of the
/// overlay in which the arena lay. False where they are there.
bool Session::beginAgain(const Step *&next) {
  if (!overlay() || !moveArena())
    return false;
  overlay_->runBegins(OverlayExecutor::Run::Next, callers_);
  next = steps_.begin();
  planAt_ = 0;
  return true;
}

/// Computes the step `next`, or those from it on that the overlay takes, and
/// moves it on. It is recorded as far as somebody wants it: from `start`, where
/// the one before it ended, which this sets anew.
bool Session::runNext(const Step *&next, uint64_t &start, Fault &fault) {
  const Step &step = *next;
  if (isLate())
    return reportStop(step.operation, fault);
  if (overlay() && !takeOver(next, fault))
    return false;
  (void)beginAgain(next);
  if (next != &step) {
    start = recorder_.startTime();
    return true;
  }
  ++next;
  if (!planDone_ && !prepareFor(step.operation, fault))
    return false;
  if (!planDone_ || overlay())
    start = recorder_.startTime();
  runStep(step, start);
  return true;
}

/// Computes a step, and records it where somebody wants that: from `start`,
/// which this sets to its end. Where it lists tiles, or has less than
/// `allTiles`, they are a part of these.
void Session::runStep(const Step &step, uint64_t &start, uint64_t allTiles) {
  if (!start) {
    workers_.run(step);
    return;
  }
  Record record = {};
  record.start = start;
  record.index = step.operation;
  record.kind = RecordKind::Execute;
  record.flags = step.switched ? NNV12_RECORD_SWITCHED : 0;
  if (step.tiles || step.end - step.begin < allTiles) {
    record.count = partOfAll(step.end - step.begin, allTiles);
    record.flags |= NNV12_RECORD_PARTIAL;
  }
  if (recorder_.records(RecordLevel::Piece)) {
    start = workers_.runRecorded(step, start);
  } else {
    workers_.run(step);
    start = recorder_.ticks();
  }
  record.ticks = start - record.start;
  recorder_.write(record);
}

/// Writes down that a frame keeps all of an operation's result.
void Session::recordSkipped(uint32_t index, uint64_t start) {
  Record record = {};
  record.start = start;
  record.index = index;
  record.kind = RecordKind::Execute;
  record.flags = NNV12_RECORD_SKIPPED |
                 (steps_[index].switched ? NNV12_RECORD_SWITCHED : 0);
  recorder_.write(record);
}

/// The loop of all runs.
bool Session::runSteps(Fault &fault) {
  uint64_t start = recorder_.startTime();
  // Else there is nothing to be done between steps.
  bool isWatched = !planDone_ || overlay() || start || deadline_ != never;
  planAt_ = 0;
  for (const Step *next = steps_.begin(), *end = steps_.end();
       next != end || beginAgain(next);) {
    if (!isWatched)
      workers_.run(*next++);
    else if (!runNext(next, start, fault))
      return false;
  }
  return true;
}

/// A run as a frame of the stream. Where it ends early the next one computes
/// all.
bool Session::runFrame(Fault &fault) {
  return (!stream_.auditsNext() || computeFrame(/*isAudit=*/true, fault)) &&
         computeFrame(/*isAudit=*/false, fault);
}

bool Session::computeFrame(bool isAudit, Fault &fault) {
  // An audit's records would be those of one run twice.
  auto startTime = [&] { return isAudit ? 0 : recorder_.startTime(); };
  Stream::Frame frame = stream_.begin(callers_, workers_, isAudit);
  if (frame == Stream::Frame::Left) {
    if (!runSteps(fault))
      return false;
    stream_.leave(callers_);
    return true;
  }
  uint32_t count = frame == Stream::Frame::Same ? 0 : steps_.size();
  for (uint32_t i = 0; i < count; ++i) {
    if (isLate())
      return reportStop(i, fault);
    Step step = stream_.stepOf(i);
    // Operations alone: comparing and merging have records of their own.
    uint64_t start = startTime();
    if (step.begin != step.end) {
      runStep(step, start, stream_.tilesOf(i));
      stream_.finish(i, workers_);
    } else if (start) {
      recordSkipped(i, start);
    }
  }
  if (uint64_t start = count ? 0 : startTime())
    for (uint32_t i = 0; i < steps_.size(); ++i)
      recordSkipped(i, start);
  stream_.end(callers_);
  return true;
}

nnv12_stream_info Session::streamInfo() const {
  nnv12_stream_info result = {};
  if (stream_.isOn())
    stream_.tell(result);
  return result;
}

bool Session::reset(Fault &fault) {
  if (running_.exchange(true, std::memory_order_acquire))
    return fault.set(Fault::Busy, "the session runs already");
  stream_.forget();
  running_.store(false, std::memory_order_release);
  return true;
}

bool Session::getPixels(bool isInput, uint32_t number, uint32_t &rows,
                        uint32_t &columns, uint8_t *pixels, size_t capacity,
                        Fault &fault) {
  if (!stream_.isOn())
    return fault.set(Fault::Unsupported,
                     "session: found one without a stream, expected one with");
  size_t count = isInput ? bundle_->inputs().size() : steps_.size();
  if (number >= count)
    return fault.set(Fault::InvalidArgument, "%s: found %u, expected below %zu",
                     isInput ? "input" : "operation", number, count);
  if (running_.exchange(true, std::memory_order_acquire))
    return fault.set(Fault::Busy, "the session runs already");
  VideoPlane plane = stream_.planeOf(isInput, number);
  rows = plane.rows;
  columns = plane.cols;
  bool good = true;
  if (pixels && capacity < plane.numPixels())
    good = fault.set(Fault::InvalidArgument,
                     "capacity: found %zu, expected %" PRIu64, capacity,
                     plane.numPixels());
  else if (pixels)
    good = stream_.tellPixels(isInput, number, pixels, fault);
  running_.store(false, std::memory_order_release);
  return good;
}

bool Session::hint(const nnv12_stream_hint &hint, Fault &fault) {
  if (!stream_.isOn())
    return fault.set(Fault::InvalidArgument,
                     "hint: found a session without a stream, expected one");
  if (running_.exchange(true, std::memory_order_acquire))
    return fault.set(Fault::Busy, "the session runs already");
  bool good = stream_.hint(hint, fault);
  running_.store(false, std::memory_order_release);
  return good;
}

/// Whether the preparations of all executes are done. An overlay may have left
/// some of them.
bool Session::isPlanDone() const {
  const auto *operations = bundle_->chosenProgram()->operations();
  for (uint32_t i = 0; overlay() && i < steps_.size(); ++i)
    if (!lanes_.preparations().areDone(operations->Get(i)->after()))
      return false;
  return true;
}

/// Before a run: changes to the steps of later runs once all of them are ready,
/// so that no run is half and half. False when a preparation has failed: an
/// error is better than to stay slow for ever. Waits for nothing.
bool Session::takeLater(Fault &fault) {
  if (isSteady_)
    return true;
  if (lanes_.hasFailed())
    return reportFailure(fault);
  // An overlay may have settled since releaseLater(): the next run releases the
  // CPU's preparations for that, and takes them.
  if (overlay() &&
      (!overlay()->isReadyForLater() || overlay()->knowledge() != knowledge_))
    return true;
  uint32_t count = 0;
  for (const Change &change : changes_) {
    bool isHeld = lanes_.areHeld(change.after);
    if (!isHeld && !lanes_.preparations().areDone(change.after))
      return true;
    count += !isHeld;
  }
  for (const Change &change : changes_)
    if (!lanes_.areHeld(change.after))
      steps_[change.step.operation] = change.step;
  changesDone_.store(count, std::memory_order_relaxed);
  steadyRun_.store(numRuns_, std::memory_order_relaxed);
  isSteady_ = true;
  if (count && stream_.isOn())
    stream_.adopt(steps_);
  return true;
}

/// Until there is nothing left that any run would wait for or change to. The
/// calling thread prepares as well, a piece at a time. False where a
/// preparation has failed or the deadline is over.
bool Session::prepareAll(Fault &fault) {
  lanes_.beginLater();
  for (;;) {
    uint32_t seen = events_.seen();
    bool isSettled = lanes_.areAllDone();
    if (overlay()) {
      // Asks this first: the answer may leave more to prepare.
      bool isOverlaySettled = overlay()->isSettled();
      releaseLater();
      isSettled = isOverlaySettled && lanes_.areAllDone();
    }
    if (lanes_.hasFailed())
      return reportFailure(fault);
    if (isSettled)
      return true;
    if (isLate())
      return fault.set(Fault::TimedOut,
                       "time is over: found %u of %u preparations done%s",
                       lanes_.numDone(), lanes_.numWanted(),
                       lanes_.areAllDone() ? ", and a GPU being prepared" : "");
    // Other threads signal the end of their preparations.
    if (!lanes_.prepareInBackground(0))
      events_.sleep(seen, Events::Preparation, deadline_);
  }
}

bool Session::prepare(uint32_t milliseconds, Fault &fault) {
  if (running_.exchange(true, std::memory_order_acquire))
    return fault.set(Fault::Busy, "the session runs already");
  FloatMode mode;
  deadline_ = now() + milliseconds * uint64_t(1000000);
  if (overlay())
    overlay()->start();
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

bool Session::select(const uint32_t *operations, uint32_t count, Fault &fault) {
  if (bundle_->metadata()->kind() != bundle::BundleKind_Tuning)
    return fault.set(Fault::InvalidArgument,
                     "session: found one of a model's bundle, expected kernels "
                     "to be measured");
  for (uint32_t i = 0; i < count; ++i)
    if (operations[i] >= steps_.size())
      return fault.set(Fault::InvalidArgument,
                       "operations: found %u, expected at most %zu",
                       operations[i], steps_.size() - 1);
  if (running_.exchange(true, std::memory_order_acquire))
    return fault.set(Fault::Busy, "the session runs already");
  // A step of no tiles computes nothing.
  const auto *all = bundle_->chosenProgram()->operations();
  for (uint32_t i = 0; i < steps_.size(); ++i)
    steps_[i].end = count ? steps_[i].begin : all->Get(i)->tile_end();
  for (uint32_t i = 0; i < count; ++i)
    steps_[operations[i]].end = all->Get(operations[i])->tile_end();
  running_.store(false, std::memory_order_release);
  return true;
}

/// Has the CPU prepare for later runs: for the layers that it will compute
/// itself, and for the overlay's.
void Session::releaseLater() {
  uint32_t known = overlay_->knowledge();
  if (known == knowledge_)
    return;
  uint32_t before = lanes_.numWanted();
  for (const Change &change : changes_)
    if (!overlay_->covers(change.step.operation))
      lanes_.release(change.after);
  overlay_->releaseNeeded(lanes_);
  knowledge_ = known;
  if (lanes_.numWanted() == before && !overlay_->isGone())
    return;
  isSteady_ = false;
  steadyRun_.store(NNV12_NO_RUN, std::memory_order_relaxed);
  events_.happen(Events::Preparation);
}

/// Begins a run of which an overlay may take a part.
bool Session::beginBeside(Fault &fault) {
  if (overlay_->hangReason())
    return fault.set(Fault::Io, "%s", overlay_->hangReason());
  bool isWaited = overlay_->isWaitedFor() && !isSteady_;
  if (isWaited && !prepareAll(fault))
    return false;
  releaseLater();
  // A first run follows the plan, unless it has waited.
  return !(hasResult_ || isWaited) || takeLater(fault);
}

bool Session::runOnce(Fault &fault) {
  FloatMode mode;
  if ((overlay() && !beginBeside(fault)) || (planDone_ && !takeLater(fault)))
    return false;
  if (overlay()) {
    overlay()->runBegins(isSteady_    ? OverlayExecutor::Run::Later
                         : hasResult_ ? OverlayExecutor::Run::Next
                                      : OverlayExecutor::Run::First,
                         callers_);
    (void)moveArena();
  }
  // The first result comes by the plan, as soon as without a stream.
  bool isFirst = !planDone_,
       isFrame = stream_.isOn() && hasResult_ && stream_.takesNext();
  bool good = isFrame ? runFrame(fault) : runSteps(fault);
  if (isFirst) {
    planDone_ = good && isPlanDone();
    // The outputs are the caller's again.
    firstTouch_.close();
    team_.release();
  }
  return good;
}

bool Session::run(const nnv12_input *inputs, uint32_t numInputs,
                  const nnv12_output *outputs, uint32_t numOutputs,
                  uint64_t until, Fault &fault) {
  if (!checkBuffers(inputs, numInputs, bundle_->inputs(), "input", fault) ||
      !checkBuffers(outputs, numOutputs, bundle_->outputs(), "output", fault))
    return false;
  if (isOver(until))
    return fault.set(Fault::TimedOut,
                     "deadline: found one that was over before the run");
  if (running_.exchange(true, std::memory_order_acquire))
    return fault.set(Fault::Busy, "the session runs already");
  deadline_ = until;
  lanes_.setDeadline(until);
  callers_ = {inputs, outputs};
  operands_.setBuffers(callers_);
  if (!planDone_)
    for (uint32_t i = 0; i < numOutputs; ++i)
      firstTouch_.add(elementOf(outputs, i).data, elementOf(outputs, i).size,
                      /*ours=*/false);
  recorder_.beginRun();
  bool mayPrepare = lanes_.isLater() && lanes_.mayPrepareInBackground();
  uint64_t start = mayPrepare ? now() : 0;
  workers_.beginRun();
  bool good = runOnce(fault);
  workers_.endRun();
  if (uint64_t end = mayPrepare ? now() : never; good && end < deadline_)
    lanes_.prepareInBackground(std::min((end - start) / 16, deadline_ - end));
  if (good && !lanes_.isLater())
    lanes_.beginLater();
  stream_.forgetHints();
  recorder_.endRun(good ? Fault::None : fault.code);
  hasResult_ |= good;
  ++numRuns_;
  running_.store(false, std::memory_order_release);
  return good;
}

} // namespace nnv12::runtime
