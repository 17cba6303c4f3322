//===- SplitStretches.h - Stretches of both processors ----------*- C++ -*-===//
//
// Layers first to last that CPUs and a coprocessor compute at once (CoDL,
// section 4). The last layer's result is cut in two. Each side computes as much
// of the layers before as its own part needs. So the sides share nothing in
// between, and some positions are computed twice. All layers are cut along one
// dimension. All results that leave the stretch are cut at the same place, and
// no layer of the stretch reads them: each position has one writer.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_SEARCH_SPLITSTRETCHES_H
#define NNV12_COMPILER_SEARCH_SPLITSTRETCHES_H

#include "compiler/search/Overlay.h"

namespace nnv12::search {

/// Stretches that end at one cut and grow, a layer at a time, towards the
/// front. Borrows the problem.
class SplitWalk {
public:
  SplitWalk(const Problem &problem, const StretchChoice &choice, uint32_t dim);

  /// The places at which a stretch of which `layer` is the last one can be cut.
  const std::vector<uint32_t> &placesOf(uint32_t layer) const {
    return places[layer];
  }
  /// Nothing yet, of a stretch with this last layer, cut at one of its places.
  void begin(uint32_t last, uint32_t at);
  /// Adds the layer before. False where no stretch with it is one; then begin
  /// again.
  bool grow();

  uint32_t dim() const { return dimension; }
  uint32_t first() const { return firstLayer; }
  StretchTime time() const;
  /// The coprocessor computes positions [0, frontEnd) of the layer that was
  /// added last, CPUs [backStart, extent).
  uint32_t frontEnd() const { return end; }
  uint32_t backStart() const { return start; }
  /// Layers that all walks added: the cost of a search.
  uint64_t steps() const { return stepCount; }

private:
  struct Read {
    uint32_t tensor;
    const Reach *reach;
  };
  /// The parts of a tensor that layers of the stretch need from each side.
  struct Need {
    uint64_t walk = 0; ///< the one that this is of
    bool all = false;
    uint32_t extent = 0, frontEnd = 0, backStart = 0;
  };
  Need *needOf(uint32_t tensor);
  /// Whether the layer to be added can be; sets `end` and `start`.
  bool findPart(uint32_t layer);

  const Problem &problem;
  const Coprocessor &coprocessor;
  uint32_t dimension;
  double frontScale, backScale; ///< of times
  std::vector<const Front *> fronts;
  std::vector<const Back *> backs;
  std::vector<std::vector<uint32_t>> places;
  std::vector<std::vector<Read>> reads;
  std::vector<std::vector<uint32_t>> written; ///< tensors of each layer
  std::vector<Need> needs;                    ///< of each tensor

  uint32_t lastLayer = 0, cut = 0, firstLayer = 0, end = 0, start = 0;
  double front = 0, back = 0, in = 0, out = 0; ///< milliseconds, bytes
  uint64_t stepCount = 0, walkNumber = 0;
};

/// The dimensions along which any layer has a back, ascending.
std::vector<uint32_t> splitDims(const Problem &problem);

/// Each layer that can be cut is in a split: the longest stretches first, each
/// cut at the place nearest to so much of the dimension for the coprocessor. In
/// order. `dim`: the only one that is cut.
std::vector<Stretch> forcedSplits(const Problem &problem,
                                  const StretchChoice &choice,
                                  std::optional<uint32_t> dim, double percent);

/// The reason that a layer is not in a split.
enum class WhyWhole : uint8_t {
  IsSplit,    ///< it is in one
  NoKernel,   ///< the coprocessor cannot compute it
  NoFront,    ///< nor a front of it
  NoBack,     ///< CPUs cannot compute a back of it
  NoPlace,    ///< there is no place where both can
  Slower,     ///< alone, a split costs more than the better processor
  GainsLittle ///< a split gains, but too little, or not in the whole plan
};
/// As a sentence goes on behind "not split: ".
const char *nameOf(WhyWhole why);

/// One layer on each processor and on both; milliseconds, with its hand-over.
struct LayerSplit {
  double cpu = 0;
  std::optional<double> gpu, both; ///< absent: not possible
  Split split = {};                ///< the best, if `both` is there
  WhyWhole why = WhyWhole::NoKernel;
};
/// Each layer as a stretch of its own, and why `plan` does not split it.
std::vector<LayerSplit> splitReport(const Problem &problem, const Choice &cpu,
                                    const WarmStretches &plan);

} // namespace nnv12::search

#endif // NNV12_COMPILER_SEARCH_SPLITSTRETCHES_H
