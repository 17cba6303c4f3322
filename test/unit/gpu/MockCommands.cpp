//===- MockCommands.cpp - Commands of the device of tests -----------------===//
#include "test/unit/gpu/MockCommands.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace nnv12::test::mocked {

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

VkResult CreateCommandPool(VkDevice device, const VkCommandPoolCreateInfo *,
                           Allocator, VkCommandPool *pool) {
  mock.add(new CommandPool, *pool)->facts = mock.get<Device>(device).facts;
  return VK_SUCCESS;
}

VkResult AllocateCommandBuffers(VkDevice,
                                const VkCommandBufferAllocateInfo *info,
                                VkCommandBuffer *buffers) {
  auto &pool = mock.get<CommandPool>(info->commandPool);
  pool.buffers.push_back(std::make_unique<Commands>());
  pool.buffers.back()->facts = pool.facts;
  *buffers = reinterpret_cast<VkCommandBuffer>(pool.buffers.back().get());
  return VK_SUCCESS;
}

static Commands &commandsOf(VkCommandBuffer buffer) {
  return *reinterpret_cast<Commands *>(buffer);
}

VkResult BeginCommandBuffer(VkCommandBuffer buffer,
                            const VkCommandBufferBeginInfo *) {
  Commands begun;
  begun.facts = commandsOf(buffer).facts;
  begun.isOpen = true;
  commandsOf(buffer) = begun;
  return VK_SUCCESS;
}

VkResult EndCommandBuffer(VkCommandBuffer buffer) {
  if (!commandsOf(buffer).isOpen)
    mock.accuse("ended what was not begun");
  commandsOf(buffer).isOpen = false;
  return VK_SUCCESS;
}

void CmdBindPipeline(VkCommandBuffer buffer, VkPipelineBindPoint,
                     VkPipeline pipeline) {
  commandsOf(buffer).pipeline = &mock.get<Pipeline>(pipeline);
}

void CmdBindDescriptorSets(VkCommandBuffer buffer, VkPipelineBindPoint,
                           VkPipelineLayout, uint32_t, uint32_t,
                           const VkDescriptorSet *sets, uint32_t,
                           const uint32_t *) {
  commandsOf(buffer).set = reinterpret_cast<const Set *>(*sets);
}

void CmdPushConstants(VkCommandBuffer, VkPipelineLayout, VkShaderStageFlags,
                      uint32_t, uint32_t, const void *) {}

/// Bytes of a range; null where it is not inside of its buffer.
static uint8_t *bytesOf(VkBuffer buffer, uint64_t offset, uint64_t size) {
  auto &object = mock.get<Buffer>(buffer);
  if (offset + size > object.size || !object.memory) {
    mock.accuse("a range that is not in its buffer");
    return nullptr;
  }
  return object.memory->bytes() + offset;
}

/// An element an invocation, and none beyond a buffer's range.
void CmdDispatch(VkCommandBuffer buffer, uint32_t x, uint32_t y, uint32_t z) {
  Commands &commands = commandsOf(buffer);
  if (std::max({x, y, z}) > commands.facts->groups)
    mock.accuse("more workgroups than the device takes");
  Module module = commands.pipeline->module;
  std::vector<VkDescriptorBufferInfo> places = commands.set->places;
  commands.list.push_back([module, places, x] {
    size_t count = size_t(x) * module.local;
    std::vector<uint8_t *> at;
    for (const VkDescriptorBufferInfo &place : places) {
      at.push_back(bytesOf(place.buffer, place.offset, place.range));
      count = std::min<size_t>(count, place.range / sizeof(float));
      if (!at.back())
        return;
    }
    for (size_t i = 0; i < count; ++i) {
      float a, b = 0;
      memcpy(&a, at[1] + 4 * i, 4);
      if (module.operation)
        memcpy(&b, at[2] + 4 * i, 4);
      volatile float result = module.operation == opFAdd   ? a + b
                              : module.operation == opFMul ? a * b
                                                           : a;
      a = result;
      memcpy(at[0] + 4 * i, &a, 4);
    }
  });
}

