//===- FreshOutputs.h - Outputs in memory that was never used ---*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_PROF_FRESHOUTPUTS_H
#define NNV12_TOOLS_NNV12_PROF_FRESHOUTPUTS_H

#include "artifact/NonCopyable.h"
#include "runtime/include/nnv12.hpp"

#include <vector>

namespace nnv12::prof {

/// As programs have them that allocate each result anew.
class FreshOutputs : artifact::NonCopyable {
public:
  /// Ends the process where there is no memory.
  explicit FreshOutputs(const Bundle &bundle);
  ~FreshOutputs();

  /// The bundle's outputs, in its order.
  const std::vector<Output> &outputs() const { return buffers_; }
  /// From now on each page is as if it was never used: the next use of it is a
  /// page fault.
  void renew();

private:
  std::vector<Output> buffers_;
};

} // namespace nnv12::prof

#endif // NNV12_TOOLS_NNV12_PROF_FRESHOUTPUTS_H
