//===- SplitStretches.cpp - Stretches of both processors ------------------===//

#include "compiler/search/SplitStretches.h"
#include "compiler/search/Search.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace nnv12::search {

static double timeOfFront(const Front &front, uint32_t end) {
  if (!end)
    return 0;
  auto at = std::lower_bound(front.ends.begin(), front.ends.end(), end);
  assert(at != front.ends.end() && "the last end is the extent");
  size_t i = at - front.ends.begin();
  if (!i || *at == end)
    return front.times[i];
  double part = double(end - front.ends[i - 1]) / (*at - front.ends[i - 1]);
  return front.times[i - 1] + part * (front.times[i] - front.times[i - 1]);
}

/// The last place at which a back with all positions from `start` on can begin.
static uint32_t roundDown(const Back &back, uint32_t start) {
  if (start == back.extent)
    return start;
  auto at = std::upper_bound(back.starts.begin(), back.starts.end(), start);
  return at == back.starts.begin() ? 0 : at[-1];
}

/// `start` must be such a place.
static double timeOfBack(const Back &back, uint32_t start) {
  if (start == back.extent)
    return 0;
  if (!start)
    return back.whole;
  auto at = std::lower_bound(back.starts.begin(), back.starts.end(), start);
  return back.times[at - back.starts.begin()];
}

static int64_t floorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/// How many positions at the front of the tensor the front [0, end) of the
/// reader needs.
static uint32_t neededFront(const Reach &reach, uint32_t end) {
  if (!end)
    return 0;
  if (reach.kind == Reach::Kind::All)
    return reach.extent;
  int64_t last =
      floorDivide((int64_t(end) - 1) * reach.num + reach.high, reach.den);
  return uint32_t(std::clamp<int64_t>(last + 1, 0, reach.extent));
}

/// The first position of the tensor that a back of the reader needs.
static uint32_t neededBack(const Reach &reach, uint32_t start,
                           uint32_t readerExtent) {
  if (start == readerExtent)
    return reach.extent;
  if (reach.kind == Reach::Kind::All)
    return 0;
  int64_t at = floorDivide(int64_t(start) * reach.num + reach.low, reach.den);
  return uint32_t(std::clamp<int64_t>(at, 0, reach.extent));
}

SplitWalk::SplitWalk(const Problem &problem, const StretchChoice &choice,
                     uint32_t dim)
    : problem(problem), coprocessor(*problem.device.coprocessor),
      dimension(dim) {
  size_t n = problem.layers.size();
  // A coprocessor that is software takes CPUs from the others, and they from
  // it.
  double crowding = problem.device.crowding(coprocessor.hostCores);
  backScale = coprocessor.besideCpu * crowding;
  frontScale = coprocessor.beside * (coprocessor.hostCores ? crowding : 1);

  fronts.assign(n, nullptr);
  backs.assign(n, nullptr);
  places.resize(n);
  reads.resize(n);
  written.resize(n);
  needs.resize(problem.tensors.size());
  auto of = [&](const auto &parts) {
    auto at = std::find_if(parts.begin(), parts.end(),
                           [&](const auto &part) { return part.dim == dim; });
    return at == parts.end() ? nullptr : &*at;
  };
  for (uint32_t i = 0; i < n; ++i) {
    const Layer &layer = problem.layers[i];
    if (layer.inStretch.empty())
      continue;
    fronts[i] = of(problem.chosenInStretch(choice, i).fronts);
    backs[i] = of(layer.backs);
  }
  for (uint32_t t = 0; t < problem.tensors.size(); ++t) {
    const Tensor &tensor = problem.tensors[t];
    if (tensor.producer != Tensor::input)
      written[tensor.producer].push_back(t);
    for (uint32_t reader : tensor.readers) {
      bool isCut = false;
      for (const Reach &reach : tensor.reaches)
        if (reach.reader == reader && reach.dim == dim) {
          isCut = true;
          bool isNew = std::none_of(
              reads[reader].begin(), reads[reader].end(),
              [&](const Read &read) { return read.reach == &reach; });
          if (isNew)
            reads[reader].push_back({t, &reach});
        }
      if (!isCut)
        backs[reader] = nullptr;
    }
  }
  for (uint32_t i = 0; i < n; ++i) {
    if (!fronts[i] || !backs[i])
      continue;
    assert(fronts[i]->ends.size() == fronts[i]->times.size() &&
           backs[i]->starts.size() == backs[i]->times.size() &&
           !fronts[i]->ends.empty() &&
           fronts[i]->ends.back() == backs[i]->extent &&
           "each part has a time, and both are of one result");
    for (uint32_t at : backs[i]->starts)
      if (at % fronts[i]->unit == 0)
        places[i].push_back(at);
  }
}