void CmdPipelineBarrier(VkCommandBuffer, VkPipelineStageFlags,
                        VkPipelineStageFlags, VkDependencyFlags, uint32_t,
                        const VkMemoryBarrier *, uint32_t,
                        const VkBufferMemoryBarrier *, uint32_t,
                        const VkImageMemoryBarrier *) {}

void CmdCopyBuffer(VkCommandBuffer buffer, VkBuffer from, VkBuffer to, uint32_t,
                   const VkBufferCopy *copy) {
  VkBufferCopy it = *copy;
  commandsOf(buffer).list.push_back([from, to, it] {
    uint8_t *source = bytesOf(from, it.srcOffset, it.size),
            *target = bytesOf(to, it.dstOffset, it.size);
    if (source && target)
      memcpy(target, source, it.size);
  });
}

VkResult CreateQueryPool(VkDevice, const VkQueryPoolCreateInfo *info, Allocator,
                         VkQueryPool *pool) {
  auto *queries = new Queries;
  queries->values.resize(info->queryCount);
  queries->isWritten.resize(info->queryCount);
  mock.add(queries, *pool);
  return VK_SUCCESS;
}

void CmdResetQueryPool(VkCommandBuffer buffer, VkQueryPool pool, uint32_t first,
                       uint32_t count) {
  commandsOf(buffer).list.push_back([pool, first, count] {
    auto &queries = mock.get<Queries>(pool);
    for (uint32_t i = first; i < first + count; ++i)
      queries.isWritten[i] = false;
  });
}

void CmdWriteTimestamp(VkCommandBuffer buffer, VkPipelineStageFlagBits,
                       VkQueryPool pool, uint32_t query) {
  commandsOf(buffer).list.push_back([pool, query] {
    auto &queries = mock.get<Queries>(pool);
    if (queries.isWritten[query])
      mock.accuse("wrote a time stamp that was not reset");
    queries.isWritten[query] = true;
    uint64_t ns = std::chrono::steady_clock::now().time_since_epoch().count();
    queries.values[query] = ns / 32 & ((uint64_t(1) << 36) - 1);
  });
}

