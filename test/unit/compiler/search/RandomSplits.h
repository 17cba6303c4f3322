//===- RandomSplits.h - Problems whose layers can be cut --------*- C++ -*-===//
#ifndef NNV12_TEST_UNIT_COMPILER_SEARCH_RANDOMSPLITS_H
#define NNV12_TEST_UNIT_COMPILER_SEARCH_RANDOMSPLITS_H

#include "RandomProblem.h"
#include "compiler/search/Overlay.h"

#include <algorithm>
#include <array>

namespace nnv12::search {

/// Images, channels, rows.
using Extents = std::array<uint32_t, 3>;

/// A network with joins, and a coprocessor of about the speed of the CPUs:
/// convolutions, pools, sums, concatenations, gates and enlargements, of small
/// tensors, most of which can be cut along most dimensions.
class RandomSplits {
public:
  RandomSplits(Random &random, uint32_t layers) : random(random) {
    problem.device.executeThreads = 1 + random.below(3);
    problem.device.cpus = 2 + random.below(3);
    Coprocessor &gpu = problem.device.coprocessor.emplace();
    gpu.submit = random.between(0, 0.3);
    gpu.sync = random.between(0, 0.3);
    if (random.below(3)) {
      gpu.inPerByte = random.between(0, 1e-6);
      gpu.outPerByte = random.between(0, 1e-6);
    }
    if (random.below(4) == 0)
      gpu.hostCores = 1 + random.below(3);
    if (random.flip()) {
      gpu.beside = random.between(1, 1.5);
      gpu.besideCpu = random.between(1, 1.5);
    }
    gpu.power = {random.between(0, 4), random.between(0, 3),
                 random.between(0, 3)};
    addTensor(Tensor::input,
              {1 + random.below(3), 1 + random.below(6), 4 + random.below(9)});
    for (uint32_t i = 0; i < layers; ++i)
      addLayer(i);
    for (Tensor &t : problem.tensors) {
      std::sort(t.readers.begin(), t.readers.end());
      t.output =
          t.producer != Tensor::input &&
          ((t.readers.empty() && random.below(8)) || random.below(16) == 0);
      t.isShared = t.producer != Tensor::input && random.below(16) == 0;
    }
  }

  Problem problem;

private:
  void addTensor(uint32_t producer, const Extents &extents) {
    Tensor t;
    t.producer = producer;
    t.bytes = 1e5 * extents[0] * extents[1] * extents[2];
    problem.tensors.push_back(t);
    shapes.push_back(extents);
  }

  void read(uint32_t layer, uint32_t tensor, uint32_t dim, int64_t num,
            int64_t den, int64_t low, int64_t high) {
    problem.tensors[tensor].reaches.push_back({layer, dim, shapes[tensor][dim],
                                               Reach::Kind::Window, num, den,
                                               low, high});
  }
  void readAll(uint32_t layer, uint32_t tensor, uint32_t dim) {
    problem.tensors[tensor].reaches.push_back(
        {layer, dim, shapes[tensor][dim], Reach::Kind::All, 1, 1, 0, 0});
  }
  void readSame(uint32_t layer, uint32_t tensor, uint32_t dim) {
    read(layer, tensor, dim, 1, 1, 0, 0);
  }

  /// A tensor of one of the last layers.
  uint32_t recent() {
    uint32_t count = uint32_t(problem.tensors.size());
    return count - 1 - random.below(std::min(count, 3u));
  }

  /// Rows of a window over those of `x`.
  uint32_t addWindow(uint32_t layer, uint32_t x) {
    int64_t kernel = 1 + random.below(3), stride = 1 + random.below(2),
            before = random.below(unsigned(kernel)), rows = shapes[x][2];
    read(layer, x, 2, stride, 1, -before, kernel - 1 - before);
    return uint32_t(std::max<int64_t>(0, rows + 2 * before - kernel) / stride +
                    1);
  }

