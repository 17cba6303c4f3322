//===- Gpu.cpp - A session's use of a GPU ---------------------------------===//
#include "runtime/Gpu.h"

#include "artifact/Compatibility.h"
#include "artifact/ProgramView.h"
#include "runtime/LoadedBundle.h"

#include <algorithm>
#include <cinttypes>
#include <sched.h>
#include <sys/resource.h>

namespace nnv12::runtime {

using artifact::Fault;

#ifdef NNV12_TEST_HOOKS
/// The stretch that every run takes, once the GPU is ready, and no other; see
/// test/unit/gpu/GpuRunTest.cpp.
uint32_t forcedStretch = Gpu::none;
#endif

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

OverlayExecutor *createGpu(const LoadedBundle &bundle,
                           const nnv12_gpu_options &options, Memory memory,
                           const Lanes &host, Events &events,
                           Recorder &recorder, Fault &fault) {
  auto *gpu = runtime::create<Gpu>();
  if (!gpu) {
    fault.set(Fault::OutOfMemory, "no memory for a session");
  } else if (gpu->create(bundle, options, memory, host, events, recorder,
                         fault)) {
    return gpu;
  }
  destroy(gpu);
  return nullptr;
}

bool Gpu::create(const LoadedBundle &bundle, const nnv12_gpu_options &options,
                 Memory memory, const Lanes &host, Events &events,
                 Recorder &recorder, Fault &fault) {
  bundle_ = &bundle;
  program_ = bundle.chosenProgram();
  memory_ = memory;
  host_ = &host;
  events_ = &events;
  recorder_ = &recorder;
  mode_ = options.mode;
  // Drivers run the compiled code that they find in the folder. So a bundle
  // that was opened with a key or a digest has one only if the application
  // names it.
  const char *cache = options.cache_dir;
  if (!cache && bundle.takesNoOther())
    cache = "";
  hasFolder_ = cache != nullptr;
  if (cache && strlen(cache) >= sizeof folderText_)
    return fault.set(Fault::InvalidArgument,
                     "gpu: cache_dir: found %zu bytes, expected less than %zu",
                     strlen(cache), sizeof folderText_);
  if (cache)
    strcpy(folderText_, cache);
  mostThreads_ = options.threads;
  return wish_.set(options, fault);
}

void Gpu::sessionBegins(bool hasSpareCpu) {
#ifdef NNV12_TEST_HOOKS
  hasSpareCpu |= forcedStretch != none;
#endif
  bool isPlanned =
      mode_ == NNV12_GPU_AUTO && hasSpareCpu &&
      bundle_->gpuOverlay()->head()->start() == bundle::OverlayStart_AtOpen;
  if (isPlanned || isWaitedFor())
    start();
}

void Gpu::start() {
  if (isStarted_)
    return;
  isStarted_ = true;
  hasThread_ = startThread(0, /*bringsWeights=*/false);
  if (!hasThread_)
    giveUp("the system refuses a thread for it");
}

bool Gpu::startThread(uint32_t number, bool bringsWeights) {
  Member &member = members_[number];
  member = {this, number, bringsWeights, {}};
  // Before it can start others itself.
  ++numMembers_;
  ThreadStarter starter(ThreadStarter::Slices::Default, driverStack);
  if (starter.start(member.thread, threadMain, &member, CpuMask()) == 0)
    return true;
  --numMembers_;
  return false;
}

/// How many there are depends on whether pipelines have to be compiled, and
/// whether the CPUs have anything else to do. Weights and pipelines come side
/// by side.
void Gpu::startOthers() {
  uint32_t wanted = mostThreads_, cpus = availableCpus();
  if (wanted == 0) {
    wanted = isWaitedFor() ? cpus : std::max(cpus / 2, 1u);
    if (pipelines_.isCached())
      wanted = isWaitedFor() ? 4 : 2;
  }
  wanted = std::min({wanted, lanes_.numLanes(), mostMembers});
  while (
      numMembers_ < wanted &&
      startThread(numMembers_, /*bringsWeights=*/numMembers_ + 1 == wanted)) {
  }
}

Gpu::~Gpu() {
  stop_.store(true);
  if (hasThread_) {
    events_->wakeAll();
    // The first one starts and counts the others.
    pthread_join(members_[0].thread, nullptr);
    for (uint32_t i = 1; i < numMembers_; ++i)
      pthread_join(members_[i].thread, nullptr);
  }
  // Memory that a device still works on must stay, and so must all that it
  // hangs on.
  if (!device_)
    return;
  bool isHung = *hangReason_ || uploads_.isHung() || warmUp_.isHung();
  leaveWeights(isHung);
  if (isHung) {
    device_->abandon();
    return;
  }
  stretches_.destroy();
  warmUp_.destroy();
  uploads_.destroy();
  pipelines_.destroy();
  places_.destroy();
  device_->release();
}

//===----------------------------------------------------------------------===//
// Preparing
//===----------------------------------------------------------------------===//

void *Gpu::threadMain(void *argument) {
  auto *member = static_cast<Member *>(argument);
  member->gpu->work(*member);
  return nullptr;
}

void Gpu::work(const Member &member) {
#ifndef NNV12_TEST_HOOKS
  // A driver's threads inherit that: of a software device, those that compute.
  if (!isWaitedFor() && !wish_.allowSoftware) {
    sched_param parameters = {};
    sched_setscheduler(0, SCHED_BATCH, &parameters);
    constexpr int niceness = 10;
    if (getpriority(PRIO_PROCESS, 0) < niceness)
      setpriority(PRIO_PROCESS, 0, niceness);
  }
#endif
  Fault fault;
  if (member.number == 0) {
    began_.store(now(), std::memory_order_relaxed);
    phaseNow_.store(Phase::Starting, std::memory_order_release);
    if (!begin(fault)) {
      giveUp(fault.text);
      return;
    }
  }
  workOnLanes(member);
}

/// A driver frees a thread's data when the thread ends, and holds a lock that
/// the next run's first call needs meanwhile, 11 ms long on an H100. So threads
/// end with the session.
void Gpu::stay() {
  for (;;) {
    uint32_t seen = events_->seen();
    if (stop_.load(std::memory_order_relaxed))
      return;
    events_->sleep(seen, Events::Preparation);
  }
}

/// Until there is nothing left. All waits end with an event: of the session's
/// own plan, of another of these threads, or of the end.
void Gpu::workOnLanes(const Member &member) {
  Lanes::Role role =
      member.bringsWeights ? Lanes::Role::Upload : Lanes::Role::Prepare;
  for (;;) {
    uint32_t seen = events_->seen();
    if (!mayGoOn())
      return;
    if (host_->hasFailed()) {
      giveUp("its weights are damaged");
      return;
    }
    if (lanes_.help(member.number, role, /*idle=*/false) == Lanes::Help::Did)
      continue;
    if (lanes_.areAllOver()) {
      settle();
      stay();
      return;
    }
    events_->sleep(seen, Events::Preparation);
  }
}

bool Gpu::Items::create(const bundle::Program *program,
                        const bundle::ProgramGpu *overlay, const Lanes &host) {
  static_assert(int(RecordKind::GpuCommands) - int(RecordKind::GpuDevice) ==
                bundle::GpuStage_Record - bundle::GpuStage_Device);
  const auto *all = overlay->preparations();
  if (!allocate(program->operations()->size(), all->size(),
                &host.preparations()))
    return false;
  for (uint32_t i = 0; i < all->size(); ++i) {
    items_[i].after = all->Get(i)->after();
    items_[i].kind = static_cast<RecordKind>(uint8_t(RecordKind::GpuDevice) +
                                             uint8_t(all->Get(i)->stage()));
    cut(items_[i], 1, 1);
  }
  return true;
}

void Gpu::Items::dropUnwanted(const Lanes &host) {
  for (uint32_t i = 0; i < size(); ++i)
    for (uint32_t before : artifact::elementsOf(items_[i].after))
      if (host.preparations().isPreparation(before) &&
          host.isUnwanted(host.preparations().indexOf(before))) {
        drop(i);
        break;
      }
}

void Gpu::Items::share(GpuWeights &weights) {
  for (uint32_t i = 0; i < size(); ++i)
    if (kindOf(i) == RecordKind::GpuUpload && endOf(i) == End::Open) {
      items_[i].listeners = &weights.listeners;
      items_[i].progress.store(&weights.progress[i], std::memory_order_release);
    }
}

Progress::End Gpu::Items::compute(uint32_t index, uint64_t, uint64_t,
                                  Preparer &) {
  return gpu_.prepare(index);
}

/// All threads that prepare for a GPU write to one ring.
void Gpu::Items::write(Record &record, uint32_t thread, uint32_t,
                       Recorder &recorder) const {
  record.ticks = recorder.ticks() - record.start;
  record.lane = static_cast<uint8_t>(thread);
  Lock lock(gpu_.recording_);
  recorder.writeGpu(record);
}

/// Before anything of the overlay is used.
bool Gpu::begin(Fault &fault) {
  Fault why;
  overlays_ = bundle_->loadOverlays(overlaysCopy_, why);
  if (!overlays_)
    return fault.set(Fault::BadBundle,
                     "the bundle's part for GPUs is damaged: %.400s", why.text);
  gpu_ = artifact::gpuOf(bundle_->metadata(), overlays_, program_);
  if (!gpu_)
    return fault.set(Fault::Unsupported,
                     "the bundle's part for GPUs is for newer readers");
  Lanes::Options options;
  options.preparing = mostMembers - 1;
  if (!items_.create(program_, gpu_, *host_) || !collect() ||
      !parts_.create(gpu_, bundle_->loaded(), memory_))
    return fault.set(Fault::OutOfMemory, "no memory to prepare it");
  if (!lanes_.create(items_, gpu_->lanes(), options, nullptr, 0, *events_,
                     *recorder_, fault))
    return false;
  itself_.events = shared_.events = events_;
  items_.listeners().add(itself_);
  items_.dropUnwanted(*host_);
  for (const bundle::GpuPreparation *preparation : *gpu_->preparations())
    burstLeft_ += preparation->stage() == bundle::GpuStage_Pipeline;
  phaseNow_.store(Phase::Prepared, std::memory_order_release);
  events_->happen(Events::Preparation);
  return true;
}

/// Fills the lists of stretches.
bool Gpu::collect() {
  const auto &warm = artifact::elementsOf(gpu_->warm());
  uint32_t count = gpu_->stretches()->size(), numCold = 0;
  for (const bundle::Stretch *stretch : *gpu_->stretches())
    numCold += stretch->cold();
  if (!cold_.allocate(numCold) || !warm_.allocate(warm.size()) ||
      !steps_.allocate(count))
    return false;
  uint32_t at = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const bundle::Stretch *stretch = gpu_->stretches()->Get(i);
    steps_[i] = {this, stretch->first(), stretch->count(), 0,
                 0,    nullptr,          nullptr,          false};
    if (stretch->cold())
      cold_[at++] = i;
  }
  std::copy(warm.begin(), warm.end(), warm_.begin());
  return true;
}

