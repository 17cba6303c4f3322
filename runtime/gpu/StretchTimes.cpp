//===- StretchTimes.cpp - When a GPU computed in a run --------------------===//
#include "runtime/gpu/StretchTimes.h"

#include <algorithm>

namespace nnv12::runtime {

void StretchTimes::create(GpuDevice &device, uint32_t stretches,
                          uint32_t mostDispatches, Recorder &recorder) {
  device_ = &device;
  recorder_ = &recorder;
  if (!recorder.mayRecord(RecordLevel::Operation) ||
      device_->timestampBits() == 0)
    return;
  auto info = makeStruct<VkQueryPoolCreateInfo>(
      VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO);
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = mostDispatches + 1;
  if (!stamps_.allocate(info.queryCount) || !least_.allocate(stretches) ||
      device_->vulkan().CreateQueryPool(device_->device(), &info, nullptr,
                                        &pool_)) {
    pool_ = nullptr;
    return;
  }
  clock_ = DeviceClock(device_->timestampBits());
}

void StretchTimes::destroy() {
  if (pool_)
    device_->vulkan().DestroyQueryPool(device_->device(), pool_, nullptr);
}

void StretchTimes::begin(VkCommandBuffer commands, uint32_t dispatches) const {
  const Vulkan &vk = device_->vulkan();
  vk.CmdResetQueryPool(commands, pool_, 0, dispatches + 1);
  vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, pool_, 0);
}

void StretchTimes::stamp(VkCommandBuffer commands, uint32_t dispatch) const {
  device_->vulkan().CmdWriteTimestamp(
      commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, pool_, dispatch + 1);
}

bool StretchTimes::readStamps(uint32_t count) {
  return device_->vulkan().GetQueryPoolResults(
             device_->device(), pool_, 0, count, count * sizeof(uint64_t),
             stamps_.data(), sizeof(uint64_t),
             VK_QUERY_RESULT_64_BIT) == VK_SUCCESS;
}

/// Writes records of the stretch's dispatches, whose time stamps have been
/// read.
void StretchTimes::writeKernels(const bundle::Stretch *stretch, uint64_t before,
                                uint64_t after) {
  uint32_t dispatches = stretch->dispatches()->size();
  clock_.observe(before, stamps_[0], stamps_[dispatches], after);
  // A clock that is off by a moment must not have kernels stand outside.
  uint64_t start = std::clamp(clock_.hostTicks(stamps_[0]), before, after);
  for (uint32_t i = 0; i < dispatches; ++i) {
    uint64_t end = std::clamp(clock_.hostTicks(stamps_[i + 1]), start, after);
    Record kernel = {};
    kernel.start = start;
    kernel.ticks = end - start;
    kernel.index = stretch->dispatches()->Get(i)->operation();
    kernel.kind = RecordKind::GpuKernel;
    recorder_->write(kernel);
    start = end;
  }
}

/// The first run stamps and the second does not, which shows the cost of
/// stamps.
bool StretchTimes::areStamped(uint32_t stretch) const {
  if (!isOn())
    return false;
  const uint64_t *ticks = least_[stretch].ticks;
  return recorder_->stampsAll() || ticks[1] == 0 ||
         (ticks[0] != 0 && recorder_->mayStamp(spent_));
}

void StretchTimes::write(uint32_t index, const bundle::Stretch *stretch,
                         bool isStamped, uint64_t before, uint64_t after) {
  if (isStamped && readStamps(stretch->dispatches()->size() + 1))
    writeKernels(stretch, before, after);
  if (isOn()) {
    uint64_t *ticks = least_[index].ticks, &own = ticks[isStamped];
    own = std::min(own - 1, after - before - 1) + 1;
    if (isStamped)
      spent_ += recorder_->ticks() - after +
                (ticks[0] && ticks[1] > ticks[0] ? ticks[1] - ticks[0] : 0);
  }
  recorder_->writeHandOver(stretch->first(), stretch->count(), before, after);
}

} // namespace nnv12::runtime
