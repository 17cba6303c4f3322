//===- Gpu.cpp - A session's use of a GPU ---------------------------------===//
#include "runtime/Gpu.h"

#include "artifact/Compatibility.h"
#include "artifact/ProgramView.h"

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

bool Gpu::create(const nnv12_bundle &of, const nnv12_session_options &options,
                 Memory places, uint64_t sizeOfArena, const Preparations &ofCpu,
                 Events &told, Recorder &to, Fault &fault) {
  bundle = &of;
  program = of.chosenProgram();
  memory = places;
  arenaSize = sizeOfArena;
  prepared = &ofCpu;
  events = &told;
  recorder = &to;
  mode = options.gpu;
  // Drivers run the compiled code that they find in the folder. So a bundle
  // that was opened with a key or a digest has one only if the application
  // names it.
  const char *cache = options.gpu_cache_dir;
  if (!cache && of.takesNoOther())
    cache = "";
  hasFolder = cache != nullptr;
  if (cache && strlen(cache) >= sizeof folderText)
    return fault.set(Fault::InvalidArgument,
                     "gpu_cache_dir: found %zu bytes, expected less than %zu",
                     strlen(cache), sizeof folderText);
  if (cache)
    strcpy(folderText, cache);
  mostThreads = options.gpu_threads;
  return wish.set(options.vulkan_library, options.gpu_device_uuid,
                  options.allow_software_gpu != 0, fault);
}

void Gpu::sessionBegins(bool hasSpareCpu) {
#ifdef NNV12_TEST_HOOKS
  hasSpareCpu |= forcedStretch != none;
#endif
  bool isPlanned = mode == NNV12_GPU_AUTO && hasSpareCpu &&
                   program->overlay()->start() == bundle::GpuStart_AtOpen;
  if (isPlanned || isWaitedFor())
    start();
}

void Gpu::start() {
  if (isStarted)
    return;
  isStarted = true;
  hasThread = startThread(0, /*bringsWeights=*/false);
  if (!hasThread)
    fail("the system refuses a thread for it");
}

bool Gpu::startThread(uint32_t number, bool bringsWeights) {
  Member &member = members[number];
  member.gpu = this;
  member.number = number;
  member.bringsWeights = bringsWeights;
  // Before it can start others itself.
  ++numMembers;
  ThreadStarter starter(ThreadStarter::Slices::Default, driverStack);
  if (starter.start(member.thread, threadMain, &member, CpuMask()) == 0)
    return true;
  --numMembers;
  return false;
}

/// How many there are depends on whether pipelines have to be compiled, and
/// whether the CPUs have anything else to do. Weights and pipelines come side
/// by side.
void Gpu::startOthers() {
  uint32_t wanted = mostThreads, cpus = availableCpus();
  if (wanted == 0) {
    wanted = isWaitedFor() ? cpus : std::max(cpus / 2, 1u);
    if (pipelines.isCached())
      wanted = isWaitedFor() ? 4 : 2;
  }
  wanted = std::min({wanted, lanes.numLanes(), mostMembers});
  while (numMembers < wanted &&
         startThread(numMembers, /*bringsWeights=*/numMembers + 1 == wanted)) {
  }
}

Gpu::~Gpu() {
  stop.store(true);
  if (hasThread) {
    events->wakeAll();
    // The first one starts and counts the others.
    pthread_join(members[0].thread, nullptr);
    for (uint32_t i = 1; i < numMembers; ++i)
      pthread_join(members[i].thread, nullptr);
  }
  // Memory that a device still works on must stay, and so must all that it
  // hangs on.
  if (!device)
    return;
  if (hung || uploads.isHung() || warmUp.isHung()) {
    device->abandon();
    return;
  }
  stretches.destroy();
  warmUp.destroy();
  uploads.destroy();
  pipelines.destroy();
  places.destroy();
  device->release();
}

//===----------------------------------------------------------------------===//
// Preparing
//===----------------------------------------------------------------------===//

void *Gpu::threadMain(void *argument) {
  auto *member = static_cast<Member *>(argument);
  member->gpu->work(*member);
  return nullptr;
}

bool Gpu::mayGoOn() const {
  return !stop.load(std::memory_order_relaxed) && phase() != Phase::Failed;
}

