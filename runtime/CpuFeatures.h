//===- CpuFeatures.h - What this CPU and this system can run ----*- C++ -*-===//
#ifndef NNV12_RUNTIME_CPUFEATURES_H
#define NNV12_RUNTIME_CPUFEATURES_H

#include <cstddef>

namespace nnv12::runtime {

/// The architecture that this library was built for, as in
/// Program.architecture.
const char *hostArchitecture();

/// What this CPU has, asked for when first needed: an instruction that asks may
/// trap into a hypervisor and take 20 us.
class CpuFeatures {
public:
  /// Whether the CPU has, and the system saves the state of, the feature with
  /// this LLVM name. A name that we do not know is a feature that we do not
  /// have.
  bool has(const char *name, size_t length);

private:
#if defined(__x86_64__)
  static constexpr unsigned numLeaves = 4;
  struct Leaf {
    bool known;
    unsigned registers[4];
  };
  const Leaf &read(unsigned leaf);

  Leaf leaves[numLeaves] = {};
#endif
};

} // namespace nnv12::runtime

#endif // NNV12_RUNTIME_CPUFEATURES_H