/// A failure is that of the whole.
Progress::End Gpu::prepare(uint32_t index) {
  const bundle::GpuPreparation *preparation = gpu_->preparations()->Get(index);
  Fault fault;
  bool good = true;
  switch (preparation->stage()) {
  case bundle::GpuStage_Device:
    good = openDevice(fault);
    break;
  case bundle::GpuStage_Pipeline:
    good = makePipelines(preparation, fault);
    break;
  case bundle::GpuStage_Upload:
    for (const bundle::Upload *upload : *preparation->uploads()) {
      if (!mayGoOn())
        return Progress::End::Open;
      if (!(good = uploads_.upload(upload, fault)))
        break;
    }
    break;
  case bundle::GpuStage_Record:
    if (Lack lack = stretches_.lack(preparation->stretch())) {
      // The first one counts. settle() comes after all of these.
      if (!isLacking_.exchange(true))
        lacks_ = lack;
      return Progress::End::Dropped;
    }
    good = stretches_.record(preparation->stretch(), fault);
  }
  if (good)
    return Progress::End::Done;
  giveUp(fault.text);
  return Progress::End::Open;
}

bool Gpu::openDevice(Fault &fault) {
  device_ = GpuDevice::acquire(wish_, folder(), fault);
  if (!device_)
    return false;
  openTime_.store(now() - began_.load(std::memory_order_relaxed),
                  std::memory_order_relaxed);
  if (!makeMemory(fault) ||
      !pipelines_.create(bundle_->metadata(), overlays_->gpu(),
                         bundle_->image(), *device_, folder(), fault) ||
      !uploads_.create(bundle_->loaded(), memory_, *device_, places_, fault) ||
      !stretches_.create(gpu_, memory_.arena, *device_, places_, pipelines_,
                         *recorder_, fault) ||
      (device_->isSoftware() &&
       !warmUp_.create(overlays_->gpu(), *device_, places_, pipelines_, fault)))
    return false;
  name_.store(device_->name(), std::memory_order_release);
  if (places_.host().mapped == memory_.arena)
    imported_.store(places_.host().size, std::memory_order_relaxed);
  startOthers();
  return true;
}

