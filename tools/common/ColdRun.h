//===- ColdRun.h - Fresh processes with an empty page cache -----*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_COLDRUN_H
#define NNV12_TOOLS_COMMON_COLDRUN_H

#include "runtime/include/nnv12.hpp"
#include "tools/common/Tensor.h"

#include <cstdint>
#include <string>
#include <vector>

namespace nnv12::tools {

/// A fresh process's report. Times in milliseconds.
struct ColdReport {
  double process = 0; ///< from its start to the end of its first run
  double open = 0, session = 0, firstRun = 0;
  double cpu = 0;       ///< of all threads, from opening to the first result
  double end = 0;       ///< of the first run, as milliseconds() tells it
  double floor = 0;     ///< of --floor-run
  double residency = 0; ///< of --floor-run: cached when it began
  uint64_t peakBytes = 0;
};

/// Which part of the first `size` bytes of an open file is in memory, 0 to 1.
double residency(int fd, size_t size);

/// Uses more memory than `size` bytes, and frees it, so that the next user
/// finds as much at hand. In a virtual machine free memory may have been given
/// back to the host, which takes milliseconds to supply 2 MB of it again. That
/// depends on the machine and on the programs before, not on the device.
void backMemory(size_t size);

/// Evicts the file's pages, or with `dropCaches` all pages of the system, from
/// the page cache; with `backs` also sees to it that free memory is at hand.
/// Returns which part of the file is cached still, 0 to 1.
double evict(const std::string &path, bool dropCaches, bool backs);

/// Starts this program again with the same arguments, `--report-to FD` and
/// `option`, and waits. Adds `process` to its report.
ColdReport runFresh(char **argv, const std::string &option);

/// Keeps the inputs' bytes where processes that runFresh() starts find them, so
/// that making them is no part of a cold run. Returns a descriptor for
/// takeInputs(), which they inherit.
unsigned handInputs(const std::vector<Tensor> &inputs);
/// In the fresh process: those bytes in shared memory, as a camera hands over
/// its pictures, in the same order. They stay until the process ends.
std::vector<Input> takeInputs(unsigned descriptor);

/// The least that a cold run must do: milliseconds for mapping the bundle and
/// touching each page of its weights, in order. Evicts the file once it knows
/// where they are; `residency` is the result of evict(). Ends the process when
/// the bundle cannot be opened.
double touchWeights(const std::string &path, bool backs, double &residency);

/// For the fresh process.
void sendReport(unsigned descriptor, const ColdReport &report);

/// The most memory that this process had at once (VmHWM), in bytes, since it
/// began or since forgetPeakMemory().
uint64_t peakMemory();
void forgetPeakMemory();

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_COLDRUN_H
