//===- Kernels.h - Times of the kernels of a tuning bundle ------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_KERNELS_H
#define NNV12_TOOLS_NNV12_TUNE_KERNELS_H

#include "artifact/KernelFacts.h"
#include "runtime/include/nnv12.hpp"
#include "runtime/system/Memory.h"
#include "tools/nnv12-tune/Race.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace nnv12::tune {

using artifact::KernelFacts;

/// Memory of whole pages, 0 at first; `huge` ones where there is room and the
/// system has them, as the runtime asks for its arena and for mapped weights.
class Memory {
public:
  /// Ends the process when there is no memory.
  explicit Memory(size_t size, bool huge = true);

  uint8_t *data() { return pages->data(); }
  size_t size() const { return length; }

private:
  std::unique_ptr<runtime::Pages> pages;
  size_t length;
};

/// An opened tuning bundle (compiler/emit/TuningKernels.h) with its operands.
class Kernels {
public:
  /// Ends the process with one line when the file is no tuning bundle for this
  /// CPU.
  explicit Kernels(const std::string &path);

  /// The facts of each kernel, in the order of the operations. A part of a
  /// layer has those of the kernel that computes it.
  const std::vector<KernelFacts> &facts() const { return facts_; }
  /// The part of the layer's result that the kernel computes, 1: all of it.
  double share(size_t kernel) const { return shares[kernel]; }
  /// The tiles that it computes, one range behind another.
  std::vector<double> ranges(size_t kernel) const;
  /// The size of all weights that it may read.
  double weightBytes(size_t kernel) const;
  std::string layer(size_t kernel) const {
    return bundle.operation(operations[kernel].first).layer;
  }
  std::string target() const { return bundle.info().target; }
  /// The code generator's revision.
  std::string revision() const { return bundle.info().revision; }
  std::string tune() const { return bundle.info().tune; }
  const std::string &path() const { return path_; }

  /// A session on the CPUs that the caller may use.
  class Runner {
  public:
    Runner(Kernels &kernels, unsigned threads);
    /// Runs compute these kernels alone from now on.
    void select(const std::vector<bool> &wanted);
    /// Runs every kernel once that is selected; milliseconds of each, 0 of the
    /// others. `isCold`: weights come from memory.
    const std::vector<double> &run(bool isCold = true);

  private:
    Kernels &kernels;
    Recorder recorder;
    Session session;
    Recording recording;
    std::vector<double> times;
  };

  struct Times {
    std::vector<double> medians;  ///< milliseconds
    std::vector<double> p10, p90; ///< the first and the last tenth
    /// All kernels in the first run of each step, by the sum of the medians:
    /// between steps other things were done.
    std::vector<double> firstRuns;
  };
  /// Over `repeat` steps of one run or as many as take `leastStep`
  /// milliseconds, after one run that does not count. Calls `step` after each
  /// step. Kernels are dropped on the way (Race.h). `before`: medians of
  /// another number of threads, by which a race begins; empty: with all
  /// kernels. Those that it does not measure are estimated by them.
  Times measure(unsigned threads, unsigned repeat, double leastStep,
                const std::function<void()> &step,
                const std::vector<double> &before = {});
  /// One kernel of each layer, as many as a run of the model has.
  std::vector<bool> oneOfEach() const;

private:
  std::string path_;
  Bundle bundle;
  std::vector<KernelFacts> facts_;
  std::vector<double> shares;
  /// The operations of each of them, first and last.
  std::vector<std::pair<uint32_t, uint32_t>> operations;
  /// By kernel, for a Race: the routines of a layer are rivals.
  std::vector<uint32_t> groups;
  Memory weights, activations, integers, sink, fresh;
};

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_KERNELS_H
