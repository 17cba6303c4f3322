//===- GpuTarget.h - Features that GPU kernels may use ----------*- C++ -*-===//
//
// Vulkan 1.1 without extensions is the floor; all beyond it is a feature that a
// device may lack. Code is made for a set of features, not for a device.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_GPUTARGET_H
#define NNV12_COMPILER_CODEGEN_GPU_GPUTARGET_H

#include "artifact/SpirvInterface.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace nnv12::codegen {

/// A feature that a device may have and code can be made for, a bit each: those
/// of bundles.
enum class GpuFeature : uint64_t {
  Int64 = artifact::SpirvInt64,               ///< shaderInt64
  Float64 = artifact::SpirvFloat64,           ///< shaderFloat64
  Int8 = artifact::SpirvInt8,                 ///< shaderInt8: arithmetic
  Int16 = artifact::SpirvInt16,               ///< shaderInt16: arithmetic
  Storage8 = artifact::SpirvStorageBuffer8,   ///< storageBuffer8BitAccess
  Storage16 = artifact::SpirvStorageBuffer16, ///< storageBuffer16BitAccess
};

/// A set of features.
struct GpuFeatures {
  uint64_t bits = 0;

  bool has(GpuFeature feature) const { return bits & uint64_t(feature); }
  void add(GpuFeature feature) { bits |= uint64_t(feature); }
  /// Those that `available` lacks.
  GpuFeatures missingFrom(GpuFeatures available) const {
    return {bits & ~available.bits};
  }
  bool empty() const { return bits == 0; }
  bool operator==(GpuFeatures other) const { return bits == other.bits; }
  /// "int64, float64": for messages.
  std::string text() const;
};

struct GpuTarget {
  /// The target's name in kernels' keys (KernelKey.h): "vulkan1.1", with a
  /// "+feature" for each feature.
  std::string name;
  GpuFeatures features;

  // The limits that every device of Vulkan 1.1 has at least.
  static constexpr unsigned maxInvocations = 128;      ///< of a work group
  static constexpr unsigned maxSharedBytes = 16384;    ///< of a work group
  static constexpr unsigned maxPushBytes = 128;        ///< of a dispatch
  static constexpr unsigned maxGroups = 65535;         ///< in each dimension
  static constexpr unsigned maxBindings = 32;          ///< bits of `written`
  static constexpr int64_t maxBufferBytes = 1LL << 27; ///< of an operand
  // The misfits of layers that are beyond them.
  static constexpr char tooLarge[] =
      "a tensor is larger than the buffers of every device (128 MiB)";
  static constexpr char tooManyGroups[] =
      "it has more work groups than every device takes";

  static GpuTarget of(GpuFeatures features);
  /// All that code can be made for.
  static GpuTarget everything();
  /// "vulkan1.1", or that with features: "vulkan1.1+int64+storage8"; "+all" are
  /// all of them. None for other names.
  static std::optional<GpuTarget> byName(llvm::StringRef name);
  /// The names that byName() takes, for messages.
  static std::string choices();
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_GPUTARGET_H