void SplitWalk::begin(uint32_t last, uint32_t at) {
  lastLayer = last;
  cut = at;
  firstLayer = last + 1;
  ++walkNumber;
  front = back = in = out = 0;
}

SplitWalk::Need *SplitWalk::needOf(uint32_t tensor) {
  Need &need = needs[tensor];
  return need.walk == walkNumber ? &need : nullptr;
}

bool SplitWalk::findPart(uint32_t layer) {
  const Back &part = *backs[layer];
  bool leaves = layer == lastLayer, isRead = false;
  end = 0;
  start = part.extent;
  for (uint32_t t : written[layer]) {
    const Tensor &tensor = problem.tensors[t];
    leaves |= tensor.output || tensor.isShared ||
              (!tensor.readers.empty() && tensor.readers.back() > lastLayer);
    const Need *need = layer == lastLayer ? nullptr : needOf(t);
    if (!need)
      continue;
    assert(need->extent == part.extent && "all say the same of a tensor");
    if (need->all)
      return false;
    isRead = true;
    end = std::max(end, need->frontEnd);
    start = std::min(start, need->backStart);
  }
  if (leaves) {
    end = start = cut;
    return !isRead && part.extent == backs[lastLayer]->extent &&
           std::binary_search(places[layer].begin(), places[layer].end(), cut);
  }
  // A layer that nothing reads is none to begin with.
  if (!isRead)
    return false;
  uint32_t unit = fronts[layer]->unit;
  end = std::min(part.extent, (end + unit - 1) / unit * unit);
  start = roundDown(part, start);
  return true;
}

bool SplitWalk::grow() {
  if (!firstLayer || !fronts[firstLayer - 1] || !backs[firstLayer - 1] ||
      !findPart(firstLayer - 1))
    return false;
  uint32_t layer = --firstLayer;
  ++stepCount;
  uint32_t extent = backs[layer]->extent;
  front += timeOfFront(*fronts[layer], end);
  back += timeOfBack(*backs[layer], start);
  for (uint32_t t : written[layer]) {
    const Tensor &tensor = problem.tensors[t];
    const Need *need = layer == lastLayer ? nullptr : needOf(t);
    if (need)
      in -= tensor.bytes * need->frontEnd / need->extent;
    else if (tensor.output || !tensor.readers.empty())
      out += tensor.bytes * end / extent;
  }
  for (const Read &read : reads[layer]) {
    const Reach &reach = *read.reach;
    Need &need = needs[read.tensor];
    if (!needOf(read.tensor))
      need = {walkNumber, false, reach.extent, 0, reach.extent};
    uint32_t before = need.frontEnd;
    need.all |= reach.kind == Reach::Kind::All;
    need.frontEnd = std::max(before, neededFront(reach, end));
    need.backStart = std::min(need.backStart, neededBack(reach, start, extent));
    in += problem.tensors[read.tensor].bytes * (need.frontEnd - before) /
          reach.extent;
  }
  return true;
}

StretchTime SplitWalk::time() const {
  double cpu = back * backScale, gpu = front * frontScale;
  // Sums of differences may leave a rounding below nothing.
  return {std::max(0.0, in) * coprocessor.inPerByte + coprocessor.submit,
          std::max(cpu, gpu + coprocessor.sync), out * coprocessor.outPerByte,
          cpu, gpu};
}

