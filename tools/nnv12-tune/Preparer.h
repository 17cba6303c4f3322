//===- Preparer.h - Makes a GPU ready like a session ------------*- C++ -*-===//
#ifndef NNV12_TOOLS_NNV12_TUNE_PREPARER_H
#define NNV12_TOOLS_NNV12_TUNE_PREPARER_H

#include "artifact/NonCopyable.h"
#include "runtime/GpuUploads.h"
#include "runtime/gpu/GpuWarmUp.h"
#include "tools/nnv12-tune/Dispatches.h"

#include <vector>

namespace nnv12::tune {

/// A GPU with the memory, pipelines and weights that a session of a tuning
/// bundle has there, without a session. Ends the process with one line where
/// that fails.
class Preparer : artifact::NonCopyable {
public:
  /// `cacheFolder` is that of PipelineCacheFile.h; "": none.
  Preparer(const DispatchBundle &bundle, const runtime::GpuWish &wish,
           const char *cacheFolder);
  ~Preparer();

  runtime::GpuDevice &device() { return *device_; }
  const runtime::GpuMemory &memory() const { return memory_; }
  const runtime::GpuPipelines &pipelines() const { return pipelines_; }
  /// Milliseconds until the device was open.
  double startMs() const { return startMs_; }

  /// One after another: milliseconds of each, on average.
  double makePipelines() { return makeSome(0, 1) / double(usable.size()); }
  /// The same on so many threads.
  double makePipelines(unsigned threads);
  size_t numPipelines() const { return usable.size(); }
  void save() { pipelines_.save(); }

  /// Bytes a millisecond, of all weights.
  double upload();

  [[noreturn]] void refuse(const artifact::Fault &fault) const;

private:
  double makeSome(size_t first, size_t stride);

  const DispatchBundle &of;
  runtime::GpuDevice *device_ = nullptr;
  double startMs_ = 0;
  runtime::GpuMemory memory_;
  runtime::GpuPipelines pipelines_;
  runtime::GpuUploads uploads;
  runtime::GpuWarmUp warmUp;
  std::vector<uint32_t> usable;
};

} // namespace nnv12::tune

#endif // NNV12_TOOLS_NNV12_TUNE_PREPARER_H
