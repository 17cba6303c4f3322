//===- Stretches.cpp - The GPU's part of a run ----------------------------===//
#include "runtime/gpu/Stretches.h"

#include "runtime/gpu/Barrier.h"
#include "runtime/gpu/DispatchCommand.h"
#include "runtime/gpu/GpuCommands.h"
#include "runtime/system/Structs.h"
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

bool Stretches::create(const bundle::ProgramGpu *of, uint8_t *hostArena,
                       GpuDevice &on, const GpuMemory &places,
                       const GpuPipelines &made, Recorder &recorder,
                       Fault &fault) {
  gpu = of;
  arena = hostArena;
  device = &on;
  memory = &places;
  pipelines = &made;
  uint32_t sets = 0, bindings = 0, mostDispatches = 0;
  for (const bundle::Stretch *stretch : *gpu->stretches()) {
    mostDispatches = std::max(mostDispatches, stretch->dispatches()->size());
    for (const bundle::Dispatch *dispatch : *stretch->dispatches()) {
      ++sets;
      bindings += dispatch->operands()->size();
    }
  }
  times.create(*device, gpu->stretches()->size(), mostDispatches, recorder);
  // Commands with time stamps have sets of their own.
  if (times.isOn()) {
    sets *= 2;
    bindings *= 2;
  }
  if (!commands.allocate(gpu->stretches()->size()) ||
      !stamped.allocate(gpu->stretches()->size()))
    return fault.set(Fault::OutOfMemory, "no memory for stretches");
  descriptors = createDescriptorPool(sets, bindings, *device, fault);
  if (!descriptors)
    return false;
  const Vulkan &vk = device->vulkan();
  VkDevice handle = device->device();
  auto commandInfo = makeStruct<VkCommandPoolCreateInfo>(
      VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
  commandInfo.queueFamilyIndex = device->family();
  if (!check(vk.CreateCommandPool(handle, &commandInfo, nullptr, &pool),
             "vkCreateCommandPool", fault)) {
    pool = nullptr;
    return false;
  }
  if (device->hasTimeline()) {
    auto kind = makeStruct<VkSemaphoreTypeCreateInfoKHR>(
        VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO_KHR);
    kind.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE_KHR;
    auto info = makeStruct<VkSemaphoreCreateInfo>(
        VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO);
    info.pNext = &kind;
    if (check(vk.CreateSemaphore(handle, &info, nullptr, &timeline),
              "vkCreateSemaphore", fault))
      return true;
    timeline = nullptr;
    return false;
  }
  auto info =
      makeStruct<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
  if (check(vk.CreateFence(handle, &info, nullptr, &fence), "vkCreateFence",
            fault))
    return true;
  fence = nullptr;
  return false;
}

void Stretches::destroy() {
  if (!device)
    return;
  const Vulkan &vk = device->vulkan();
  VkDevice handle = device->device();
  times.destroy();
  if (descriptors)
    vk.DestroyDescriptorPool(handle, descriptors, nullptr);
  if (pool)
    vk.DestroyCommandPool(handle, pool, nullptr);
  if (timeline)
    vk.DestroySemaphore(handle, timeline, nullptr);
  if (fence)
    vk.DestroyFence(handle, fence, nullptr);
}

Lack Stretches::lack(uint32_t index) const {
  const VkPhysicalDeviceLimits &limits = device->facts().limits;
  for (const bundle::Dispatch *dispatch :
       *gpu->stretches()->Get(index)->dispatches()) {
    static constexpr char axis[] = "workgroups along an axis of a dispatch";
    const bundle::GpuExtent *groups = dispatch->groups();
    Lack lack = pipelines->lack(dispatch->pipeline());
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

/// Whether the GPU works where the CPU's bytes of the boundary lie.
bool Stretches::isShared(const bundle::Boundary *boundary) const {
  return memory->isImported() &&
         boundary->host()->space() == bundle::Space_Memory;
}

VkDescriptorBufferInfo
Stretches::placeOf(const bundle::GpuOperand *operand) const {
  uint64_t offset = operand->offset();
  const GpuBlock *block = &memory->arena();
  if (operand->space() == bundle::GpuSpace_Prepared) {
    block = &memory->prepared();
  } else if (operand->space() == bundle::GpuSpace_Boundary) {
    const bundle::Boundary *boundary = gpu->boundaries()->Get(operand->index());
    if (isShared(boundary)) {
      block = &memory->host();
      offset += boundary->host()->offset();
    } else {
      offset += boundary->device();
    }
  }
  return {block->buffer, offset, operand->size()};
}

/// One set, and the dispatch with it.
bool Stretches::bind(const bundle::Dispatch *dispatch, VkCommandBuffer to,
                     Fault &fault) {
  VkDescriptorBufferInfo places[artifact::maxBindings];
  for (uint32_t i = 0; i < dispatch->operands()->size(); ++i)
    places[i] = placeOf(dispatch->operands()->Get(i));
  const bundle::GpuExtent *groups = dispatch->groups();
  return recordDispatch({&(*pipelines)[dispatch->pipeline()],
                         places,
                         dispatch->push() ? dispatch->push()->data() : nullptr,
                         {groups->x(), groups->y(), groups->z()}},
                        *device, descriptors, to, fault);
}

/// Copies rows between the staging memory and the arena of a device that CPUs
/// do not see. In the staging memory they lie one behind another, rows that go
/// in first.
void Stretches::copyRows(const bundle::Stretch *stretch, bool isIn,
                         VkCommandBuffer to) const {
  uint64_t offset = isIn ? 0 : sumOf(stretch->in());
  for (const bundle::Rows *rows : *(isIn ? stretch->in() : stretch->out())) {
    uint64_t place =
        gpu->boundaries()->Get(rows->boundary())->device() + rows->offset();
    VkBufferCopy copy = {isIn ? offset : place, isIn ? place : offset,
                         rows->bytes()};
    VkBuffer own = memory->arena().buffer, staging = memory->staging().buffer;
    if (rows->bytes())
      device->vulkan().CmdCopyBuffer(to, isIn ? staging : own,
                                     isIn ? own : staging, 1, &copy);
    offset += rows->bytes();
  }
}

bool Stretches::record(uint32_t index, Fault &fault) {
  const bundle::Stretch *stretch = gpu->stretches()->Get(index);
  // Both pools are for one thread at a time.
  Lock lock(recording);
  if (times.isOn() &&
      !(stamped[index] = recordCommands(stretch, /*isStamped=*/true, fault)))
    return false;
  commands[index] = recordCommands(stretch, /*isStamped=*/false, fault);
  return commands[index] != nullptr;
}

/// Null where the driver refuses.
VkCommandBuffer Stretches::recordCommands(const bundle::Stretch *stretch,
                                          bool isStamped, Fault &fault) {
  constexpr VkAccessFlags shader = VK_ACCESS_SHADER_READ_BIT |
                                   VK_ACCESS_SHADER_WRITE_BIT,
                          host = VK_ACCESS_HOST_READ_BIT |
                                 VK_ACCESS_HOST_WRITE_BIT;
  constexpr VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                 transfer = VK_PIPELINE_STAGE_TRANSFER_BIT;
  const Vulkan &vk = device->vulkan();
  auto info = makeStruct<VkCommandBufferAllocateInfo>(
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
  info.commandPool = pool;
  info.commandBufferCount = 1;
  VkCommandBuffer to;
  auto begin = makeStruct<VkCommandBufferBeginInfo>(
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  if (!check(vk.AllocateCommandBuffers(device->device(), &info, &to),
             "vkAllocateCommandBuffers", fault) ||
      !check(vk.BeginCommandBuffer(to, &begin), "vkBeginCommandBuffer", fault))
    return nullptr;
  bool copies = !memory->isMapped();
  if (copies) {
    copyRows(stretch, true, to);
    recordBarrier({transfer, VK_ACCESS_TRANSFER_WRITE_BIT, compute, shader}, vk,
                  to);
  }
  uint32_t dispatches = stretch->dispatches()->size();
  if (isStamped)
    times.begin(to, dispatches);
  for (uint32_t i = 0; i < dispatches; ++i) {
    const bundle::Dispatch *dispatch = stretch->dispatches()->Get(i);
    if (i && dispatch->barrier())
      recordBarrier({compute, VK_ACCESS_SHADER_WRITE_BIT, compute, shader}, vk,
                    to);
    if (!bind(dispatch, to, fault))
      return nullptr;
    if (isStamped)
      times.stamp(to, i);
  }
  if (copies) {
    recordBarrier({compute, VK_ACCESS_SHADER_WRITE_BIT, transfer,
                   VK_ACCESS_TRANSFER_READ_BIT},
                  vk, to);
    copyRows(stretch, false, to);
    recordBarrier({transfer, VK_ACCESS_TRANSFER_WRITE_BIT,
                   VK_PIPELINE_STAGE_HOST_BIT, host},
                  vk, to);
  } else {
    recordBarrier(
        {compute, VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT, host},
        vk, to);
  }
  if (!check(vk.EndCommandBuffer(to), "vkEndCommandBuffer", fault))
    return nullptr;
  return to;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

uint8_t *Stretches::hostOf(const bundle::Boundary *boundary,
                           const CallersBuffers &buffers) const {
  const bundle::Operand *host = boundary->host();
  uint8_t *base = arena;
  if (host->space() == bundle::Space_Input)
    base = static_cast<uint8_t *>(
        const_cast<void *>(elementOf(buffers.inputs, host->index()).data));
  else if (host->space() == bundle::Space_Output)
    base =
        static_cast<uint8_t *>(elementOf(buffers.outputs, host->index()).data);
  return base + host->offset();
}

/// Copies the rows that the GPU does not see, or that the CPU does not.
VkResult Stretches::handOver(const bundle::Stretch *stretch, bool isIn,
                             const CallersBuffers &buffers) const {
  const GpuBlock &block =
      memory->isMapped() ? memory->arena() : memory->staging();
  uint64_t staged = isIn ? 0 : sumOf(stretch->in());
  for (const bundle::Rows *rows : *(isIn ? stretch->in() : stretch->out())) {
    const bundle::Boundary *boundary = gpu->boundaries()->Get(rows->boundary());
    uint64_t place =
        memory->isMapped() ? boundary->device() + rows->offset() : staged;
    staged += rows->bytes();
    if (rows->bytes() == 0 || isShared(boundary))
      continue;
    uint8_t *host = hostOf(boundary, buffers) + rows->offset();
    VkResult result = VK_SUCCESS;
    if (isIn) {
      memcpy(block.mapped + place, host, rows->bytes());
      result = memory->flush(block, place, rows->bytes());
    } else {
      result = memory->invalidate(block, place, rows->bytes());
      if (!result)
        memcpy(host, block.mapped + place, rows->bytes());
    }
    if (result)
      return result;
  }
  return VK_SUCCESS;
}

VkResult Stretches::submit(VkCommandBuffer of) {
  auto info = makeStruct<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &of;
  auto values = makeStruct<VkTimelineSemaphoreSubmitInfoKHR>(
      VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO_KHR);
  uint64_t value = submitted + 1;
  if (timeline) {
    values.signalSemaphoreValueCount = 1;
    values.pSignalSemaphoreValues = &value;
    info.pNext = &values;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &timeline;
  } else if (submitted) {
    VkResult result = device->vulkan().ResetFences(device->device(), 1, &fence);
    if (result)
      return result;
  }
  submitted = value;
  return device->submit(info, fence);
}

VkResult Stretches::sleep(uint64_t nanoseconds) const {
  const Vulkan &vk = device->vulkan();
  if (!timeline)
    return vk.WaitForFences(device->device(), 1, &fence, VK_TRUE, nanoseconds);
  auto info = makeStruct<VkSemaphoreWaitInfoKHR>(
      VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO_KHR);
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline;
  info.pValues = &submitted;
  return vk.WaitSemaphoresKHR(device->device(), &info, nanoseconds);
}

/// Nanoseconds that a stretch may take less than predicted and be seen to be
/// finished at once. Longer ones gain too little by it for a CPU that spins.
static constexpr uint64_t mostMargin = 500000;

/// The thread sleeps for most of the predicted time and then polls the GPU for
/// a while: a wake-up by the GPU costs 50 us and more. A device whose work runs
/// on CPU threads needs the CPU.
VkResult Stretches::wait(uint64_t predicted) const {
  uint64_t patience = gpuPatience(*device, predicted);
  if (device->isSoftware())
    return sleep(patience);
  const Vulkan &vk = device->vulkan();
  VkDevice handle = device->device();
  VkResult result = VK_NOT_READY;
  auto isDone = [&] {
    if (timeline) {
      uint64_t value = 0;
      result = vk.GetSemaphoreCounterValueKHR(handle, timeline, &value);
      if (!result && value < submitted)
        result = VK_NOT_READY;
    } else {
      result = vk.GetFenceStatus(handle, fence);
    }
    return result != VK_NOT_READY;
  };
  uint64_t margin = std::min(predicted / 4, mostMargin),
           most = predicted - margin;
  if (most > spinNanoseconds && (result = sleep(most)) != VK_TIMEOUT)
    return result;
  if (spinUntil(isDone, spinNanoseconds + 2 * margin))
    return result;
  return sleep(patience);
}

Stretches::Result Stretches::run(uint32_t index, const CallersBuffers &buffers,
                                 Fault &fault) {
  const bundle::Stretch *stretch = gpu->stretches()->Get(index);
  const char *what = "handing over to the GPU";
  VkResult result = handOver(stretch, /*isIn=*/true, buffers);
  bool isRecorded = times.areRecorded(),
       isStamped = isRecorded && times.areStamped(index);
  uint64_t before = isRecorded ? times.ticks() : 0, after = 0;
  if (!result) {
    what = "vkQueueSubmit";
    result = submit((isStamped ? stamped : commands)[index]);
  }
  if (!result) {
    what = "waiting for the GPU";
    result = wait(stretch->predicted());
    after = isRecorded ? times.ticks() : 0;
    // The submitted work may go on. If the driver cannot wait for it, maybe it
    // can wait for all work; after a loss nothing goes on.
    if (result < 0 && result != VK_ERROR_DEVICE_LOST)
      result = device->waitIdle();
    if (result && result != VK_ERROR_DEVICE_LOST) {
      (void)check(result, what, fault);
      device->lose(fault.text);
      return Result::Hung;
    }
  }
  if (!result && isRecorded)
    times.write(index, stretch, isStamped, before, after);
  if (!result) {
    what = "taking over from the GPU";
    result = handOver(stretch, /*isIn=*/false, buffers);
  }
  if (check(result, what, fault))
    return Result::Done;
  device->lose(fault.text);
  return Result::Failed;
}

} // namespace nnv12::runtime
