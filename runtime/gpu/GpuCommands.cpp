//===- GpuCommands.cpp - Commands of a thread that prepares ---------------===//
#include "runtime/gpu/GpuCommands.h"

namespace nnv12::runtime {

using artifact::Fault;

#ifdef NNV12_TEST_HOOKS
/// Tests have less patience: see test/unit/gpu/GpuFaultTest.cpp.
uint64_t leastGpuPatience = 10000000000;
#else
static constexpr uint64_t leastGpuPatience = 10000000000;
#endif

uint64_t gpuPatience(const GpuDevice &device, uint64_t predicted) {
  // A prediction is a compiler's word; an hour is for ever.
  constexpr uint64_t most = 3600000000000, softwareFactor = 60;
  uint64_t patience = predicted > most / 100 ? most : predicted * 100;
  if (patience < leastGpuPatience)
    patience = leastGpuPatience;
  if (device.isSoftware())
    patience *= softwareFactor;
  return patience < most ? patience : most;
}

bool GpuCommands::create(GpuDevice &of, Fault &fault) {
  device = &of;
  const Vulkan &vk = device->vulkan();
  for (uint32_t i = 0; i < 2; ++i) {
    auto pool = makeStruct<VkCommandPoolCreateInfo>(
        VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT |
                 VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    pool.queueFamilyIndex = device->family();
    if (!check(
            vk.CreateCommandPool(device->device(), &pool, nullptr, &pools[i]),
            "vkCreateCommandPool", fault)) {
      pools[i] = nullptr;
      return false;
    }
    auto buffer = makeStruct<VkCommandBufferAllocateInfo>(
        VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    buffer.commandPool = pools[i];
    buffer.commandBufferCount = 1;
    if (!check(
            vk.AllocateCommandBuffers(device->device(), &buffer, &buffers[i]),
            "vkAllocateCommandBuffers", fault))
      return false;
    auto fence =
        makeStruct<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    if (!check(vk.CreateFence(device->device(), &fence, nullptr, &fences[i]),
               "vkCreateFence", fault)) {
      fences[i] = nullptr;
      return false;
    }
  }
  return true;
}

void GpuCommands::destroy() {
  for (uint32_t i = 0; device && i < 2; ++i) {
    if (fences[i])
      device->vulkan().DestroyFence(device->device(), fences[i], nullptr);
    if (pools[i])
      device->vulkan().DestroyCommandPool(device->device(), pools[i], nullptr);
  }
}

/// Where the driver fails to wait for one, maybe it can wait for all.
bool GpuCommands::wait(uint32_t turn, Fault &fault) {
  if (!running[turn])
    return true;
  const Vulkan &vk = device->vulkan();
  VkResult result = vk.WaitForFences(device->device(), 1, &fences[turn],
                                     VK_TRUE, gpuPatience(*device));
  if (result < 0 && result != VK_ERROR_DEVICE_LOST)
    result = device->waitIdle();
  // After a loss nothing runs any more.
  hung |= result != VK_SUCCESS && result != VK_ERROR_DEVICE_LOST;
  running[turn] = false;
  return check(result, "waiting for the GPU", fault) &&
         check(vk.ResetFences(device->device(), 1, &fences[turn]),
               "vkResetFences", fault);
}

bool GpuCommands::begin(uint32_t &turn, VkCommandBuffer &commands,
                        Fault &fault) {
  turn = next;
  commands = buffers[next];
  if (!wait(next, fault))
    return false;
  auto info = makeStruct<VkCommandBufferBeginInfo>(
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  return check(device->vulkan().BeginCommandBuffer(commands, &info),
               "vkBeginCommandBuffer", fault);
}

bool GpuCommands::submit(Fault &fault) {
  if (!check(device->vulkan().EndCommandBuffer(buffers[next]),
             "vkEndCommandBuffer", fault))
    return false;
  auto info = makeStruct<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &buffers[next];
  if (!check(device->submit(info, fences[next]), "vkQueueSubmit", fault))
    return false;
  running[next] = true;
  next ^= 1;
  return true;
}

bool GpuCommands::finish(Fault &fault) {
  bool first = wait(next, fault);
  return wait(next ^ 1, fault) && first;
}

} // namespace nnv12::runtime
