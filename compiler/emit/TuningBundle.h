//===- TuningBundle.h - A bundle of kernels to be measured ------*- C++ -*-===//
//
// NNV12, section 3.1, profiles every kernel of every operator on the device
// before it plans. Here the runtime itself does so: a tuning bundle is an
// ordinary bundle, of a kind of its own, that nnv12-tune runs with the profile
// on. Here are their common parts: the measurements of a processor are in
// TuningKernels.h (operations of CPUs) and TuningDispatches.h (stretches of a
// GPU).
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_EMIT_TUNINGBUNDLE_H
#define NNV12_COMPILER_EMIT_TUNINGBUNDLE_H

#include "compiler/emit/BundleBuilder.h"

#include <array>

namespace nnv12 {

/// Where the kernels of a tuning bundle read and write, whatever memory these
/// regions lie in.
class TuningMemory {
public:
  enum Region : unsigned {
    Fresh, ///< activations, written just before they are read, from the start
    In,    ///< bytes that are handed in
    Back,  ///< bytes that are handed back
    Sink,  ///< results
    Temporaries,
    /// Constants. They come one behind another and start over at the end, so
    /// that a kernel does not find its weights in the cache.
    Weights,
    Integers, ///< operands of integers and truth values
    Tables,
    numRegions
  };
  struct Place {
    Region region;
    uint64_t offset, size;
  };

  /// Weights take so many bytes at least, and a multiple of `granule`.
  TuningMemory(uint64_t alignment, uint64_t leastWeights, uint64_t granule)
      : alignment(alignment), granule(granule) {
    sizes[Weights] = leastWeights;
  }

  /// The operands of the next kernel are placed.
  void begin() { activations = integers = 0; }
  Place read(mlir::Type element, bool isConstant, uint64_t size);
  /// Results do not lie where those of the kernel before do: in a model no
  /// layer writes to memory that has just been written, and where much is
  /// written it is not in a cache close by.
  std::vector<Place> results(llvm::ArrayRef<int64_t> bytes);
  /// At `offset`, which then is behind it.
  Place take(Region region, uint64_t &offset, uint64_t size);

  /// Activations that the kernel reads.
  uint64_t freshBytes() const { return activations; }
  /// That the region needs.
  uint64_t &operator[](Region region) { return sizes[region]; }

private:
  uint64_t alignment, granule;
  std::array<uint64_t, numRegions> sizes = {};
  uint64_t activations = 0, integers = 0, weights = 0; ///< the next offsets
  unsigned turn = 0;
};

/// Writes activations for a kernel of a CPU, and stands for one of a GPU:
/// copies whole tiles of KernelTable::copy().
artifact::Operation copyOperation(KernelTable &table, std::string layer,
                                  uint32_t output, uint32_t input,
                                  uint64_t bytes);

/// An input or output of a tuning bundle.
artifact::Tensor tuningTensor(const char *name, artifact::ElementType type,
                              uint64_t bytes);

class TuningWriter {
public:
  /// `programs`: how many are added.
  TuningWriter(mlir::func::FuncOp main, uint32_t programs);

  /// Adds the program of a target: `fill` gives it its operations, whose
  /// kernels are in the table. `revision` is the code generator's. On failure a
  /// diagnostic has been emitted.
  mlir::LogicalResult
  add(const codegen::Target &target, const std::string &revision,
      llvm::function_ref<void(KernelTable &, artifact::Program &)> fill);

  /// Holds the bundle, and writes it.
  BundleBuilder builder;

private:
  mlir::MLIRContext &context;
};

} // namespace nnv12

#endif // NNV12_COMPILER_EMIT_TUNINGBUNDLE_H
