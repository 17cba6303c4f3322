//===- GpuSearch.h - A GPU as the search sees it ----------------*- C++ -*-===//
#ifndef NNV12_COMPILER_DEVICE_GPUSEARCH_H
#define NNV12_COMPILER_DEVICE_GPUSEARCH_H

#include "compiler/device/GpuProfile.h"
#include "compiler/search/Problem.h"

namespace nnv12::device {

/// For search::Device::gpu.
search::Coprocessor searchGpu(const GpuProfile &gpu);
/// What each of its pipelines takes.
search::Pipeline searchPipeline(const GpuProfile &gpu);

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_GPUSEARCH_H
