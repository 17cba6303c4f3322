//===- CacheKey.h - Names a device and its driver ---------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_GPU_CACHEKEY_H
#define NNV12_RUNTIME_GPU_CACHEKEY_H

#include "runtime/gpu/Vulkan.h"

#include <cstdint>

namespace nnv12::runtime {

/// All that the driver's compiled pipelines depend on, field by field.
struct CacheKey {
  uint32_t vendor, device, api, driver, driverId, isRobust;
  uint8_t deviceUuid[VK_UUID_SIZE], driverUuid[VK_UUID_SIZE],
      cacheUuid[VK_UUID_SIZE];
  uint64_t features;
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_CACHEKEY_H