/// Weights that another session has there, or brings there, are shared.
bool Gpu::makeMemory(Fault &fault) {
  GpuMemory::Sizes sizes = {};
  for (const bundle::Memory *of : *gpu_->memories())
    (of->kind() == bundle::MemoryKind_Arena ? sizes.arena : sizes.prepared) =
        of->size();
  sizes.handedOver = Stretches::handedOver(gpu_);
  if (const bundle::Memory *arena =
          artifact::memoryOf(program_, bundle::MemoryKind_Arena)) {
    sizes.host = arena->size();
    sizes.hostAlignment = arena->alignment();
  }
  Lock lock(device_->sharing);
  GpuWeights *weights = device_->weights;
  while (weights && weights->bundle != bundle_)
    weights = weights->next;
  if (!places_.create(*device_, sizes, memory_.arena,
                      weights ? &weights->prepared : nullptr, fault)) {
    if (weights)
      places_.leavePrepared();
    return false;
  }
  if (!weights) {
    weights = runtime::create<GpuWeights>();
    if (!weights || !weights->progress.allocate(items_.size())) {
      destroy(weights);
      return fault.set(Fault::OutOfMemory, "no memory to prepare it");
    }
    weights->bundle = bundle_;
    weights->prepared = places_.prepared();
    weights->next = device_->weights;
    device_->weights = weights;
  }
  ++weights->sessions;
  weights->listeners.add(shared_);
  items_.share(*weights);
  weights_ = weights;
  return true;
}