  void addLayer(uint32_t i) {
    uint32_t x = recent();
    Extents out = shapes[x];
    std::vector<uint32_t> operands = {x};
    auto add = [&](uint32_t tensor) {
      if (tensor != x)
        operands.push_back(tensor);
    };
    readSame(i, x, 0);
    switch (random.below(6)) {
    case 0: // a convolution
      readAll(i, x, 1);
      out[1] = 1 + random.below(6);
      out[2] = addWindow(i, x);
      break;
    case 1: // a pool
      readSame(i, x, 1);
      out[2] = addWindow(i, x);
      break;
    case 2: // an enlargement
      readSame(i, x, 1);
      read(i, x, 2, 1, 2, 0, 0);
      out[2] = std::min(16u, 2 * out[2]);
      break;
    case 3: { // a concatenation of channels, maybe with itself
      uint32_t y = x;
      for (int tries = 0; tries < 4; ++tries) {
        uint32_t other = recent();
        if (shapes[other][0] == out[0] && shapes[other][2] == out[2])
          y = other;
      }
      readSame(i, x, 1);
      readSame(i, x, 2);
      int64_t offset = -int64_t(out[1]);
      read(i, y, 1, 1, 1, offset, offset);
      if (y != x) {
        readSame(i, y, 0);
        readSame(i, y, 2);
      }
      out[1] += shapes[y][1];
      add(y);
      break;
    }
    default: { // a sum, or a gate of another shape
      uint32_t y = recent();
      for (uint32_t dim = 0; dim < 3; ++dim) {
        if (dim)
          readSame(i, x, dim);
        if (y == x)
          continue;
        if (shapes[y][dim] == out[dim] && random.below(8))
          readSame(i, y, dim);
        else if (random.below(8))
          readAll(i, y, dim);
      }
      add(y);
    }
    }
    for (uint32_t tensor : operands)
      problem.tensors[tensor].readers.push_back(i);
    addTimes(out);
    addTensor(i, out);
    if (random.below(10) == 0)
      addTensor(i, out);
  }

  /// Ascending, none of them 0 or the extent.
  std::vector<uint32_t> somePlaces(uint32_t extent) {
    std::vector<uint32_t> places;
    for (uint32_t at = 1; at < extent; ++at)
      if (random.below(3))
        places.push_back(at);
    return places;
  }

  void addTimes(const Extents &out) {
    Layer layer;
    Candidate c;
    c.execute = random.between(0.2, 4);
    layer.candidates.push_back(c);
    bool hasKernel = random.below(16);
    c.execute *= random.between(0.5, 2);
    c.upload = 1e3;
    for (uint32_t dim = 0; dim < 3; ++dim) {
      if (random.below(16)) {
        Front front = {dim, somePlaces(out[dim]), {}, 1 + random.below(5) / 4};
        front.ends.push_back(out[dim]);
        for (uint32_t end : front.ends)
          front.times.push_back(c.execute * (0.1 + 0.9 * end / out[dim]));
        c.fronts.push_back(front);
      }
      if (random.below(16)) {
        Back back = {dim, out[dim], somePlaces(out[dim]), {}, 0};
        back.whole = layer.candidates[0].execute * random.between(1, 1.2);
        for (uint32_t start : back.starts)
          back.times.push_back(back.whole *
                               (1 - 0.95 * double(start) / out[dim]));
        layer.backs.push_back(back);
      }
    }
    if (hasKernel)
      layer.inStretch.push_back(c);
    problem.layers.push_back(layer);
  }

  Random &random;
  std::vector<Extents> shapes; ///< of tensors
};

/// A line of convolutions of `rows` rows, that both processors compute as
/// fast, with so many places.
inline Problem lineOfWindows(uint32_t layers, uint32_t rows, uint32_t starts,
                             uint32_t dims, uint32_t kernel) {
  Problem p;
  p.device.cpus = 4;
  p.device.coprocessor.emplace();
  for (uint32_t i = 0; i <= layers; ++i) {
    Tensor t = {1e6, i ? i - 1 : Tensor::input, {}, i == layers};
    if (i < layers)
      t.readers = {i};
    for (uint32_t dim = 0; dim < dims && i < layers; ++dim)
      t.reaches.push_back({i, dim, rows, Reach::Kind::Window, 1, 1,
                           -int64_t(kernel / 2), int64_t(kernel / 2)});
    p.tensors.push_back(t);
    if (i == layers)
      break;
    Layer layer;
    Candidate c;
    c.execute = 1;
    layer.candidates.push_back(c);
    for (uint32_t dim = 0; dim < dims; ++dim) {
      c.fronts.push_back({dim, {rows}, {1}});
      Front &front = c.fronts.back();
      Back back = {dim, rows, {}, {}, 1};
      for (uint32_t s = 1; s <= starts; ++s) {
        uint32_t at = rows * s / (starts + 1);
        back.starts.push_back(at);
        back.times.push_back(1 - double(at) / rows);
        front.ends.insert(front.ends.end() - 1, at);
        front.times.insert(front.times.end() - 1, double(at) / rows);
      }
      layer.backs.push_back(back);
    }
    layer.inStretch.push_back(c);
    p.layers.push_back(layer);
  }
  return p;
}

} // namespace nnv12::search

#endif // NNV12_TEST_UNIT_COMPILER_SEARCH_RANDOMSPLITS_H
