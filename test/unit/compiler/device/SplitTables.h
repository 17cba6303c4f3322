//===- SplitTables.h - CoDL's tables, simulated -----------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_DEVICE_SPLITTABLES_H
#define NNV12_TEST_UNIT_COMPILER_DEVICE_SPLITTABLES_H

#include "compiler/search/SplitStretches.h"

#include <map>
#include <string>
#include <vector>

namespace nnv12::device {

/// A layer of CoDL's networks: a convolution; a fully connected layer, as one
/// of a map as large as its kernel; or a pool.
struct Window {
  unsigned height, width; ///< of the input, padded
  unsigned in, out;       ///< channels
  unsigned kernel, stride;
  bool isPool = false;

  unsigned rows() const { return (height - kernel) / stride + 1; }
  unsigned columns() const { return (width - kernel) / stride + 1; }
  /// For a pool, its comparisons.
  double multiplyAdds() const {
    return double(rows()) * columns() * out * kernel * kernel *
           (isPool ? 1 : in);
  }
};
using Windows = std::vector<Window>;

/// The networks as CoDL's program has them (csu-eis/CoDL, nn_model_builder.cc):
/// lists of layers, of which some do not fit to the one before.
const std::map<std::string, Windows> &codlNetworks();

/// A device as CoDL's simulation sees it.
struct SplitRates {
  double cpu, gpu; ///< multiply-adds a millisecond
  /// Milliseconds to share data, a stretch and a byte.
  double stretch = 1, byte = 0.15e-6;
};
/// Snapdragon 855. Its two rates are those at which YOLOv2 takes 213 ms on the
/// CPU and 169 on the GPU; the two constants of sharing are assumed.
SplitRates snapdragon855();

/// A line of layers, each of which reads the one before where it fits, for both
/// processors. They can be cut at so many places along channels and rows, or
/// at any (0).
search::Problem splitProblem(const Windows &windows, const SplitRates &rates,
                             unsigned places);

/// Later runs of a network, milliseconds.
struct SplitTimes {
  double cpu, gpu; ///< all on one of them; kernels alone
  /// CoDL's planner: rows or channels, tenths, each layer for itself, and the
  /// same with chains by its Algorithm 1, within which it adds up the maxima of
  /// both sides.
  double apart, chained;
  double planned; ///< by planWarmStretches()
  double bound;   ///< layer by layer both processors, with nothing shared
};
SplitTimes splitTimes(const Windows &windows, const SplitRates &rates);

/// Sharing of a stretch by that of its layers apart, all cut at the middle row.
double sharingOfChain(const Windows &windows, const SplitRates &rates);

/// Markdown tables, in docs/results/phones.md.
std::string splitTable();
std::string otherSplitsTable();

} // namespace nnv12::device

#endif // NNV12_TEST_UNIT_COMPILER_DEVICE_SPLITTABLES_H