/// The last session's memory has them to the end. Those that a device may still
/// write to stay, and sessions that begin later do not share them.
void Gpu::leaveWeights(bool isHung) {
  if (!weights_)
    return;
  weights_->listeners.remove(shared_);
  Lock lock(device_->sharing);
  if (isHung) {
    weights_->bundle = nullptr;
    return;
  }
  if (--weights_->sessions) {
    places_.leavePrepared();
    return;
  }
  takeOut(device_->weights, *weights_, &GpuWeights::next);
  destroy(weights_);
}

bool Gpu::makePipelines(const bundle::GpuPreparation *preparation,
                        Fault &fault) {
  Array<uint32_t> wanted;
  if (!wanted.allocate(preparation->pipelines()->size()))
    return fault.set(Fault::OutOfMemory, "no memory for pipelines");
  uint32_t count = 0;
  for (uint32_t index : *preparation->pipelines())
    if (!pipelines_.lack(index))
      wanted[count++] = index;
  if (!trying_.begin(folder(), device_->cacheKey(), device_->name(), fault))
    return false;
  bool good = pipelines_.make(wanted.data(), count, fault) &&
              (!device_->isSoftware() || count == 0 ||
               warmUp_.run(wanted.data(), count, fault));
  bool isLast = good && burstLeft_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  trying_.end(isLast);
  if (!good)
    return false;
  if (isLast)
    pipelines_.save();
  return true;
}

