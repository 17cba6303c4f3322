//===- EqualizationTest.cpp - Channels with ranges that are alike ---------===//

#include "compiler/quantize/Equalization.h"

#include "compiler/quantize/OnnxGraph.h"
#include "gtest/gtest.h"

#include <cmath>
#include <map>
#include <random>

using namespace nnv12;
using namespace nnv12::quantize;

namespace {

using Vector = std::vector<float>;

/// A net of products with one place, whose channels are of very different
/// sizes.
struct Net {
  Net() {
    graph.graph().add_input()->set_name("x");
    graph.graph().add_output()->set_name("y");
  }

  onnx::NodeProto &add(const char *type, std::vector<std::string> inputs,
                       const char *output) {
    onnx::NodeProto &node = *graph.graph().add_node();
    node.set_op_type(type);
    for (const std::string &input : inputs)
      node.add_input(input);
    node.add_output(output);
    return node;
  }
  std::string weights(std::vector<int64_t> shape) {
    size_t count = 1, inner = 1;
    for (size_t d = 0; d < shape.size(); ++d)
      (d ? inner : count) *= size_t(shape[d]);
    Vector values(count * inner);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = std::ldexp(float(random()) / float(1u << 31) - 1,
                             int(i / inner * 7 % 13) - 6);
    return graph.addConstant<float>("w", shape, values);
  }
  void conv(const char *x, const char *y, int64_t outputs, int64_t channels,
            bool depthwise = false) {
    onnx::NodeProto &node =
        add("Conv",
            {x, weights({outputs, depthwise ? 1 : channels, 1, 1}),
             weights({outputs})},
            y);
    if (depthwise)
      setInt(node, "group", channels);
  }

  /// The values of all tensors for x.
  std::map<std::string, Vector> run(const Vector &x) const {
    std::map<std::string, Vector> values{{"x", x}};
    for (const onnx::NodeProto &node : graph.graph().node()) {
      const Vector &in = values.at(node.input(0));
      Vector &out = values[node.output(0)];
      if (node.op_type() == "Conv" || node.op_type() == "Gemm") {
        FloatTensor w = *graph.floats(node.input(1));
        size_t group = size_t(intAttribute(node, "group", 1)),
               ofGroup = in.size() / group, outputs = size_t(w.shape[0]);
        for (size_t o = 0; o < outputs; ++o) {
          float sum = graph.floats(node.input(2))->values[o];
          for (size_t c = 0; c < ofGroup; ++c)
            sum += w.values[o * ofGroup + c] *
                   in[o / (outputs / group) * ofGroup + c];
          out.push_back(sum);
        }
        continue;
      }
      for (size_t c = 0; c < in.size(); ++c) {
        float slope = 0;
        if (node.op_type() == "LeakyRelu")
          slope = 0.25f;
        if (node.op_type() == "PRelu")
          slope = graph.floats(node.input(1))->values[c];
        float x = node.op_type() == "Add" ? in[c] + in[c] : in[c];
        bool isClip = node.op_type() == "Clip";
        out.push_back(isClip  ? std::min(std::max(x, 0.0f), 6.0f)
                      : x > 0 ? x
                              : slope * x);
      }
    }
    return values;
  }

  std::mt19937 random{3};
  OnnxGraph graph;
};

/// Inputs, and the largest magnitudes of all values over them.
struct Samples {
  Samples(Net &net, size_t channels) {
    for (int i = 0; i < 20; ++i) {
      Vector &x = inputs.emplace_back();
      for (size_t c = 0; c < channels; ++c)
        x.push_back(float(net.random()) / float(1u << 31) - 1);
    }
  }
  std::map<std::string, std::vector<double>> largest(const Net &net) const {
    std::map<std::string, std::vector<double>> result;
    for (const Vector &x : inputs)
      for (const auto &[name, values] : net.run(x)) {
        std::vector<double> &of = result[name];
        of.resize(values.size(), 0);
        for (size_t c = 0; c < values.size(); ++c)
          of[c] = std::max(of[c], std::fabs(double(values[c])));
      }
    return result;
  }
  size_t equalize(Net &net) const {
    auto all = largest(net);
    return quantize::equalize(
        net.graph, [&](const std::string &name) { return all[name]; });
  }

  std::vector<Vector> inputs;
};

/// How many times as large the largest channel is as the least one.
double spread(const std::vector<double> &values) {
  double least = INFINITY, most = 0;
  for (double x : values) {
    // One that is always 0 stays so.
    if (x == 0)
      continue;
    least = std::min(least, x);
    most = std::max(most, x);
  }
  return most / least;
}

} // namespace

/// A depthwise convolution in the middle, and all activations.
TEST(Equalization, ResultsStayTheSameBits) {
  Net net;
  net.conv("x", "a", 8, 4);
  net.add("Relu", {"a"}, "b");
  net.conv("b", "c", 8, 8, true);
  net.add("PRelu", {"c", net.weights({8, 1, 1})}, "d");
  net.conv("d", "e", 6, 8);
  net.add("LeakyRelu", {"e"}, "f");
  net.conv("f", "y", 5, 6);
  net.graph.index();
  Net before = net;
  Samples samples(net, 4);
  auto spreads = samples.largest(net);
  EXPECT_EQ(samples.equalize(net), 3u);
  for (const Vector &x : samples.inputs) {
    auto expected = before.run(x), found = net.run(x);
    EXPECT_EQ(found.at("y"), expected.at("y"));
    EXPECT_NE(found.at("c"), expected.at("c"));
  }
  auto after = samples.largest(net);
  // The input of the depthwise one has channels that are alike, others some
  // that are more so.
  EXPECT_GT(spread(spreads.at("b")), 4);
  EXPECT_LE(spread(after.at("b")), 2);
  EXPECT_LT(spread(after.at("d")), spread(spreads.at("d")));
}

TEST(Equalization, Matrices) {
  Net net;
  setInt(net.add("Gemm", {"x", net.weights({16, 4}), net.weights({16})}, "a"),
         "transB", 1);
  net.add("Relu", {"a"}, "b");
  setInt(net.add("Gemm", {"b", net.weights({3, 16}), net.weights({3})}, "y"),
         "transB", 1);
  net.graph.index();
  Net before = net;
  Samples samples(net, 4);
  EXPECT_EQ(samples.equalize(net), 1u);
  const Vector &x = samples.inputs.front();
  EXPECT_EQ(net.run(x).at("y"), before.run(x).at("y"));
  EXPECT_LT(spread(samples.largest(net).at("b")),
            spread(samples.largest(before).at("b")));
}

/// Nothing changes where values have other readers, are results, or are cut at
/// a bound.
TEST(Equalization, Refusals) {
  for (const char *what : {"reader", "output", "clip", "add"}) {
    Net net;
    std::string kind = what;
    net.conv("x", "a", 8, 4);
    if (kind == "clip")
      net.add("Clip", {"a"}, "b");
    else if (kind == "add")
      net.add("Add", {"a", "a"}, "b");
    else
      net.add("Relu", {"a"}, "b");
    net.conv("b", "y", 3, 8);
    if (kind == "reader")
      net.add("Relu", {"b"}, "c");
    if (kind == "output")
      net.graph.graph().add_output()->set_name("b");
    net.graph.index();
    std::string before = net.graph.bytes();
    EXPECT_EQ(Samples(net, 4).equalize(net), 0u) << kind;
    EXPECT_EQ(net.graph.bytes(), before) << kind;
  }
}