VkResult GetQueryPoolResults(VkDevice, VkQueryPool pool, uint32_t first,
                             uint32_t count, size_t size, void *data,
                             VkDeviceSize stride, VkQueryResultFlags flags) {
  auto &queries = mock.get<Queries>(pool);
  if (size < count * stride || !(flags & VK_QUERY_RESULT_64_BIT))
    mock.accuse("asked for time stamps in too little memory");
  for (uint32_t i = 0; i < count; ++i) {
    if (!queries.isWritten[first + i])
      return VK_NOT_READY;
    memcpy(static_cast<uint8_t *>(data) + i * stride,
           &queries.values[first + i], sizeof(uint64_t));
  }
  return VK_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Submission and waits
//===----------------------------------------------------------------------===//

static bool isLost() {
  std::lock_guard<std::mutex> lock(mock.mutex);
  return mock.lost;
}

static bool isHanging() {
  std::lock_guard<std::mutex> lock(mock.mutex);
  return mock.hangs;
}

VkResult QueueSubmit(VkQueue, uint32_t, const VkSubmitInfo *info,
                     VkFence fence) {
  if (isLost())
    return VK_ERROR_DEVICE_LOST;
  if (isHanging())
    return VK_SUCCESS;
  std::vector<const Commands *> all;
  for (uint32_t i = 0; i < info->commandBufferCount; ++i) {
    all.push_back(&commandsOf(info->pCommandBuffers[i]));
    if (all.back()->isOpen)
      mock.accuse("submitted what was not ended");
  }
  auto compute = [all] {
    std::lock_guard<std::mutex> lock(mock.running);
    for (const Commands *commands : all)
      for (const auto &command : commands->list)
        command();
  };
  auto *values = inChain<VkTimelineSemaphoreSubmitInfoKHR>(
      const_cast<void *>(info->pNext),
      VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO_KHR);
  Semaphore *semaphore = info->signalSemaphoreCount
                             ? &mock.get<Semaphore>(info->pSignalSemaphores[0])
                             : nullptr;
  uint64_t value = semaphore ? values->pSignalSemaphoreValues[0] : 0;
  Fence *toSignal = fence ? &mock.get<Fence>(fence) : nullptr;
  auto tell = [semaphore, value, toSignal] {
    if (semaphore)
      semaphore->value = value;
    if (toSignal)
      toSignal->isSignalled = true;
  };
  auto computeAndTell = [compute, tell] {
    compute();
    tell();
  };
  if (mock.when == MockVulkan::When::AtOnce)
    compute();
  mock.join();
  std::lock_guard<std::mutex> state(mock.mutex);
  if (mock.when == MockVulkan::When::Beside) {
    mock.thread = std::thread(computeAndTell);
  } else if (mock.when == MockVulkan::When::AtLast) {
    mock.pending = computeAndTell;
  } else if (mock.busyFor) {
    mock.pending = tell;
  } else {
    tell();
  }
  return VK_SUCCESS;
}

VkResult QueueWaitIdle(VkQueue) {
  mock.join();
  std::function<void()> pending;
  {
    std::lock_guard<std::mutex> lock(mock.mutex);
    std::swap(pending, mock.pending);
  }
  if (pending)
    pending();
  return isLost() ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
}

VkResult CreateFence(VkDevice, const VkFenceCreateInfo *, Allocator,
                     VkFence *fence) {
  mock.add(new Fence, *fence);
  return VK_SUCCESS;
}

VkResult ResetFences(VkDevice, uint32_t, const VkFence *fences) {
  mock.get<Fence>(*fences).isSignalled = false;
  return VK_SUCCESS;
}

VkResult GetFenceStatus(VkDevice, VkFence fence) {
  if (isLost())
    return VK_ERROR_DEVICE_LOST;
  return mock.get<Fence>(fence).isSignalled ? VK_SUCCESS : VK_NOT_READY;
}

/// Without a time to be busy for, nothing becomes done while somebody waits,
/// unless it is computed beside.
template <typename IsDone>
static VkResult waitFor(IsDone isDone, uint64_t nanoseconds) {
  if (isLost())
    return VK_ERROR_DEVICE_LOST;
  if (isDone())
    return VK_SUCCESS;
  std::function<void()> pending;
  {
    std::lock_guard<std::mutex> lock(mock.mutex);
    if (mock.pending) {
      bool isOver = mock.busyFor <= nanoseconds;
      mock.busyFor = isOver ? 0 : mock.busyFor - nanoseconds;
      if (!isOver)
        return VK_TIMEOUT;
      std::swap(pending, mock.pending);
    }
  }
  if (pending) {
    pending();
    return VK_SUCCESS;
  }
  using Clock = std::chrono::steady_clock;
  Clock::time_point end = Clock::now() + std::chrono::nanoseconds(nanoseconds);
  if (mock.when != MockVulkan::When::Beside)
    std::this_thread::sleep_until(end);
  while (!isDone() && Clock::now() < end)
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  return isDone() ? VK_SUCCESS : VK_TIMEOUT;
}

VkResult WaitForFences(VkDevice, uint32_t, const VkFence *fences, VkBool32,
                       uint64_t nanoseconds) {
  const std::atomic<bool> &isDone = mock.get<Fence>(*fences).isSignalled;
  return waitFor([&] { return isDone.load(); }, nanoseconds);
}

VkResult CreateSemaphore(VkDevice device, const VkSemaphoreCreateInfo *,
                         Allocator, VkSemaphore *semaphore) {
  if (!mock.get<Device>(device).hasTimeline)
    mock.accuse("made a timeline of a device that has none");
  mock.add(new Semaphore, *semaphore);
  return VK_SUCCESS;
}

VkResult GetSemaphoreCounterValueKHR(VkDevice, VkSemaphore semaphore,
                                     uint64_t *value) {
  if (isLost())
    return VK_ERROR_DEVICE_LOST;
  *value = mock.get<Semaphore>(semaphore).value;
  return VK_SUCCESS;
}

VkResult WaitSemaphoresKHR(VkDevice, const VkSemaphoreWaitInfoKHR *info,
                           uint64_t nanoseconds) {
  const std::atomic<uint64_t> &value =
      mock.get<Semaphore>(*info->pSemaphores).value;
  return waitFor([&] { return value.load() >= *info->pValues; }, nanoseconds);
}

} // namespace nnv12::test::mocked
