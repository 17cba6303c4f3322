//===- SpirvInterface.h - A bundle's claims about SPIR-V --------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_SPIRVINTERFACE_H
#define NNV12_ARTIFACT_SPIRVINTERFACE_H

#include "artifact/Limits.h"

#include <cstddef>
#include <cstdint>

namespace nnv12::artifact {

/// Features of a device beyond Vulkan 1.1's own that a module may ask for, a
/// capability each.
enum SpirvFeature : uint64_t {
  SpirvInt64 = 1 << 0,
  SpirvFloat64 = 1 << 1,
  SpirvInt8 = 1 << 2,
  SpirvInt16 = 1 << 3,
  SpirvFloat16 = 1 << 4,
  SpirvStorageBuffer8 = 1 << 5, ///< StorageBuffer8BitAccess
  SpirvStorageBuffer16 = 1 << 6,
  SpirvUniformAndStorageBuffer8 = 1 << 7,
  SpirvUniformAndStorageBuffer16 = 1 << 8
};

/// The limit that Vulkan promises of any device, and that kernels keep to.
/// Where specialization constants give the size of workgroups it is
/// maxInvocations; the code that makes the pipeline compares that with the
/// device's own limit.
constexpr uint32_t mostSpirvInvocations = 128;

/// A module, and the bundle's claims about it.
struct SpirvInterface {
  const uint32_t *words;
  size_t numWords;
  uint32_t bindings;         ///< storage buffers 0 to bindings - 1 of set 0
  uint32_t written;          ///< a bit a binding: the others are NonWritable
  uint32_t pushWords;        ///< of the push-constant block, at most
  uint32_t local[3];         ///< invocations of a workgroup
  uint32_t shared;           ///< bytes of workgroup memory, exactly
  uint64_t features;         ///< those that the module may use: SpirvFeature
  const uint32_t *constants; ///< values of specialization constants, by SpecId
  uint32_t numConstants;
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_SPIRVINTERFACE_H
