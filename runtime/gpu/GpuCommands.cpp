//===- GpuCommands.cpp - Commands of a thread that prepares ---------------===//
#include "runtime/gpu/GpuCommands.h"

#include <algorithm>

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
  uint64_t patience =
      std::max(std::min(predicted, most / 100) * 100, leastGpuPatience);
  return std::min(device.isSoftware() ? patience * softwareFactor : patience,
                  most);
}

bool GpuCommands::create(GpuDevice &device, Fault &fault) {
  device_ = &device;
  const Vulkan &vk = device_->vulkan();
  for (uint32_t i = 0; i < 2; ++i) {
    auto pool = makeStruct<VkCommandPoolCreateInfo>(
        VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO);
    pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT |
                 VK_COMMAND_POOL_CREATE_TRANSIENT_BIT;
    pool.queueFamilyIndex = device_->family();
    if (!device_->make(vk.CreateCommandPool, pool, pools_[i],
                       "vkCreateCommandPool", fault))
      return false;
    auto buffer = makeStruct<VkCommandBufferAllocateInfo>(
        VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO);
    buffer.commandPool = pools_[i];
    buffer.commandBufferCount = 1;
    if (!check(
            vk.AllocateCommandBuffers(device_->device(), &buffer, &buffers_[i]),
            "vkAllocateCommandBuffers", fault))
      return false;
    auto fence =
        makeStruct<VkFenceCreateInfo>(VK_STRUCTURE_TYPE_FENCE_CREATE_INFO);
    if (!device_->make(vk.CreateFence, fence, fences_[i], "vkCreateFence",
                       fault))
      return false;
  }
  return true;
}

void GpuCommands::destroy() {
  for (uint32_t i = 0; device_ && i < 2; ++i) {
    device_->vulkan().DestroyFence(device_->device(), fences_[i], nullptr);
    device_->vulkan().DestroyCommandPool(device_->device(), pools_[i], nullptr);
  }
}

/// Where the driver fails to wait for one, maybe it can wait for all.
bool GpuCommands::wait(uint32_t turn, Fault &fault) {
  if (!running_[turn])
    return true;
  const Vulkan &vk = device_->vulkan();
  VkResult result = vk.WaitForFences(device_->device(), 1, &fences_[turn],
                                     VK_TRUE, gpuPatience(*device_));
  if (result < 0 && result != VK_ERROR_DEVICE_LOST)
    result = device_->waitIdle();
  // After a loss nothing runs any more.
  hung_ |= result != VK_SUCCESS && result != VK_ERROR_DEVICE_LOST;
  running_[turn] = false;
  return check(result, "waiting for the GPU", fault) &&
         check(vk.ResetFences(device_->device(), 1, &fences_[turn]),
               "vkResetFences", fault);
}

bool GpuCommands::begin(uint32_t &turn, VkCommandBuffer &commands,
                        Fault &fault) {
  turn = next_;
  commands = buffers_[next_];
  if (!wait(next_, fault))
    return false;
  auto info = makeStruct<VkCommandBufferBeginInfo>(
      VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO);
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  return check(device_->vulkan().BeginCommandBuffer(commands, &info),
               "vkBeginCommandBuffer", fault);
}

bool GpuCommands::submit(Fault &fault) {
  if (!check(device_->vulkan().EndCommandBuffer(buffers_[next_]),
             "vkEndCommandBuffer", fault))
    return false;
  auto info = makeStruct<VkSubmitInfo>(VK_STRUCTURE_TYPE_SUBMIT_INFO);
  info.commandBufferCount = 1;
  info.pCommandBuffers = &buffers_[next_];
  if (!check(device_->submit(info, fences_[next_]), "vkQueueSubmit", fault))
    return false;
  running_[next_] = true;
  next_ ^= 1;
  return true;
}

bool GpuCommands::finish(Fault &fault) {
  bool first = wait(next_, fault);
  return wait(next_ ^ 1, fault) && first;
}

} // namespace nnv12::runtime
