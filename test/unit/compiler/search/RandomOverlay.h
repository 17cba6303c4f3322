//===- RandomOverlay.h - Problems with a coprocessor ------------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_SEARCH_RANDOMOVERLAY_H
#define NNV12_TEST_UNIT_COMPILER_SEARCH_RANDOMOVERLAY_H

#include "RandomProblem.h"
#include "compiler/search/Overlay.h"

namespace nnv12::search {

/// Gives a problem a coprocessor that computes most layers, sometimes faster,
/// and tensors that skip layers.
inline void addRandomCoprocessor(Random &random, Problem &p) {
  Coprocessor gpu;
  gpu.start = random.flip() ? random.between(0, 3) : 0;
  gpu.threads = 1 + random.below(3);
  gpu.batch = 1 + random.below(3);
  gpu.pipelineScaling = random.flip() ? 1 : random.between(0.2, 1);
  gpu.uploadBandwidth = random.between(1e5, 1e7);
  gpu.submit = random.between(0, 0.2);
  gpu.sync = random.between(0, 0.2);
  if (random.flip()) {
    gpu.inPerByte = random.between(0, 1e-6);
    gpu.outPerByte = random.between(0, 1e-6);
  }
  if (random.below(4) == 0)
    gpu.hostCores = 1 + random.below(2);
  p.device.coprocessor = gpu;
  unsigned pipelines = 1 + random.below(5);
  for (unsigned i = 0; i < pipelines; ++i) {
    double build = random.between(0.1, 4);
    p.pipelines.push_back({build, build * random.between(0, 0.2)});
  }
  unsigned n = unsigned(p.layers.size());
  double speed = random.between(0.1, 1.5);
  for (Layer &layer : p.layers) {
    if (random.below(6) == 0)
      continue;
    for (unsigned c = 0, count = 1 + random.below(3); c < count; ++c) {
      Candidate g;
      g.routine = "gpu" + std::to_string(c);
      g.storage.storage =
          random.flip() ? plan::Storage::raw : plan::Storage::packed;
      for (unsigned k = 0, used = random.below(3); k < used; ++k) {
        uint32_t pipeline = random.below(pipelines);
        if (g.pipelines.empty() || g.pipelines[0] != pipeline)
          g.pipelines.push_back(pipeline);
      }
      g.bytes = random.flip() ? random.between(0, 1e5) : 0;
      g.transform.big = random.below(3) == 0 ? random.between(0, 1) : 0;
      g.transform.little = 2 * g.transform.big;
      g.upload = random.flip() ? random.between(0, 1e6) : 0;
      g.execute = layer.candidates[0].execute * speed * random.between(0.3, 2);
      layer.inStretch.push_back(g);
    }
  }
  p.tensors.push_back({random.between(1e3, 1e5), Tensor::input, {0}});
  for (uint32_t i = 0; i < n; ++i) {
    Tensor t = {random.between(1e3, 1e6), i, {}, i + 1 == n};
    for (uint32_t j = i + 1; j < n; ++j)
      if (j == i + 1 || random.below(5) == 0)
        t.readers.push_back(j);
    t.output |= random.below(12) == 0;
    p.tensors.push_back(t);
  }
}

inline Problem randomOverlayProblem(Random &random, unsigned layers,
                                    unsigned lanes) {
  Problem p = randomProblem(random, layers, 2, lanes);
  addRandomCoprocessor(random, p);
  return p;
}

/// Random stretches with their preparations on the lanes.
inline OverlaySchedule randomOverlaySchedule(Random &random, const Problem &p) {
  OverlaySchedule gpu;
  for (const Layer &layer : p.layers)
    gpu.choice.push_back(layer.inStretch.empty()
                             ? 0
                             : random.below(unsigned(layer.inStretch.size())));
  for (uint32_t i = 0; i < p.layers.size(); ++i) {
    if (p.layers[i].inStretch.empty() || random.below(3) == 0)
      continue;
    bool grows = !gpu.stretches.empty() && gpu.stretches.back().end() == i;
    if (grows && random.below(3))
      ++gpu.stretches.back().count;
    else
      gpu.stretches.push_back({i, 1});
  }
  gpu.lanes = prepareStretches(p, gpu.choice, gpu.stretches,
                               p.device.coprocessor->threads, random.flip(),
                               /*cached=*/false);
  gpu.onExecuteLane = gpu.lanes.size() == 1 && random.flip();
  return gpu;
}

} // namespace nnv12::search

#endif // NNV12_TEST_UNIT_COMPILER_SEARCH_RANDOMOVERLAY_H
