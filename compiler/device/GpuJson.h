//===- GpuJson.h - The GPU of a device profile as JSON ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_DEVICE_GPUJSON_H
#define NNV12_COMPILER_DEVICE_GPUJSON_H

#include "compiler/device/DeviceProfile.h"
#include "compiler/device/JsonFields.h"

namespace nnv12::device {

/// From an object; the first fault goes to `error`.
GpuProfile readGpu(const Json &object, std::string &error);
Json gpuJson(const GpuProfile &gpu);

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_GPUJSON_H
