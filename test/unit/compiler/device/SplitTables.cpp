//===- SplitTables.cpp - CoDL's tables beside simulated ones --------------===//

#include "SplitTables.h"
#include "Networks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace nnv12::device {

using namespace search;

namespace {

/// Appends layers as CoDL writes them: squares of `size`, padded so much.
class Lines {
public:
  explicit Lines(Windows &windows) : windows(windows) {}
  void conv(unsigned size, unsigned pad, unsigned in, unsigned out,
            unsigned kernel, unsigned stride = 1) {
    windows.push_back({size + pad, size + pad, in, out, kernel, stride});
  }
  void pool(unsigned size, unsigned channels) {
    windows.push_back({size, size, channels, channels, 2, 2, true});
  }
  /// 1x1, 3x3, 1x1.
  void bottleneck(unsigned size, unsigned in, unsigned width, unsigned out,
                  unsigned stride = 1) {
    conv(size, 0, in, width, 1);
    conv(size, stride == 1 ? 2 : 1, width, width, 3, stride);
    conv(size / stride, 0, width, out, 1);
  }

private:
  Windows &windows;
};

Windows yolov2() {
  Windows windows;
  Lines l(windows);
  l.conv(416, 2, 3, 32, 3);
  l.pool(416, 32);
  l.conv(208, 2, 32, 64, 3);
  l.pool(208, 64);
  for (unsigned size : {104u, 52u}) {
    unsigned width = size == 104 ? 128 : 256;
    l.conv(size, 2, width / 2, width, 3);
    l.conv(size, 0, width, width / 2, 1);
    l.conv(size, 2, width / 2, width, 3);
    l.pool(size, width);
  }
  for (unsigned size : {26u, 13u}) {
    unsigned width = size == 26 ? 512 : 1024;
    for (unsigned i = 0; i < 2; ++i) {
      // The program has 512 channels for the first one of 13 x 13, too.
      l.conv(size, 2, width / 2, width, 3);
      l.conv(size, 0, width, width / 2, 1);
    }
    l.conv(size, 2, width / 2, width, 3);
    if (size == 26)
      l.pool(size, width);
  }
  l.conv(13, 2, 1024, 1024, 3);
  l.conv(13, 2, 1024, 1024, 3);
  l.conv(13, 2, 1024, 1536, 3);
  l.conv(13, 2, 125, 1024, 3);
  return windows;
}

Windows vgg16() {
  Windows windows;
  Lines l(windows);
  unsigned in = 3;
  for (unsigned size : {224u, 112u, 56u, 28u, 14u}) {
    unsigned out = std::min(512u, 64 * 224 / size);
    for (unsigned i = 0; i < (size > 56 ? 2 : 3); ++i, in = out)
      l.conv(size, 2, in, out, 3);
    l.pool(size, out);
  }
  l.conv(7, 0, 512, 4096, 7);
  l.conv(1, 0, 4096, 4096, 1);
  l.conv(1, 0, 4096, 1000, 1);
  return windows;
}

Windows poseNet() {
  Windows windows;
  Lines l(windows);
  unsigned in = 3;
  for (unsigned size : {256u, 128u, 64u}) {
    unsigned out = 64 * 256 / size;
    for (unsigned i = 0; i < (size > 64 ? 2 : 4); ++i, in = out)
      l.conv(size, 2, in, out, 3);
    l.pool(size, out);
  }
  l.conv(32, 2, 256, 512, 3);
  l.conv(32, 2, 512, 512, 3);
  l.conv(32, 2, 512, 256, 3);
  for (unsigned i = 0; i < 3; ++i)
    l.conv(32, 2, 256, 256, 3);
  l.conv(32, 2, 256, 128, 3);
  l.conv(32, 0, 128, 512, 1);
  l.conv(32, 0, 512, 21, 1);
  for (unsigned i = 0; i < 2; ++i) {
    l.conv(32, 6, 149, 128, 7);
    for (unsigned k = 0; k < 4; ++k)
      l.conv(32, 6, 128, 128, 7);
    l.conv(32, 0, 128, 128, 1);
    l.conv(32, 0, 128, 21, 1);
  }
  return windows;
}

Windows fastStyleTransfer() {
  Windows windows = {{488, 648, 3, 32, 9, 1},
                     {481, 641, 32, 64, 3, 2},
                     {241, 321, 64, 128, 3, 2}};
  windows.resize(13, {122, 162, 128, 128, 3, 1});
  windows.push_back({488, 648, 32, 3, 9, 1});
  return windows;
}

Windows retinaFace() {
  Windows windows;
  Lines l(windows);
  l.conv(640, 6, 3, 64, 7, 2);
  l.pool(320, 64);
  l.bottleneck(160, 64, 64, 256);
  l.bottleneck(160, 256, 64, 256);
  l.bottleneck(160, 256, 64, 256, 2);
  l.bottleneck(80, 256, 128, 512);
  l.bottleneck(80, 512, 128, 512);
  l.bottleneck(80, 512, 128, 512);
  l.bottleneck(80, 512, 128, 512, 2);
  l.bottleneck(40, 512, 256, 1024);
  for (unsigned i = 0; i < 4; ++i)
    l.bottleneck(40, 1024, 256, 1024);
  l.bottleneck(40, 1024, 256, 1024, 2);
  l.bottleneck(20, 1024, 512, 2048);
  l.bottleneck(20, 2048, 512, 2048);
  l.bottleneck(20, 2048, 512, 2048);
  l.conv(20, 0, 2048, 256, 1);
  for (unsigned size : {40u, 80u, 160u}) {
    l.conv(size, 2, 256, 256, 3);
    l.conv(size, 0, size == 40 ? 512 : 256, 256, 1);
  }
  const unsigned sizes[] = {160, 80, 40, 20, 10};
  for (unsigned size : sizes)
    for (unsigned out : {128u, 64u, 64u, 256u, 12u})
      l.conv(size, 2, 256, out, 3);
  for (unsigned size : sizes)
    l.conv(size, 2, 256, 6, 3);
  return windows;
}

/// ResNet-50 of NNV12's tables as a line; projections read from outside.
Windows resnetLine() {
  Windows windows;
  for (const Conv &conv : resnet50()) {
    unsigned input = (conv.size - 1) * conv.stride + conv.kernel;
    windows.push_back(
        {input, input, conv.in, conv.out, conv.kernel, conv.stride});
  }
  return windows;
}

/// Rows or channels of a window's result, dimensions 2 and 1.
uint32_t extentOf(const Window &window, uint32_t dim) {
  return dim == 1 ? window.out : window.rows();
}

/// Rows of padding before the result of the layer before; none where the layer
/// does not read that.
std::optional<unsigned> paddingBetween(const Window &before,
                                       const Window &window) {
  unsigned rows = before.rows(), columns = before.columns();
  bool fits = before.out == window.in && rows <= window.height &&
              columns <= window.width &&
              window.height - rows < std::max(2u, window.kernel) &&
              window.width - columns < std::max(2u, window.kernel);
  if (!fits)
    return std::nullopt;
  return (window.height - rows) / 2;
}

double sumOf(const std::vector<double> &numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

double multiplyAdds(const Windows &windows) {
  double sum = 0;
  for (const Window &window : windows)
    sum += window.multiplyAdds();
  return sum;
}

constexpr uint32_t channels = 1, rows = 2;

/// CoDL's planner on a problem that can be cut anywhere.
class CodlPlanner {
public:
  explicit CodlPlanner(const Problem &problem)
      : problem(problem), choice(problem.layers.size(), 0),
        walkRows(problem, choice, rows),
        walkChannels(problem, choice, channels) {
    for (uint32_t i = 0; i < problem.layers.size(); ++i) {
      single.push_back(problem.layers[i].candidates[0].execute);
      tenth.push_back(0);
      for (unsigned t = 1; t <= 10; ++t)
        for (SplitWalk *walk : {&walkRows, &walkChannels}) {
          double time = chain(*walk, i, i, t);
          if (time < single[i]) {
            single[i] = time;
            tenth[i] = t;
          }
        }
    }
  }

  double apart() const { return sumOf(single); }

  /// Algorithm 1, as its program does it.
  double chained() {
    double sum = 0;
    uint32_t n = uint32_t(problem.layers.size());
    for (uint32_t i = 0, next = 0; i < n; i = next) {
      double best = single[i], mostGain = 0;
      next = i + 1;
      for (unsigned t = 0; t <= 10; ++t) {
        if (std::abs(int(t) - int(tenth[i])) > 3)
          continue;
        double without = single[i];
        for (uint32_t j = i + 1; j < n; ++j) {
          double with = chain(walkRows, i, j, t);
          without += single[j];
          if (with > without)
            break;
          if (without - with <= mostGain)
            continue;
          mostGain = without - with;
          best = with;
          next = j + 1;
        }
      }
      sum += best;
    }
    return sum;
  }

private:
  /// Layers i to j with so many tenths for the GPU. Infinite where they are no
  /// chain.
  double chain(SplitWalk &walk, uint32_t i, uint32_t j, unsigned tenths) {
    constexpr double never = std::numeric_limits<double>::infinity();
    if (tenths == 10)
      return linked(i, j) ? stretchTime(problem, choice, {i, j + 1 - i}).sum()
                          : never;
    double sum = 0;
    if (tenths == 0) {
      for (uint32_t k = i; k <= j; ++k)
        sum += problem.layers[k].candidates[0].execute;
      return sum;
    }
    for (const Back &back : problem.layers[j].backs) {
      if (back.dim != walk.dim() || back.extent < 2)
        continue;
      double at = std::round(back.extent * tenths / 10.0);
      walk.begin(j, uint32_t(std::clamp(at, 1.0, back.extent - 1.0)));
      double cpu = 0, gpu = 0;
      for (uint32_t k = j + 1; k-- > i;) {
        if (!walk.grow())
          return never;
        StretchTime time = walk.time();
        sum += std::max(time.cpu - cpu, time.gpu - gpu);
        cpu = time.cpu;
        gpu = time.gpu;
      }
      return sum + walk.time().handOver + walk.time().takeBack;
    }
    return never;
  }

  bool linked(uint32_t i, uint32_t j) const {
    for (uint32_t k = i; k < j; ++k)
      if (problem.tensors[k].readers.empty())
        return false;
    return true;
  }

  const Problem &problem;
  StretchChoice choice;
  SplitWalk walkRows, walkChannels;
  std::vector<double> single;  ///< each layer's best time
  std::vector<unsigned> tenth; ///< for the GPU, in it
};

} // namespace

const std::map<std::string, Windows> &codlNetworks() {
  static const std::map<std::string, Windows> networks = {
      {"YOLOv2", yolov2()},
      {"VGG-16", vgg16()},
      {"PoseNet", poseNet()},
      {"Fast Style Transfer", fastStyleTransfer()},
      {"RetinaFace", retinaFace()}};
  return networks;
}

SplitRates snapdragon855() {
  double work = multiplyAdds(codlNetworks().at("YOLOv2"));
  return {work / 213, work / 169};
}

Problem splitProblem(const Windows &windows, const SplitRates &rates,
                     unsigned places) {
  Problem problem;
  problem.device.cpus = 4;
  Coprocessor &gpu = problem.device.coprocessor.emplace();
  gpu.submit = rates.stretch;
  gpu.inPerByte = gpu.outPerByte = rates.byte;
  // A tensor for each layer's result, then those from outside.
  uint32_t n = uint32_t(windows.size());
  for (uint32_t i = 0; i < n; ++i) {
    const Window &w = windows[i];
    Tensor result;
    result.bytes = 4.0 * w.rows() * w.columns() * w.out;
    result.producer = i;
    problem.tensors.push_back(result);
  }
  for (uint32_t i = 0; i < n; ++i) {
    const Window &w = windows[i];
    std::optional<unsigned> padding;
    if (i)
      padding = paddingBetween(windows[i - 1], w);
    if (!padding) {
      Tensor outside;
      outside.bytes = 4.0 * w.height * w.width * w.in;
      problem.tensors.push_back(outside);
    }
    Tensor &read = padding ? problem.tensors[i - 1] : problem.tensors.back();
    read.readers = {i};
    int64_t before = padding.value_or(0);
    read.reaches.push_back({i, rows, padding ? windows[i - 1].rows() : w.height,
                            Reach::Kind::Window, w.stride, 1, -before,
                            int64_t(w.kernel) - 1 - before});
    read.reaches.push_back({i, channels, w.in,
                            w.isPool ? Reach::Kind::Window : Reach::Kind::All,
                            1, 1, 0, 0});
    Layer layer;
    Candidate c;
    c.execute = w.multiplyAdds() / rates.cpu;
    layer.candidates.push_back(c);
    double cpu = c.execute;
    c.execute = w.multiplyAdds() / rates.gpu;
    for (uint32_t dim : {channels, rows}) {
      uint32_t extent = extentOf(w, dim);
      c.fronts.push_back({dim, {1, extent}, {c.execute / extent, c.execute}});
      if (extent == 1)
        c.fronts.back() = {dim, {1}, {c.execute}};
      Back back = {dim, extent, {}, {}, cpu};
      uint32_t count = places ? places : extent;
      for (uint32_t k = 1; k < count; ++k) {
        uint32_t at = uint32_t(uint64_t(extent) * k / count);
        if (!at || (!back.starts.empty() && back.starts.back() == at))
          continue;
        back.starts.push_back(at);
        back.times.push_back(cpu * (extent - at) / extent);
      }
      layer.backs.push_back(back);
    }
    layer.inStretch.push_back(c);
    problem.layers.push_back(layer);
  }
  for (Tensor &tensor : problem.tensors)
    tensor.output = tensor.readers.empty();
  return problem;
}

SplitTimes splitTimes(const Windows &windows, const SplitRates &rates) {
  SplitTimes times = {};
  Problem anywhere = splitProblem(windows, rates, 0),
          problem = splitProblem(windows, rates, 16);
  for (const Layer &layer : problem.layers) {
    double cpu = layer.candidates[0].execute, gpu = layer.inStretch[0].execute;
    times.cpu += cpu;
    times.gpu += gpu;
    times.bound += cpu * gpu / (cpu + gpu);
  }
  CodlPlanner codl(anywhere);
  times.apart = codl.apart();
  times.chained = codl.chained();
  Options options;
  options.splits = Splits::WherePays;
  times.planned = planWarmStretches(problem, Choice(windows.size(), 0),
                                    StretchChoice(windows.size(), 0), options)
                      .time;
  return times;
}

double sharingOfChain(const Windows &windows, const SplitRates &rates) {
  Problem problem = splitProblem(windows, rates, 0);
  uint32_t n = uint32_t(windows.size());
  auto sharing = [&](Stretch stretch) {
    uint32_t at = windows[stretch.end() - 1].rows() / 2;
    stretch.split = Split{rows, at};
    StretchTime time = stretchTime(problem, StretchChoice(n, 0), stretch);
    return time.handOver + time.takeBack;
  };
  double apart = 0;
  for (uint32_t i = 0; i < n; ++i)
    apart += sharing({i, 1});
  return sharing({0, n}) / apart;
}

static const char *const networkNames[] = {"YOLOv2", "VGG-16", "PoseNet",
                                           "Fast Style Transfer", "RetinaFace"};

std::string splitTable() {
  const char *published[] = {"132 to 140", "137", "244", "267", "680"};
  std::string text = "| Snapdragon 855, ms | CPU | GPU | CoDL, published | "
                     "apart | chained | this "
                     "planner | bound | bound / this planner "
                     "|\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n";
  for (unsigned i = 0; i < 5; ++i) {
    SplitTimes t =
        splitTimes(codlNetworks().at(networkNames[i]), snapdragon855());
    char line[200];
    snprintf(line, sizeof line,
             "| %s | %.0f | %.0f | %s | %.0f | %.0f | %.0f | %.0f | %.2f |\n",
             networkNames[i], t.cpu, t.gpu, published[i], t.apart, t.chained,
             t.planned, t.bound, t.bound / t.planned);
    text += line;
  }
  return text;
}

std::string otherSplitsTable() {
  // CoDL's times in the order of the names above, and how many times as long
  // its CPU and GPU take, on average over devices and networks.
  struct {
    const char *name;
    double published[5], cpu, gpu;
  } devices[] = {
      {"Snapdragon 865", {123, 121, 201, 251, 551}, 2.08, 1.56},
      {"Snapdragon 888", {119.82, 107.94, 225.63, 227.83, 558.37}, 2.08, 1.56},
      {"Kirin 990", {155, 141, 257, 679, 804}, 2.43, 1.41}};
  std::string text = "| device | network | CoDL, published | CPU | GPU | this "
                     "planner | bound |\n|---|---|---:|---:|---:|---:|---:|\n";
  auto row = [&](const char *device, const char *network, double published,
                 const SplitTimes &t) {
    char line[200];
    char number[16] = "";
    if (published > 0)
      snprintf(number, sizeof number, "%.0f", published);
    snprintf(line, sizeof line,
             "| %s | %s | %s | %.0f | %.0f | %.0f | %.0f |\n", device, network,
             number, t.cpu, t.gpu, t.planned, t.bound);
    text += line;
  };
  for (const auto &device : devices) {
    double rate = 0; // the mean, of both processors together
    for (unsigned i = 0; i < 5; ++i)
      rate += multiplyAdds(codlNetworks().at(networkNames[i])) /
              device.published[i] / 5;
    SplitRates rates = {rate / device.cpu, rate / device.gpu};
    for (unsigned i = 0; i < 5; ++i)
      row(device.name, networkNames[i], device.published[i],
          splitTimes(codlNetworks().at(networkNames[i]), rates));
  }
  double work = multiplyAdds(resnetLine());
  row("Jetson TX2", "ResNet-50", 0,
      splitTimes(resnetLine(), {work / 195, work / 138, 0.15, 0}));
  return text;
}

} // namespace nnv12::device