std::vector<uint32_t> splitDims(const Problem &problem) {
  std::vector<uint32_t> dims;
  for (const Layer &layer : problem.layers)
    for (const Back &back : layer.backs)
      dims.push_back(back.dim);
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

std::vector<Stretch> forcedSplits(const Problem &problem,
                                  const StretchChoice &choice,
                                  std::optional<uint32_t> dim, double percent) {
  if (!problem.device.coprocessor)
    return {};
  uint32_t n = uint32_t(problem.layers.size());
  // For each last layer and dimension, the longest.
  std::vector<Stretch> longest;
  for (uint32_t d : dim ? std::vector<uint32_t>{*dim} : splitDims(problem)) {
    SplitWalk walk(problem, choice, d);
    for (uint32_t j = 0; j < n; ++j) {
      const std::vector<uint32_t> &places = walk.placesOf(j);
      if (places.empty())
        continue;
      const std::vector<Back> &backs = problem.layers[j].backs;
      auto back = std::find_if(backs.begin(), backs.end(),
                               [&](const Back &b) { return b.dim == d; });
      double wanted = back->extent * percent / 100;
      uint32_t at = *std::min_element(
          places.begin(), places.end(), [&](uint32_t a, uint32_t b) {
            return std::abs(a - wanted) < std::abs(b - wanted);
          });
      walk.begin(j, at);
      while (walk.grow())
        ;
      longest.push_back({walk.first(), j + 1 - walk.first(), Split{d, at}});
    }
  }
  std::vector<Stretch> result;
  std::vector<uint32_t> freeFrom(n, 0); ///< of the free layers before each
  std::vector<uint8_t> taken(n, false);
  for (;;) {
    for (uint32_t i = 0, from = 0; i < n; ++i) {
      if (taken[i])
        from = i + 1;
      freeFrom[i] = from;
    }
    Stretch best;
    for (const Stretch &whole : longest) {
      uint32_t last = whole.end() - 1,
               first = std::max(whole.first, freeFrom[last]);
      if (!taken[last] && last + 1 - first > best.count)
        best = {first, last + 1 - first, whole.split};
    }
    if (!best.count)
      break;
    std::fill_n(taken.begin() + best.first, best.count, true);
    result.push_back(best);
  }
  std::sort(
      result.begin(), result.end(),
      [](const Stretch &a, const Stretch &b) { return a.first < b.first; });
  return result;
}

const char *nameOf(WhyWhole why) {
  switch (why) {
  case WhyWhole::IsSplit:
    return "it is split";
  case WhyWhole::NoKernel:
    return "the GPU has no kernel for it";
  case WhyWhole::NoFront:
    return "the GPU's kernels compute all of it";
  case WhyWhole::NoBack:
    return "the CPU's kernels compute all of it";
  case WhyWhole::NoPlace:
    return "no place is one for both processors";
  case WhyWhole::Slower:
    return "one processor alone is faster";
  case WhyWhole::GainsLittle:
    return "the whole plan gains too little";
  }
  return "";
}

std::vector<LayerSplit> splitReport(const Problem &problem, const Choice &cpu,
                                    const WarmStretches &plan) {
  uint32_t n = uint32_t(problem.layers.size());
  std::vector<LayerSplit> result(n);
  for (uint32_t i = 0; i < n; ++i) {
    const Layer &layer = problem.layers[i];
    result[i].cpu = problem.chosen(cpu, i).execute * problem.device.crowding();
    if (!problem.device.coprocessor || layer.inStretch.empty())
      continue;
    result[i].gpu = stretchTime(problem, plan.choice, {i, 1}).sum();
    result[i].why = problem.chosenInStretch(plan.choice, i).fronts.empty()
                        ? WhyWhole::NoFront
                    : layer.backs.empty() ? WhyWhole::NoBack
                                          : WhyWhole::NoPlace;
  }
  if (!problem.device.coprocessor)
    return result;
  for (uint32_t dim : splitDims(problem)) {
    SplitWalk walk(problem, plan.choice, dim);
    for (uint32_t i = 0; i < n; ++i)
      for (uint32_t at : walk.placesOf(i)) {
        walk.begin(i, at);
        if (!walk.grow())
          continue;
        double time = walk.time().sum();
        if (result[i].both && *result[i].both <= time)
          continue;
        result[i].both = time;
        result[i].split = {dim, at};
      }
  }
  for (LayerSplit &layer : result)
    if (layer.both)
      layer.why = *layer.both < std::min(layer.cpu, *layer.gpu)
                      ? WhyWhole::GainsLittle
                      : WhyWhole::Slower;
  for (const Stretch &stretch : plan.stretches)
    for (uint32_t i = stretch.first; stretch.split && i < stretch.end(); ++i)
      result[i].why = WhyWhole::IsSplit;
  return result;
}

} // namespace nnv12::search
