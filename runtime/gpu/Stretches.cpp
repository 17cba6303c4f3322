//===- Stretches.cpp - The GPU's part of a run ----------------------------===//
#include "runtime/gpu/Stretches.h"

#include "runtime/gpu/DispatchCommand.h"
#include "runtime/gpu/GpuCommands.h"
#include "runtime/system/Threads.h"

#include <algorithm>

namespace nnv12::runtime {

using artifact::Fault;
using RowsList = flatbuffers::Vector<flatbuffers::Offset<bundle::Rows>>;

static uint64_t sumOf(const RowsList *list) {
  uint64_t sum = 0;
  for (const bundle::Rows *rows : *list)
    sum += rows->bytes();
  return sum;
}

uint64_t Stretches::handedOver(const bundle::ProgramGpu *gpu) {
  uint64_t most = 0;
  for (const bundle::Stretch *stretch : *gpu->stretches())
    most = std::max(most, sumOf(stretch->in()) + sumOf(stretch->out()));
  return most;
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

bool Stretches::create(const bundle::ProgramGpu *gpu, uint8_t *arena,
                       GpuDevice &device, const GpuMemory &memory,
                       const GpuPipelines &pipelines, Recorder &recorder,
                       Fault &fault) {
  gpu_ = gpu;
  arena_ = arena;
  device_ = &device;
  memory_ = &memory;
  pipelines_ = &pipelines;
  uint32_t sets = 0, bindings = 0, mostDispatches = 0;
  for (const bundle::Stretch *stretch : *gpu_->stretches()) {
    mostDispatches = std::max(mostDispatches, stretch->dispatches()->size());
    for (const bundle::Dispatch *dispatch : *stretch->dispatches()) {
      ++sets;
      bindings += dispatch->operands()->size();
    }
  }
  times_.create(*device_, gpu_->stretches()->size(), mostDispatches, recorder);
  // Commands with time stamps have sets of their own.
  if (times_.isOn()) {
    sets *= 2;
    bindings *= 2;
  }
  if (!commands_.allocate(gpu_->stretches()->size()) ||
      !stamped_.allocate(gpu_->stretches()->size()))
    return fault.set(Fault::OutOfMemory, "no memory for stretches");
  descriptors_ = createDescriptorPool(sets, bindings, *device_, fault);
  if (!descriptors_)
    return false;
  const Vulkan &vk = device_->vulkan();
  auto commandInfo = makeStruct<VkCommandPoolCreateInfo>(
      VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  commandInfo.queueFamilyIndex = device_->family();
  if (!device_->make(vk.CreateCommandPool, commandInfo, pool_,
                     "vkCreateCommandPool", fault))
    return false;
  if (device_->hasTimeline()) {
    auto kind = makeStruct<VkSemaphoreTypeCreateInfoKHR>(
        VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO_KHR);
    kind.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE_KHR;
    auto info = makeStruct<VkSemaphoreCreateInfo>(
        VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
    info.pNext = &kind;
    return device_->make(vk.CreateSemaphore, info, timeline_,
                         "vkCreateSemaphore", fault);
  }
  auto info =
      makeStruct<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  return device_->make(vk.CreateFence, info, fence_, "vkCreateFence", fault);
}

void Stretches::destroy() {
  if (!device_)
    return;
  const Vulkan &vk = device_->vulkan();
  VkDevice handle = device_->device();
  times_.destroy();
  vk.DestroyDescriptorPool(handle, descriptors_, nullptr);
  vk.DestroyCommandPool(handle, pool_, nullptr);
  vk.DestroySemaphore(handle, timeline_, nullptr);
  vk.DestroyFence(handle, fence_, nullptr);
}

Lack Stretches::lack(uint32_t index) const {
  const VkPhysicalDeviceLimits &limits = device_->facts().limits;
  for (const bundle::Dispatch *dispatch :
       *gpu_->stretches()->Get(index)->dispatches()) {
    static constexpr char axis[] = "workgroups along an axis of a dispatch";
    const bundle::GpuExtent *groups = dispatch->groups();
    Lack lack = pipelines_->lack(dispatch->pipeline());
    lack.need(axis, limits.maxComputeWorkGroupCount[0], groups->x());
    lack.need(axis, limits.maxComputeWorkGroupCount[1], groups->y());
    lack.need(axis, limits.maxComputeWorkGroupCount[2], groups->z());
    for (const bundle::GpuOperand *operand : *dispatch->operands())
      lack.need("bytes of a storage buffer", limits.maxStorageBufferRange,
                operand->size());
    if (lack)
      return lack;
  }
  return {};
}

/// Whether the GPU works where the CPU's bytes of the boundary lie, or will lie
/// once the arena has moved. Until then they are copied to the same place in
/// it.
bool Stretches::isInHost(const bundle::Boundary *boundary) const {
  return memory_->hasHost() &&
         boundary->host()->space() == bundle::Space_Memory;
}

VkDescriptorBufferInfo
Stretches::placeOf(const bundle::GpuOperand *operand) const {
  uint64_t offset = operand->offset();
  const GpuBlock *block = &memory_->arena();
  if (operand->space() == bundle::GpuSpace_Prepared) {
    block = &memory_->prepared();
  } else if (operand->space() == bundle::GpuSpace_Boundary) {
    const bundle::Boundary *boundary =
        gpu_->boundaries()->Get(operand->index());
    if (isInHost(boundary)) {
      block = &memory_->host();
      offset += boundary->host()->offset();
    } else {
      offset += boundary->device();
    }
  }
  return {block->buffer, offset, operand->size()};
}

/// One set, and the dispatch with it.
bool Stretches::bind(const bundle::Dispatch *dispatch, VkCommandBuffer commands,
                     Fault &fault) {
  VkDescriptorBufferInfo places[artifact::maxBindings];
  for (uint32_t i = 0; i < dispatch->operands()->size(); ++i)
    places[i] = placeOf(dispatch->operands()->Get(i));
  const bundle::GpuExtent *groups = dispatch->groups();
  return recordDispatch({&(*pipelines_)[dispatch->pipeline()],
                         places,
                         dispatch->push() ? dispatch->push()->data() : nullptr,
                         {groups->x(), groups->y(), groups->z()}},
                        *device_, descriptors_, commands, fault);
}

/// Copies rows between the staging memory and the arena of a device that CPUs
/// do not see. In the staging memory they lie one behind another, rows that go
/// in first.
void Stretches::copyRows(const bundle::Stretch *stretch, bool isIn,
                         VkCommandBuffer commands) const {
  uint64_t offset = isIn ? 0 : sumOf(stretch->in());
  for (const bundle::Rows *rows : *(isIn ? stretch->in() : stretch->out())) {
    uint64_t place =
        gpu_->boundaries()->Get(rows->boundary())->device() + rows->offset();
    VkBufferCopy copy = {isIn ? offset : place, isIn ? place : offset,
                         rows->bytes()};
    VkBuffer own = memory_->arena().buffer, staging = memory_->staging().buffer;
    if (rows->bytes())
      device_->vulkan().CmdCopyBuffer(commands, isIn ? staging : own,
                                      isIn ? own : staging, 1, &copy);
    offset += rows->bytes();
  }
}

bool Stretches::record(uint32_t index, Fault &fault) {
  const bundle::Stretch *stretch = gpu_->stretches()->Get(index);
  // Both pools are for one thread at a time.
  Lock lock(recording_);
  if (times_.isOn() &&
      !(stamped_[index] = recordCommands(stretch, /*isStamped=*/true, fault)))
    return false;
  commands_[index] = recordCommands(stretch, /*isStamped=*/false, fault);
  return commands_[index] != nullptr;
}

/// Null where the driver refuses.
VkCommandBuffer Stretches::recordCommands(const bundle::Stretch *stretch,
                                          bool isStamped, Fault &fault) {
  constexpr VkAccessFlags shader = VK_ACCESS_SHADER_READ_BIT |
                                   VK_ACCESS_SHADER_WRITE_BIT,
                          written = VK_ACCESS_SHADER_WRITE_BIT,
                          copied = VK_ACCESS_TRANSFER_WRITE_BIT,
                          host = VK_ACCESS_HOST_READ_BIT |
                                 VK_ACCESS_HOST_WRITE_BIT;
  constexpr VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                 transfer = VK_PIPELINE_STAGE_TRANSFER_BIT;
  const Vulkan &vk = device_->vulkan();
  auto info = makeStruct<VkCommandBufferAllocateInfo>(
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  info.commandPool = pool_;
  info.commandBufferCount = 1;
  VkCommandBuffer commands;
  auto begin = makeStruct<VkCommandBufferBeginInfo>(
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  if (!check(vk.AllocateCommandBuffers(device_->device(), &info, &commands),
             "vkAllocateCommandBuffers", fault) ||
      !check(vk.BeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer",
             fault))
    return nullptr;
  bool copies = !memory_->isMapped();
  if (copies) {
    copyRows(stretch, true, commands);
    recordBarrier({transfer, copied, compute, shader}, vk, commands);
  }
  uint32_t dispatches = stretch->dispatches()->size();
  if (isStamped)
    times_.begin(commands, dispatches);
  for (uint32_t i = 0; i < dispatches; ++i) {
    const bundle::Dispatch *dispatch = stretch->dispatches()->Get(i);
    if (i && dispatch->barrier())
      recordBarrier({compute, written, compute, shader}, vk, commands);
    if (!bind(dispatch, commands, fault))
      return nullptr;
    if (isStamped)
      times_.stamp(commands, i);
  }
  if (copies) {
    recordBarrier({compute, written, transfer, VK_ACCESS_TRANSFER_READ_BIT}, vk,
                  commands);
    copyRows(stretch, false, commands);
  }
  recordBarrier({copies ? transfer : compute, copies ? copied : written,
                 VK_PIPELINE_STAGE_HOST_BIT, host},
                vk, commands);
  if (!check(vk.EndCommandBuffer(commands), "vkEndCommandBuffer", fault))
    return nullptr;
  return commands;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

uint8_t *Stretches::hostOf(const bundle::Boundary *boundary,
                           const CallersBuffers &buffers) const {
  const bundle::Operand *host = boundary->host();
  uint8_t *base = arena_;
  if (host->space() == bundle::Space_Input)
    base = static_cast<uint8_t *>(
        const_cast<void *>(elementOf(buffers.inputs, host->index()).data));
  else if (host->space() == bundle::Space_Output)
    base =
        static_cast<uint8_t *>(elementOf(buffers.outputs, host->index()).data);
  return base + host->offset();
}

#ifdef NNV12_TEST_HOOKS
/// The bytes that hand-overs have copied; see
/// test/unit/gpu/MovedArenaTest.cpp.
std::atomic<uint64_t> bytesHandedOver{0};
#define COUNT_HANDED_OVER(bytes) (void)bytesHandedOver.fetch_add(bytes)
#else
#define COUNT_HANDED_OVER(bytes) (void)0
#endif

/// Copies the rows that the GPU does not see, or that the CPU does not.
VkResult Stretches::handOver(const bundle::Stretch *stretch, bool isIn,
                             const CallersBuffers &buffers) const {
  uint64_t staged = isIn ? 0 : sumOf(stretch->in());
  for (const bundle::Rows *rows : *(isIn ? stretch->in() : stretch->out())) {
    const bundle::Boundary *boundary =
        gpu_->boundaries()->Get(rows->boundary());
    const GpuBlock *block = &memory_->staging();
    uint64_t place = staged;
    if (isInHost(boundary)) {
      block = &memory_->host();
      place = boundary->host()->offset() + rows->offset();
    } else if (memory_->isMapped()) {
      block = &memory_->arena();
      place = boundary->device() + rows->offset();
    }
    staged += rows->bytes();
    uint8_t *host = hostOf(boundary, buffers) + rows->offset();
    if (rows->bytes() == 0 || host == block->mapped + place)
      continue;
    COUNT_HANDED_OVER(rows->bytes());
    VkResult result = VK_SUCCESS;
    if (isIn) {
      memcpy(block->mapped + place, host, rows->bytes());
      result = memory_->flush(*block, place, rows->bytes());
    } else {
      result = memory_->invalidate(*block, place, rows->bytes());
      if (!result)
        memcpy(host, block->mapped + place, rows->bytes());
    }
    if (result)
      return result;
  }
  return VK_SUCCESS;
}

VkResult Stretches::submit(VkCommandBuffer commands) {
  auto info = makeStruct<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  auto values = makeStruct<VkTimelineSemaphoreSubmitInfoKHR>(
      VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO_KHR);
  uint64_t value = submitted_ + 1;
  if (timeline_) {
    values.signalSemaphoreValueCount = 1;
    values.pSignalSemaphoreValues = &value;
    info.pNext = &values;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &timeline_;
  } else if (submitted_) {
    VkResult result =
        device_->vulkan().ResetFences(device_->device(), 1, &fence_);
    if (result)
      return result;
  }
  submitted_ = value;
  handedOver_ = now();
  return device_->submit(info, fence_);
}

/// Sleeps until the submission ends, for so many nanoseconds at most.
VkResult Stretches::sleep(uint64_t nanoseconds) const {
  const Vulkan &vk = device_->vulkan();
  if (!timeline_)
    return vk.WaitForFences(device_->device(), 1, &fence_, VK_TRUE,
                            nanoseconds);
  auto info = makeStruct<VkSemaphoreWaitInfoKHR>(
      VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO_KHR);
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &submitted_;
  return vk.WaitSemaphoresKHR(device_->device(), &info, nanoseconds);
}

/// The same, as long as there is patience, which begins with the submission.
VkResult Stretches::sleepOn(uint64_t predicted) const {
  uint64_t patience = gpuPatience(*device_, predicted),
           passed = now() - handedOver_;
  return sleep(passed < patience ? patience - passed : 0);
}

/// Nanoseconds that a stretch may take less than predicted and be seen to be
/// finished at once. Longer ones gain too little by it for a CPU that spins.
static constexpr uint64_t mostMargin = 500000;

/// The thread sleeps for most of the time that is left of the predicted one and
/// then polls the GPU for a while: a wake-up by the GPU costs 50 us and more. A
/// device whose work runs on CPU threads needs the CPU.
VkResult Stretches::waitFor(uint64_t predicted) const {
  if (device_->isSoftware())
    return sleepOn(predicted);
  const Vulkan &vk = device_->vulkan();
  VkDevice handle = device_->device();
  VkResult result = VK_NOT_READY;
  auto isDone = [&] {
    if (timeline_) {
      uint64_t value = 0;
      result = vk.GetSemaphoreCounterValueKHR(handle, timeline_, &value);
      if (!result && value < submitted_)
        result = VK_NOT_READY;
    } else {
      result = vk.GetFenceStatus(handle, fence_);
    }
    return result != VK_NOT_READY;
  };
  uint64_t margin = std::min(predicted / 4, mostMargin),
           passed = now() - handedOver_,
           most = predicted - std::min(predicted, margin + passed);
  if (most > spinNanoseconds && (result = sleep(most)) != VK_TIMEOUT)
    return result;
  if (spinUntil(isDone, spinNanoseconds + 2 * margin))
    return result;
  return sleepOn(predicted);
}

/// A failure loses the device.
Executor::Result Stretches::endAs(VkResult result, const char *what,
                                  Fault &fault) {
  if (check(result, what, fault))
    return Result::Done;
  device_->lose(fault.text);
  return Result::Failed;
}

Executor::Result
Stretches::submit(uint32_t index, const CallersBuffers &buffers, Fault &fault) {
  const bundle::Stretch *stretch = gpu_->stretches()->Get(index);
  VkResult result = handOver(stretch, /*isIn=*/true, buffers);
  if (result)
    return endAs(result, "handing over to the GPU", fault);
  bool isRecorded = times_.areRecorded();
  isStamped_ = isRecorded && times_.areStamped(index);
  submitTime_ = isRecorded ? times_.ticks() : 0;
  return endAs(submit((isStamped_ ? stamped_ : commands_)[index]),
               "vkQueueSubmit", fault);
}

Executor::Result Stretches::wait(uint32_t index, const CallersBuffers &buffers,
                                 Fault &fault) {
  static constexpr char what[] = "waiting for the GPU";
  const bundle::Stretch *stretch = gpu_->stretches()->Get(index);
  VkResult result = waitFor(stretch->predicted());
  uint64_t after = submitTime_ ? times_.ticks() : 0;
  // The submitted work may go on. If the driver cannot wait for it, maybe it
  // can wait for all work; after a loss nothing goes on.
  if (result < 0 && result != VK_ERROR_DEVICE_LOST)
    result = device_->waitIdle();
  if (result) {
    bool isHung = result != VK_ERROR_DEVICE_LOST;
    (void)endAs(result, what, fault);
    return isHung ? Result::Hung : Result::Failed;
  }
  if (submitTime_)
    times_.write(index, stretch, isStamped_, submitTime_, after);
  return endAs(handOver(stretch, /*isIn=*/false, buffers),
               "taking over from the GPU", fault);
}

} // namespace nnv12::runtime
