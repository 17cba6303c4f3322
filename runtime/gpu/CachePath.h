//===- CachePath.h - Where files about a device lie -------------*- C++ -*-===//
#ifndef NNV12_RUNTIME_GPU_CACHEPATH_H
#define NNV12_RUNTIME_GPU_CACHEPATH_H

#include "artifact/Digest.h"
#include "runtime/gpu/Vulkan.h"

#include <sys/stat.h>

namespace nnv12::runtime {

/// All that the driver's compiled pipelines depend on, field by field.
struct CacheKey {
  uint32_t vendor, device, api, driver, driverId, isRobust;
  uint8_t deviceUuid[VK_UUID_SIZE], driverUuid[VK_UUID_SIZE],
      cacheUuid[VK_UUID_SIZE];
  uint64_t features;
};

/// A path, built up from its left.
struct CachePath {
  char text[512] = {};

  /// Begins it with `folder` and a slash. If `folder` is null, this is `nnv12`
  /// in the user's folder for caches, and is made where it is missing. False,
  /// with an empty path, where there is no folder, where others can write it,
  /// or where `folder` is empty, which asks for no files.
  bool begin(const char *folder);
  void append(const char *more);
  /// Eight bytes of it in hexadecimal.
  void append(const artifact::Digest &digest);
  /// The device, not its driver.
  void append(const CacheKey &device);
};

/// Whether an open file is a plain one that nobody else can write.
bool isOurs(int file, struct stat &info);

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_GPU_CACHEPATH_H