void Gpu::settle() {
  bool isUsed = false;
  for (uint32_t i = 0; i < gpu_->stretches()->size(); ++i)
    isUsed |= isReady(i) || mayBecomeReady(i);
  char text[sizeof reason_] = "";
  if (lacks_)
    snprintf(text, sizeof text,
             "%.100s lacks %s: found %" PRIu64 ", expected %" PRIu64,
             device_->name(), lacks_.what, lacks_.found, lacks_.expected);
  else if (!isUsed)
    snprintf(text, sizeof text,
             "%.100s lacks weights that this session does not prepare",
             device_->name());
  if (!isUsed) {
    giveUp(text);
    return;
  }
  // Only one of several threads that come here says the reason.
  if (isReasonSaid_.exchange(true))
    return;
  snprintf(reason_, sizeof reason_, "%s", text);
  readyTime_.store(now() - began_.load(std::memory_order_relaxed),
                   std::memory_order_relaxed);
  phaseNow_.store(Phase::Settled, std::memory_order_release);
  events_->happen(Events::Preparation);
}

void Gpu::giveUp(const char *why) {
  // The first reason counts.
  if (!isReasonSaid_.exchange(true)) {
    snprintf(reason_, sizeof reason_, "%s", why);
    phaseNow_.store(Phase::Failed, std::memory_order_release);
  }
  events_->happen(Events::Preparation);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

#ifdef NNV12_TEST_HOOKS
bool Gpu::isAwaitedAt(uint32_t index) const {
  if (forcedStretch == none || !isStarted_)
    return false;
  // Until it is known where that is.
  while (phase() < Phase::Prepared)
    sched_yield();
  return !isSettled() &&
         gpu_->stretches()->Get(forcedStretch)->first() == index;
}
#endif

/// Whether nothing that the stretch waits for was dropped, or is never wanted.
/// Once the device is settled, only the CPU has anything to prepare for it.
bool Gpu::mayBecomeReady(uint32_t stretch) const {
  const Preparations &host = host_->preparations();
  for (uint32_t before :
       artifact::elementsOf(gpu_->stretches()->Get(stretch)->after())) {
    if (items_.isPreparation(before)
            ? items_.endOf(items_.indexOf(before)) == Progress::End::Dropped
            : host.isPreparation(before) &&
                  host_->isUnwanted(host.indexOf(before)))
      return false;
  }
  return true;
}

bool Gpu::isReadyForLater() const {
  Phase now = phase();
  if (isGone())
    return true;
  if (now < Phase::Prepared)
    return false;
  return std::all_of(warm_.begin(), warm_.end(), [&](uint32_t stretch) {
    return isReady(stretch) ||
           (now == Phase::Settled && !mayBecomeReady(stretch));
  });
}

bool Gpu::covers(uint32_t execute) const {
  Phase now = phase();
  if (isGone())
    return false;
  if (now < Phase::Prepared)
    return true;
  return std::any_of(warm_.begin(), warm_.end(), [&](uint32_t stretch) {
    // Stretches that the device cannot do are left to the CPU.
    const bundle::Stretch *of = gpu_->stretches()->Get(stretch);
    return execute - of->first() < of->count() &&
           (now != Phase::Settled || isReady(stretch) ||
            mayBecomeReady(stretch));
  });
}

void Gpu::releaseNeeded(Lanes &lanes) const {
  if (!isPrepared())
    return;
  for (const bundle::GpuPreparation *preparation : *gpu_->preparations())
    lanes.release(preparation->after());
  // The weights of parts.
  for (const bundle::Stretch *stretch : *gpu_->stretches())
    lanes.release(stretch->after());
}

/// Between runs the arena holds nothing. Nothing is recorded any more by now,
/// and no other thread uses the members that change.
void Gpu::moveArena() {
  uint8_t *place = places_.host().mapped;
  if (arena_ || !place)
    return;
  arena_ = place;
  parts_.move(memory_.arena,
              artifact::memorySize(program_, bundle::MemoryKind_Arena), place);
  stretches_.moveArena(place);
  imported_.store(places_.host().size, std::memory_order_relaxed);
}

void Gpu::runBegins(Run run, const CallersBuffers &buffers) {
  buffers_ = buffers;
  // The first run starts no thread: an application may want one result alone,
  // and starting a thread while others compute takes a tenth of a millisecond
  // and more.
  if (run != Run::First)
    start();
  numTaken_.store(0, std::memory_order_relaxed);
  taken_ = nullptr;
  next_ = 0;
  if (!isPrepared() || lost())
    return;
  if (phase() == Phase::Settled)
    moveArena();
  parts_.setBuffers(buffers);
  if (run == Run::Later)
    taken_ = &warm_;
  else if (run == Run::First && mode_ == NNV12_GPU_AUTO)
    taken_ = &cold_;
}

uint32_t Gpu::findStretch(uint32_t index) {
#ifdef NNV12_TEST_HOOKS
  if (forcedStretch != none) {
    bool isNext = phase() == Phase::Settled && !lost() &&
                  gpu_->stretches()->Get(forcedStretch)->first() == index &&
                  isReady(forcedStretch);
    return isNext ? forcedStretch : none;
  }
#endif
  if (!taken_ || lost())
    return none;
  const auto *all = gpu_->stretches();
  while (next_ < taken_->size() && all->Get((*taken_)[next_])->first() < index)
    ++next_;
  for (uint32_t i = next_;
       i < taken_->size() && all->Get((*taken_)[i])->first() == index; ++i)
    if (isReady((*taken_)[i]))
      return (*taken_)[i];
  return none;
}

const Step *Gpu::stepAt(uint32_t index) {
  uint32_t stretch = findStretch(index);
  return stretch == none ? nullptr : &steps_[stretch];
}

Executor::Result Gpu::wait(const Step &step, Fault &fault) {
  Result result = stretches_.wait(stretchOf(step), buffers_, fault);
  if (result == Result::Done)
    numTaken_.fetch_add(1, std::memory_order_relaxed);
  if (result == Result::Hung)
    snprintf(hangReason_, sizeof hangReason_,
             "layer '%.100s': the GPU was asked for it and the following ones, "
             "and gave no answer: %.100s",
             program_->operations()->Get(step.operation)->layer()->c_str(),
             fault.text);
  return result;
}

void Gpu::tell(nnv12_session_info &info) const {
  Phase now = phase();
  const char *device = name_.load(std::memory_order_acquire);
  info.gpu_device_name = device ? device : "";
  info.gpu_stretches_taken = numTaken_.load(std::memory_order_relaxed);
  if (device) {
    info.gpu_pipelines = pipelines_.numMade();
    info.gpu_pipelines_cached = pipelines_.numCached();
    info.gpu_cache = pipelines_.cacheState();
    info.gpu_bytes_uploaded = uploads_.bytes();
    info.gpu_bytes_imported = imported_.load(std::memory_order_relaxed);
    info.gpu_open_ns = openTime_.load(std::memory_order_relaxed);
    info.gpu_ready_ns = readyTime_.load(std::memory_order_relaxed);
  }
  static constexpr nnv12_gpu_state states[] = {
      NNV12_GPU_WAITING, NNV12_GPU_STARTING, NNV12_GPU_STARTING,
      NNV12_GPU_READY, NNV12_GPU_FAILED};
  info.gpu_state = states[uint32_t(now)];
  info.gpu_reason = now == Phase::Idle
                        ? "it is asked for after the first result"
                    : now < Phase::Settled ? "it is being prepared"
                                           : reason_;
  bool isFailed = now == Phase::Failed;
  if (!isFailed && lost()) {
    info.gpu_state = NNV12_GPU_LOST;
    info.gpu_reason = device_->lossReason();
    return;
  }
  if (isFailed || now < Phase::Prepared)
    return;
  const auto *all = gpu_->stretches();
  info.gpu_stretches = all->size();
  for (uint32_t i = 0; i < all->size(); ++i)
    info.gpu_stretches_ready += isReady(i);
}

} // namespace nnv12::runtime
