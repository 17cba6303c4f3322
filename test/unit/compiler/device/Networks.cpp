//===- Networks.cpp - Models as tables of convolutions --------------------===//

#include "Networks.h"

namespace nnv12::device {

std::vector<Conv> resnet50() {
  std::vector<Conv> layers = {{"conv1", 3, 64, 7, 2, 112}};
  struct {
    unsigned blocks, width, size;
  } stages[] = {{3, 64, 56}, {4, 128, 28}, {6, 256, 14}, {3, 512, 7}};
  unsigned in = 64;
  for (unsigned s = 0; s < 4; ++s)
    for (unsigned b = 0; b < stages[s].blocks; ++b) {
      auto [blocks, width, size] = stages[s];
      std::string name = "res" + std::to_string(s + 2) + char('a' + b);
      unsigned stride = s > 0 && b == 0 ? 2 : 1;
      if (b == 0)
        layers.push_back({name + ".project", in, 4 * width, 1, stride, size});
      // Version 1.5: the 3x3 convolution has the stride.
      layers.push_back({name + ".1x1a", in, width, 1, 1, size * stride});
      layers.push_back({name + ".3x3", width, width, 3, stride, size});
      layers.push_back({name + ".1x1b", width, 4 * width, 1, 1, size});
      in = 4 * width;
    }
  layers.push_back({"fc", 2048, 1000, 1, 1, 1});
  return layers;
}

std::vector<Conv> googlenet() {
  std::vector<Conv> layers = {{"conv1", 3, 64, 7, 2, 112},
                              {"conv2.reduce", 64, 64, 1, 1, 56},
                              {"conv2", 64, 192, 3, 1, 56}};
  struct {
    const char *name;
    unsigned in, one, reduce3, three, reduce5, five, pool, size;
  } blocks[] = {{"3a", 192, 64, 96, 128, 16, 32, 32, 28},
                {"3b", 256, 128, 128, 192, 32, 96, 64, 28},
                {"4a", 480, 192, 96, 208, 16, 48, 64, 14},
                {"4b", 512, 160, 112, 224, 24, 64, 64, 14},
                {"4c", 512, 128, 128, 256, 24, 64, 64, 14},
                {"4d", 512, 112, 144, 288, 32, 64, 64, 14},
                {"4e", 528, 256, 160, 320, 32, 128, 128, 14},
                {"5a", 832, 256, 160, 320, 32, 128, 128, 7},
                {"5b", 832, 384, 192, 384, 48, 128, 128, 7}};
  for (const auto &b : blocks) {
    std::string name = b.name;
    layers.push_back({name + ".1x1", b.in, b.one, 1, 1, b.size});
    layers.push_back({name + ".reduce3", b.in, b.reduce3, 1, 1, b.size});
    layers.push_back({name + ".3x3", b.reduce3, b.three, 3, 1, b.size});
    layers.push_back({name + ".reduce5", b.in, b.reduce5, 1, 1, b.size});
    layers.push_back({name + ".5x5", b.reduce5, b.five, 5, 1, b.size});
    layers.push_back({name + ".pool", b.in, b.pool, 1, 1, b.size});
  }
  layers.push_back({"fc", 1024, 1000, 1, 1, 1});
  return layers;
}

std::vector<Conv> table2Layer() { return {{"conv2", 64, 192, 3, 1, 56}}; }

namespace {
struct NcnnKernel {
  const char *name;
  bool (*fits)(const Conv &);
  bool winograd;  ///< F(6,3): weights and products of 8x8 tiles
  bool transform; ///< reads its weights in a form of its own
};

bool is3x3s1(const Conv &c) { return c.kernel == 3 && c.stride == 1; }
bool isPacked(const Conv &c) { return c.in % 4 == 0 && c.out % 4 == 0; }

/// ncnn's kernels that Table 2 has figures for, by NNV12's Figure 5.
const NcnnKernel kernels[] = {
    {"winograd-pack4", [](const Conv &c) { return is3x3s1(c) && isPacked(c); },
     true, true},
    {"sgemm-pack4", [](const Conv &c) { return isPacked(c); }, false, true},
    {"pack4", [](const Conv &c) { return isPacked(c); }, false, true},
    {"winograd", [](const Conv &c) { return is3x3s1(c); }, true, true},
    {"3x3s1", [](const Conv &c) { return is3x3s1(c) || !isPacked(c); }, false,
     false},
    {"general", [](const Conv &) { return true; }, false, false},
};

/// The efficiency of ncnn's kernels by NNV12's Table 2, on four threads with a
/// speed-up of 3.7. docs/results/phones.md derives each figure.
const std::pair<const char *, Efficiency> efficiencies[] = {
    {"ncnn.winograd-pack4", {0.3531, 0.8, 2}},
    {"ncnn.sgemm-pack4", {0.5701, 0.8, 2}},
    {"ncnn.pack4", {0.2491, 0.8, 2}},
    {"ncnn.winograd", {0.3122, 0.8, 2}},
    {"ncnn.3x3s1", {0.5793, 0.8, 2}},
    {"ncnn.general", {0.0533, 0.8, 2}},
    {"ncnn-transform.winograd-pack4", {1, 0.0357, 2}},
    {"ncnn-transform.sgemm-pack4", {1, 0.1522, 2}},
    {"ncnn-transform.pack4", {1, 0.1515, 2}},
    {"ncnn-transform.winograd", {1, 0.0208, 2}},
};
} // namespace

search::Problem ncnnProblem(const std::vector<Conv> &network,
                            DeviceProfile profile, unsigned threads) {
  profile.efficiency.insert(std::begin(efficiencies), std::end(efficiencies));
  search::Problem problem;
  problem.device = searchDevice(profile, threads);
  double activations = 0;
  for (const Conv &conv : network) {
    search::Layer layer;
    layer.name = conv.name;
    double output = 4.0 * conv.out * conv.size * conv.size;
    double input =
        4.0 * conv.in * conv.size * conv.stride * conv.size * conv.stride;
    double raw = 4 * conv.weights();
    // Memory for activations is used again and again: only its growth is new.
    layer.firstTouch =
        input + output > activations
            ? (input + output - activations) * 1e-9 * profile.firstTouchUsPerMB
            : 0;
    activations = std::max(activations, input + output);
    for (const NcnnKernel &kernel : kernels) {
      if (!kernel.fits(conv))
        continue;
      double form = kernel.winograd ? raw * 64 / 9 : raw;
      KernelFacts f;
      f.routine = std::string("ncnn.") + kernel.name;
      f.multiplyAdds = conv.multiplyAdds();
      if (kernel.winograd) {
        double tiles = double((conv.size + 5) / 6) * ((conv.size + 5) / 6);
        f.multiplyAdds = tiles * 64 * conv.in * conv.out;
      }
      f.bytes = input + output + form;
      f.tiles = 1 << 20;
      search::Candidate c;
      c.routine = f.routine;
      c.execute = cost(profile, f, threads).milliseconds;
      KernelFacts t;
      t.routine = std::string("ncnn-transform.") + kernel.name;
      t.bytes = raw + form;
      c.storage.storage = plan::Storage::raw;
      c.form = kernel.transform ? kernel.name : "";
      c.bytes = raw;
      if (kernel.transform)
        c.transform = {cost(profile, t, 1).milliseconds,
                       littleCost(profile, t).milliseconds};
      layer.candidates.push_back(c);
      if (kernel.transform) {
        c.storage.storage = plan::Storage::transformed;
        c.bytes = form;
        c.transform = {};
        layer.candidates.push_back(c);
      }
    }
    problem.layers.push_back(layer);
  }
  return problem;
}

} // namespace nnv12::device
