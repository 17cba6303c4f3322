//===- ShaderRunner.h - Runs SPIR-V on this machine -------------*- C++ -*-===//
//
// The Vulkan device that tests run kernels on: lavapipe where there is no other
// (Debian package mesa-vulkan-drivers). Nothing is linked: where there is no
// loader or no device, reason() says why.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_TEST_UNIT_COMPILER_CODEGEN_SHADERRUNNER_H
#define NNV12_TEST_UNIT_COMPILER_CODEGEN_SHADERRUNNER_H

#include "compiler/codegen/gpu/GpuStep.h"
#include "compiler/codegen/gpu/SpirvModule.h"

#include <string>
#include <vector>

namespace nnv12::test {

using Bytes = std::vector<char>;

class ShaderRunner {
public:
  /// The runner of this process; its device is opened at the first call.
  static ShaderRunner &instance();

  /// Whether there is a device; else `reason()` is why not.
  bool isAvailable() const { return reason_.empty(); }
  const std::string &reason() const { return reason_; }
  /// The features of the device.
  codegen::GpuFeatures features() const { return features_; }

  /// Runs the module once. `memories` are the contents of all memory,
  /// `bindings` which of them each binding is. A memory of which a binding is
  /// written may change, the others must not; each lies between canaries that
  /// its binding reaches into, so that a write beyond its end shows. Before
  /// that, it is run with all push words zero, which must write nothing. After
  /// that, its groups are run one by one, and each has to write the box that
  /// the dispatch's map declares. Returns the fault, or nothing.
  std::string run(const codegen::SpirvModule &module,
                  const codegen::GpuDispatch &dispatch,
                  const std::vector<size_t> &bindings,
                  std::vector<Bytes> &memories);
  /// The same with a memory for each binding but the tables'; written ones
  /// begin as garbage, and are returned.
  std::vector<Bytes> run(const codegen::SpirvModule &module,
                         const codegen::GpuDispatch &dispatch,
                         std::vector<Bytes> operands, std::string &error);

private:
  ShaderRunner();

  struct Device;
  Device *device = nullptr; ///< lives as long as the process
  std::string reason_;
  codegen::GpuFeatures features_;
};

/// Memory that nobody has written yet: NaN.
inline Bytes garbage(size_t size) { return Bytes(size, char(0xff)); }

/// The faults that artifact/SpirvVerifier.h and then spirv-val, as a library,
/// find in the module for Vulkan 1.1; empty where it is valid. That there is no
/// spirv-val is said once.
std::string validate(const codegen::SpirvModule &module);

} // namespace nnv12::test

#endif // NNV12_TEST_UNIT_COMPILER_CODEGEN_SHADERRUNNER_H
