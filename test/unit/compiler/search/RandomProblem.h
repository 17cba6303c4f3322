//===- RandomProblem.h - Problems for the search's tests --------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_SEARCH_RANDOMPROBLEM_H
#define NNV12_TEST_UNIT_COMPILER_SEARCH_RANDOMPROBLEM_H

#include "compiler/search/Search.h"

#include <random>

namespace nnv12::search {

/// The same on every platform: standard distributions are not.
class Random {
public:
  explicit Random(unsigned seed) : engine(seed) {}
  /// 0 to n - 1.
  unsigned below(unsigned n) { return unsigned(engine() % n); }
  double between(double low, double high) {
    return low + (high - low) * double(engine() % 10007) / 10006;
  }
  bool flip() { return below(2); }

private:
  std::mt19937 engine;
};

inline Candidate randomCandidate(Random &random) {
  Candidate c;
  c.routine = "routine" + std::to_string(random.below(3));
  c.storage.storage =
      random.flip() ? plan::Storage::packed : plan::Storage::transformed;
  c.form = random.flip() ? "" : "form";
  if (random.below(8)) {
    c.bytes = random.between(1e3, 1e6);
    if (random.below(3) == 0)
      c.decode = {random.between(0.1, 1), random.between(0.2, 2)};
    if (random.flip())
      c.transform = {random.between(0.1, 2), random.between(0.2, 4)};
  }
  c.execute = random.between(0.05, 3);
  return c;
}

inline Problem randomProblem(Random &random, unsigned layers,
                             unsigned candidates, unsigned lanes) {
  Problem p;
  for (unsigned i = 0; i < layers; ++i) {
    Layer layer;
    layer.name = "layer" + std::to_string(i);
    for (unsigned n = 1 + random.below(candidates), k = 0; k < n; ++k)
      layer.candidates.push_back(randomCandidate(random));
    if (random.flip())
      layer.firstTouch = random.between(0, 0.3);
    p.layers.push_back(layer);
  }
  Device &d = p.device;
  d.readBandwidth = random.between(2e5, 2e6);
  d.readLatency = random.flip() ? random.between(0.01, 0.2) : 0;
  if (random.below(3) == 0) {
    Arrival point = {0, 0};
    for (unsigned i = 0; i < 4; ++i) {
      point.bytes += random.between(1e4, 1e6);
      point.time += random.flip() ? random.between(0, 2) : 0;
      d.arrival.push_back(point);
    }
  }
  if (random.below(3) == 0)
    d.decoderStart = random.between(0, 1);
  d.mapPerByte = {random.between(0, 2e-7), random.between(0, 4e-7)};
  Core core = random.flip() ? Core::Big : Core::Little;
  d.preparationLanes.assign(lanes, core);
  if (lanes > 1 && random.below(4) == 0)
    d.preparationLanes[0] = Core::Big;
  d.executeThreads = 1 + random.below(3);
  d.cpus = 1 + random.below(6);
  if (random.flip()) {
    d.executeInterference = random.between(1, 1.5);
    d.prepareInterference = random.between(1, 1.5);
  }
  return p;
}

} // namespace nnv12::search

#endif // NNV12_TEST_UNIT_COMPILER_SEARCH_RANDOMPROBLEM_H
