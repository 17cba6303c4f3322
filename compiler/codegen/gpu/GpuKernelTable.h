//===- GpuKernelTable.h - The kernels of GPUs that layers need --*- C++ -*-===//
#ifndef NNV12_COMPILER_CODEGEN_GPU_GPUKERNELTABLE_H
#define NNV12_COMPILER_CODEGEN_GPU_GPUKERNELTABLE_H

#include "compiler/codegen/gpu/GpuRoutine.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

namespace nnv12::codegen {

/// The modules for one target, compiled as they are asked for, each once.
class GpuKernelTable {
public:
  struct Kernel {
    std::string key;  ///< GpuSteps::kernels
    std::string name; ///< for people: the routine
    SpirvModule module;
  };
#ifdef NDEBUG
  static constexpr bool compares = false;
#else
  static constexpr bool compares = true;
#endif

  /// Where it compares, a kernel that is there already is compiled once more,
  /// and must come out the same.
  explicit GpuKernelTable(GpuTarget target, bool comparesTwins = compares)
      : target(std::move(target)), comparesTwins(comparesTwins) {}

  /// The layer's steps, with `half` of its tensors in f16, whose numbers of
  /// kernels are those of kernels() instead of GpuSteps::kernels, which is
  /// empty. With a cut, the steps of the front. Fails with a diagnostic at the
  /// layer.
  mlir::FailureOr<GpuSteps> add(Operation *layer, const GpuRoutine &routine,
                                HalfTensors half = {},
                                std::optional<Cut> cut = std::nullopt);

  ArrayRef<Kernel> kernels() const { return kernels_; }
  /// The number of the kernel with this key; none where no layer has it.
  std::optional<unsigned> find(StringRef key) const {
    auto it = known.find(key);
    return it == known.end() ? std::nullopt : std::optional(it->second);
  }
  const Kernel &operator[](unsigned index) const { return kernels_[index]; }

private:
  GpuTarget target;
  bool comparesTwins;
  std::vector<Kernel> kernels_;
  llvm::StringMap<unsigned> known;
};

} // namespace nnv12::codegen

#endif // NNV12_COMPILER_CODEGEN_GPU_GPUKERNELTABLE_H
