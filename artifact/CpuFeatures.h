//===- CpuFeatures.h - Features of this CPU and system ----------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_CPUFEATURES_H
#define NNV12_ARTIFACT_CPUFEATURES_H

#include <cstddef>

namespace nnv12::artifact {

/// The architecture that this library was built for, as in
/// Program.architecture.
const char *hostArchitecture();

/// The features of this CPU, asked for when first needed: an instruction that
/// asks may trap into a hypervisor and take 20 us. The C library asked when the
/// process started; its answers are taken where it shares them.
class CpuFeatures {
public:
  enum Source { CLibrary, Cpu };
  /// `Cpu` passes over the C library; on aarch64 there is no other source.
  explicit CpuFeatures(Source source = CLibrary) : source_(source) {}

  /// Whether the CPU has, and the system saves the state of, the feature with
  /// this LLVM name. The state of AMX ("amx-int8"…) is a process's own, see
  /// TileState.h. A name that we do not know is a feature that we do not
  /// have.
  bool has(const char *name, size_t length);

  /// The name of the feature with this number, null behind the last.
  static const char *name(unsigned index);

private:
  [[maybe_unused]] Source source_;
#if defined(__x86_64__)
  static constexpr unsigned numLeaves = 4;
  struct Leaf {
    bool known;
    unsigned registers[4];
  };
  const Leaf &read(unsigned index);

  Leaf leaves_[numLeaves] = {};
#endif
};

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_CPUFEATURES_H