void Gpu::work(const Member &member) {
#ifndef NNV12_TEST_HOOKS
  // A driver's threads inherit that: of a software device, those that compute.
  if (!isWaitedFor() && !wish.allowSoftware) {
    sched_param parameters = {};
    sched_setscheduler(0, SCHED_BATCH, &parameters);
    constexpr int niceness = 10;
    if (getpriority(PRIO_PROCESS, 0) < niceness)
      setpriority(PRIO_PROCESS, 0, niceness);
  }
#endif
  Fault fault;
  if (member.number == 0) {
    began.store(now(), std::memory_order_relaxed);
    phaseNow.store(Phase::Starting, std::memory_order_release);
    if (!begin(fault)) {
      fail(fault.text);
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
    uint32_t seen = events->seen();
    if (stop.load(std::memory_order_relaxed))
      return;
    events->sleep(seen, Events::Preparation);
  }
}

/// Until there is nothing left. All waits end with an event: of the session's
/// own plan, of another of these threads, or of the end.
void Gpu::workOnLanes(const Member &member) {
  for (;;) {
    uint32_t seen = events->seen();
    if (!mayGoOn())
      return;
    if (prepared->hasFailed()) {
      fail("its weights are damaged");
      return;
    }
    uint32_t index = lanes.take(member.number, member.bringsWeights);
    if (index != GpuLanes::none) {
      Fault fault;
      bool isDropped = false;
      uint64_t start =
          recorder->mayRecord(RecordLevel::Operation) ? recorder->ticks() : 0;
      if (!prepare(index, isDropped, fault)) {
        fail(fault.text);
        return;
      }
      writeRecord(index, member.number, start);
      lanes.finish(index, !isDropped);
      events->happen(Events::Preparation);
    } else if (lanes.isOver()) {
      settle();
      stay();
      return;
    } else {
      events->sleep(seen, Events::Preparation);
    }
  }
}

/// Before anything of the overlay is used.
bool Gpu::begin(Fault &fault) {
  Fault why;
  overlays = bundle->loadOverlays(overlaysCopy, why);
  if (!overlays)
    return fault.set(Fault::BadBundle,
                     "the bundle's part for GPUs is damaged: %.400s", why.text);
  gpu = artifact::gpuOf(overlays, program);
  if (!gpu)
    return fault.set(Fault::Unsupported,
                     "the bundle's part for GPUs is for newer readers");
  if (!lanes.create(program, gpu, *prepared) || !collect())
    return fault.set(Fault::OutOfMemory, "no memory to prepare it");
  for (const bundle::GpuPreparation *preparation : *gpu->preparations())
    burstLeft += preparation->stage() == bundle::GpuStage_Pipeline;
  phaseNow.store(Phase::Prepared, std::memory_order_release);
  events->happen(Events::Preparation);
  return true;
}

/// Fills the lists of stretches.
bool Gpu::collect() {
  uint32_t count = gpu->stretches()->size(), numCold = 0,
           numWarm = gpu->warm() ? gpu->warm()->size() : 0;
  for (const bundle::Stretch *stretch : *gpu->stretches())
    numCold += stretch->cold();
  if (!cold.allocate(numCold) || !warm.allocate(numWarm))
    return false;
  uint32_t at = 0;
  for (uint32_t i = 0; i < count; ++i)
    if (gpu->stretches()->Get(i)->cold())
      cold[at++] = i;
  for (uint32_t i = 0; i < numWarm; ++i)
    warm[i] = gpu->warm()->Get(i);
  return true;
}

/// `isDropped`: the device cannot do it, which is no failure.
bool Gpu::prepare(uint32_t index, bool &isDropped, Fault &fault) {
  const bundle::GpuPreparation *preparation = gpu->preparations()->Get(index);
  switch (preparation->stage()) {
  case bundle::GpuStage_Device:
    return openDevice(fault);
  case bundle::GpuStage_Pipeline:
    return makePipelines(preparation, fault);
  case bundle::GpuStage_Upload:
    for (const bundle::Upload *upload : *preparation->uploads())
      if (!mayGoOn() || !uploads.upload(upload, fault))
        return false;
    return true;
  case bundle::GpuStage_Record:
    if (Lack lack = stretches.lack(preparation->stretch())) {
      isDropped = true;
      // The first one counts. settle() comes after all of these.
      if (!isLacking.exchange(true))
        lacks = lack;
      return true;
    }
    return stretches.record(preparation->stretch(), fault);
  }
  return false;
}

/// Records a preparation that began at `start`; 0: nothing.
void Gpu::writeRecord(uint32_t index, uint32_t thread, uint64_t start) {
  if (!start)
    return;
  static_assert(int(RecordKind::GpuCommands) - int(RecordKind::GpuDevice) ==
                bundle::GpuStage_Record - bundle::GpuStage_Device);
  Record record = {};
  record.start = start;
  record.ticks = recorder->ticks() - start;
  record.index = index;
  record.kind = static_cast<RecordKind>(
      uint8_t(RecordKind::GpuDevice) +
      uint8_t(gpu->preparations()->Get(index)->stage()));
  record.lane = static_cast<uint8_t>(thread);
  Lock lock(recording);
  recorder->writeGpu(record);
}

bool Gpu::openDevice(Fault &fault) {
  device = GpuDevice::acquire(wish, folder(), fault);
  if (!device)
    return false;
  openTime.store(now() - began.load(std::memory_order_relaxed),
                 std::memory_order_relaxed);
  GpuMemory::Sizes sizes = {};
  for (const bundle::Memory *of : *gpu->memories())
    (of->kind() == bundle::MemoryKind_Arena ? sizes.arena : sizes.prepared) =
        of->size();
  sizes.handedOver = Stretches::handedOver(gpu);
  if (!places.create(*device, sizes, memory.arena, arenaSize, fault) ||
      !pipelines.create(bundle->metadata(), overlays->gpu(), bundle->image(),
                        *device, folder(), fault) ||
      !uploads.create(*bundle, memory, *device, places, fault) ||
      !stretches.create(gpu, memory.arena, *device, places, pipelines,
                        *recorder, fault) ||
      (device->isSoftware() &&
       !warmUp.create(overlays->gpu(), *device, places, pipelines, fault)))
    return false;
  name.store(device->name(), std::memory_order_release);
  imported.store(places.host().size, std::memory_order_relaxed);
  startOthers();
  return true;
}

bool Gpu::makePipelines(const bundle::GpuPreparation *preparation,
                        Fault &fault) {
  Array<uint32_t> wanted;
  if (!wanted.allocate(preparation->pipelines()->size()))
    return fault.set(Fault::OutOfMemory, "no memory for pipelines");
  uint32_t count = 0;
  for (uint32_t index : *preparation->pipelines())
    if (!pipelines.lack(index))
      wanted[count++] = index;
  if (!trying.begin(folder(), device->cacheKey(), device->name(), fault))
    return false;
  bool good = pipelines.make(wanted.data(), count, fault) &&
              (!device->isSoftware() || count == 0 ||
               warmUp.run(wanted.data(), count, fault));
  bool isLast = good && burstLeft.fetch_sub(1, std::memory_order_acq_rel) == 1;
  trying.end(isLast);
  if (!good)
    return false;
  if (isLast)
    pipelines.save();
  return true;
}

void Gpu::settle() {
  bool isUsed = false;
  for (uint32_t i = 0; i < gpu->stretches()->size(); ++i)
    isUsed |= isReady(i);
  char text[sizeof reason] = "";
  if (lacks)
    snprintf(text, sizeof text,
             "%.100s lacks %s: found %" PRIu64 ", expected %" PRIu64,
             device->name(), lacks.what, lacks.found, lacks.expected);
  else if (!isUsed)
    snprintf(text, sizeof text,
             "%.100s lacks weights that this session does not prepare",
             device->name());
  if (!isUsed) {
    fail(text);
    return;
  }
  // Only one of several threads that come here says the reason.
  if (isReasonSaid.exchange(true))
    return;
  snprintf(reason, sizeof reason, "%s", text);
  readyTime.store(now() - began.load(std::memory_order_relaxed),
                  std::memory_order_relaxed);
  phaseNow.store(Phase::Settled, std::memory_order_release);
  events->happen(Events::Preparation);
}

void Gpu::fail(const char *why) {
  // The first reason counts.
  if (!isReasonSaid.exchange(true)) {
    snprintf(reason, sizeof reason, "%s", why);
    phaseNow.store(Phase::Failed, std::memory_order_release);
  }
  events->happen(Events::Preparation);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

bool Gpu::isSettled() const {
  Phase now = phase();
  return now == Phase::Settled || now == Phase::Failed;
}

bool Gpu::isReady(uint32_t stretch) const {
  return lanes.areDone(gpu->stretches()->Get(stretch)->after());
}

#ifdef NNV12_TEST_HOOKS
bool Gpu::isAwaitedAt(uint32_t index) const {
  if (forcedStretch == none || !isStarted)
    return false;
  // Until it is known where that is.
  while (phase() < Phase::Prepared)
    sched_yield();
  return !isSettled() && gpu->stretches()->Get(forcedStretch)->first() == index;
}
#endif

bool Gpu::isReadyForLater() const {
  Phase now = phase();
  if (now >= Phase::Settled || lost())
    return true;
  if (now != Phase::Prepared)
    return false;
  for (uint32_t stretch : warm)
    if (!isReady(stretch))
      return false;
  return true;
}

bool Gpu::covers(uint32_t execute) const {
  Phase now = phase();
  if (isGone())
    return false;
  if (now < Phase::Prepared)
    return true;
  for (uint32_t stretch : warm) {
    // Those that the device cannot do are done without.
    const bundle::Stretch *of = gpu->stretches()->Get(stretch);
    if (execute - of->first() < of->count() &&
        (now != Phase::Settled || isReady(stretch)))
      return true;
  }
  return false;
}

void Gpu::releaseNeeded(Lanes &of) const {
  if (Phase now = phase(); now == Phase::Prepared || now == Phase::Settled)
    for (const bundle::GpuPreparation *preparation : *gpu->preparations())
      of.release(preparation->after());
}

void Gpu::runBegins(bool isLater) {
  // The first run starts no thread: an application may want one result alone,
  // and starting a thread while others compute takes a tenth of a millisecond
  // and more.
  if (ran)
    start();
  numTaken.store(0, std::memory_order_relaxed);
  taken = nullptr;
  next = 0;
  Phase now = phase();
  if ((now != Phase::Prepared && now != Phase::Settled) || lost())
    return;
  if (isLater)
    taken = &warm;
  else if (!ran && mode == NNV12_GPU_AUTO)
    taken = &cold;
}

uint32_t Gpu::at(uint32_t index) {
#ifdef NNV12_TEST_HOOKS
  if (forcedStretch != none) {
    bool isNext = phase() == Phase::Settled && !lost() &&
                  gpu->stretches()->Get(forcedStretch)->first() == index &&
                  isReady(forcedStretch);
    return isNext ? forcedStretch : none;
  }
#endif
  if (!taken || lost())
    return none;
  const auto *all = gpu->stretches();
  while (next < taken->size() && all->Get((*taken)[next])->first() < index)
    ++next;
  for (uint32_t i = next;
       i < taken->size() && all->Get((*taken)[i])->first() == index; ++i)
    if (isReady((*taken)[i]))
      return (*taken)[i];
  return none;
}

Gpu::Result Gpu::run(uint32_t stretch, const CallersBuffers &buffers,
                     Fault &fault) {
  Result result = stretches.run(stretch, buffers, fault);
  if (result == Result::Done)
    numTaken.fetch_add(1, std::memory_order_relaxed);
  if (result == Result::Hung) {
    hung = true;
    const bundle::Operation *operation =
        program->operations()->Get(gpu->stretches()->Get(stretch)->first());
    snprintf(hangReason, sizeof hangReason,
             "layer '%.100s': the GPU was asked for it and the following ones, "
             "and gave no answer: %.100s",
             operation->layer()->c_str(), fault.text);
    reportHang(fault);
  }
  return result;
}

bool Gpu::reportHang(Fault &fault) const {
  return fault.set(Fault::Io, "%s", hangReason);
}

bool Gpu::lost() const {
  return name.load(std::memory_order_acquire) && device->isLost();
}

void Gpu::tell(nnv12_session_info &info) const {
  Phase now = phase();
  const char *device = name.load(std::memory_order_acquire);
  info.gpu_device_name = device ? device : "";
  info.gpu_stretches_taken = numTaken.load(std::memory_order_relaxed);
  if (device) {
    info.gpu_pipelines = pipelines.numMade();
    info.gpu_pipelines_cached = pipelines.numCached();
    info.gpu_cache = pipelines.cacheState();
    info.gpu_bytes_uploaded = uploads.bytes();
    info.gpu_bytes_imported = imported.load(std::memory_order_relaxed);
    info.gpu_open_ns = openTime.load(std::memory_order_relaxed);
    info.gpu_ready_ns = readyTime.load(std::memory_order_relaxed);
  }
  if (now == Phase::Failed) {
    info.gpu_state = NNV12_GPU_FAILED;
    info.gpu_reason = reason;
    return;
  }
  if (lost()) {
    info.gpu_state = NNV12_GPU_LOST;
    info.gpu_reason = this->device->lossReason();
    return;
  }
  if (now == Phase::Settled) {
    info.gpu_state = NNV12_GPU_READY;
    info.gpu_reason = reason;
  } else if (now == Phase::Idle) {
    info.gpu_state = NNV12_GPU_WAITING;
    info.gpu_reason = "it is asked for after the first result";
  } else {
    info.gpu_state = NNV12_GPU_STARTING;
    info.gpu_reason = "it is being prepared";
  }
  if (now < Phase::Prepared)
    return;
  const auto *all = gpu->stretches();
  info.gpu_stretches = all->size();
  for (uint32_t i = 0; i < all->size(); ++i)
    info.gpu_stretches_ready += isReady(i);
}

} // namespace nnv12::runtime
