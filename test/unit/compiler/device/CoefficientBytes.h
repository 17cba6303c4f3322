//===- CoefficientBytes.h - How much a GPU's coefficients are ---*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_DEVICE_COEFFICIENTBYTES_H
#define NNV12_TEST_UNIT_COMPILER_DEVICE_COEFFICIENTBYTES_H

#include "compiler/device/CostModel.h"

namespace nnv12::device {

/// Bytes that the coefficients of a family take: five numbers, and with weights
/// six, for each kind of kernel of its routines; of software up to five. Names
/// are not counted.
inline size_t coefficientBytes(const GpuProfile &gpu,
                               const std::string &family) {
  size_t sum = 0;
  for (const auto &[name, e] : gpu.efficiency)
    if (name == family || name.rfind(family + ".", 0) == 0)
      sum +=
          sizeof(float) * (4u + (e.latency > 0) +
                           (e.latencyFromMemory != e.latency) + (e.work > 0));
  return sum;
}

} // namespace nnv12::device

#endif // NNV12_TEST_UNIT_COMPILER_DEVICE_COEFFICIENTBYTES_H
