//===- VolumeTest.cpp - Convolutions of volumes against brute force -------===//

#include "LayerCheck.h"
#include "RandomLayer.h"

#include <array>
#include <cmath>
#include <gtest/gtest.h>

using namespace nnv12::test;

namespace {

using Three = std::array<int64_t, 3>;

/// A convolution with three spatial dimensions, of f32 or of bytes.
struct VolumeCase {
  int64_t n = 1, c = 16, o = 16, groups = 1;
  Three size = {4, 5, 6}, kernel = {3, 3, 3}, stride = {1, 1, 1},
        dilation = {1, 1, 1}, low = {1, 1, 1}, high = {1, 1, 1};
  bool bytes = false, residual = false, rows = false;

  void run(const std::string &routine) const;
};

std::string list(const Three &x) {
  return "[" + std::to_string(x[0]) + ", " + std::to_string(x[1]) + ", " +
         std::to_string(x[2]) + "]";
}

void VolumeCase::run(const std::string &routine) const {
  Three out;
  for (int d = 0; d < 3; ++d)
    out[d] = (size[d] + low[d] + high[d] - (kernel[d] - 1) * dilation[d] - 1) /
                 stride[d] +
             1;
  Shape result = {n, o, out[0], out[1], out[2]};
  Shape input = {n, c, size[0], size[1], size[2]},
        weights = {o, c / groups, kernel[0], kernel[1], kernel[2]};
  std::vector<Tensor> in;
  std::string text = bytes ? "nn.qconv %0, %1" : "nn.conv %0, %1",
              types = " : $0, $1";
  auto add = [&](const std::string &word, Tensor tensor) {
    std::string number = std::to_string(in.size());
    in.push_back(std::move(tensor));
    if (word.empty())
      return;
    text += " " + word + " %" + number, types += " " + word + " $" + number;
  };
  double fill = bytes ? 77 : 0;
  add("", bytes ? integers(input, "ui8", 0, 255) : random(input, 1));
  add("", bytes ? integers(weights, "i8", -128, 127, 2) : random(weights, 2));
  if (bytes)
    add("padding", {{}, "ui8", "", {fill}});
  size_t bias = in.size();
  add("bias", bytes ? integers({o}, "i32", -20000, 20000, 3) : random({o}, 3));
  size_t other = in.size();
  if (residual)
    add("residual", random(result, 4));
  Shape row = result;
  row[1] = 1;
  if (rows)
    add("rows", integers(row, "i32", -30000, 30000, 5));
  text += " strides " + list(stride) + " dilations " + list(dilation) +
          " pads " + list(low) + ", " + list(high) +
          " {groups = " + std::to_string(groups) + " : i64}" + types + " -> $r";
  auto formula = [&](const Indices &i) {
    double sum = in[bias].data[i[1]];
    if (residual)
      sum += in[other].at(i);
    if (rows)
      sum += in[other].at({i[0], 0, i[2], i[3], i[4]});
    int64_t group = c / groups, first = i[1] / (o / groups) * group;
    for (int64_t ci = 0; ci < group; ++ci)
      for (int64_t z = 0; z < kernel[0]; ++z)
        for (int64_t y = 0; y < kernel[1]; ++y)
          for (int64_t x = 0; x < kernel[2]; ++x) {
            Three at;
            bool isInside = true;
            const int64_t taps[] = {z, y, x};
            for (int d = 0; d < 3; ++d) {
              at[d] = i[2 + d] * stride[d] - low[d] + taps[d] * dilation[d];
              isInside &= at[d] >= 0 && at[d] < size[d];
            }
            double value =
                isInside ? in[0].at({i[0], first + ci, at[0], at[1], at[2]})
                         : fill;
            sum += value * in[1].at({i[1], ci, z, y, x});
          }
    return sum;
  };
  SCOPED_TRACE(text);
  std::vector<std::string> targets = testTargets();
  if (bytes)
    targets.insert(targets.end(), {"x86-64-v4+vnni", "x86-64-v4+amx"});
  check(text, in, {result, bytes ? "i32" : "f32"}, formula, bytes ? 0 : 1e-4,
        targets, routine);
}

/// Both element types.
void onBoth(VolumeCase x, const std::string &routine) {
  x.run("conv." + routine);
  x.bytes = true, x.residual = false;
  x.run("qconv." + routine);
}

} // namespace

TEST(ConvVolume, Window) {
  VolumeCase x;
  onBoth(x, "direct.nChw16c");
  x.c = 24, x.o = 40, x.n = 2, x.residual = true, x.rows = false;
  onBoth(x, "direct.nChw16c");
  x.stride = {2, 1, 2}, x.dilation = {1, 2, 1}, x.low = {2, 0, 1};
  x.high = {0, 3, 1}, x.kernel = {2, 3, 1};
  onBoth(x, "direct.nChw16c");
  x = {}, x.groups = 2, x.c = 32, x.o = 64, x.dilation = {2, 1, 1};
  x.low = x.high = {2, 1, 1};
  onBoth(x, "direct.nChw16c");
}

/// Windows of one plane, which need no copy, and of a plane that is padding.
TEST(ConvVolume, Planes) {
  VolumeCase x;
  x.kernel = {1, 3, 3}, x.low = x.high = {0, 0, 0};
  onBoth(x, "direct.nChw16c");
  x.low = x.high = {0, 1, 1}, x.n = 2;
  onBoth(x, "direct.nChw16c");
  x.stride = {3, 2, 2}, x.low[0] = 1, x.high[0] = 2;
  onBoth(x, "direct.nChw16c");
  x = {}, x.kernel = {3, 1, 1}, x.low = x.high = {1, 0, 0}, x.c = 20;
  onBoth(x, "direct.nChw16c");
  x.size[0] = 1; // most taps are outside
  onBoth(x, "direct.nChw16c");
  x.kernel[0] = 1;
  onBoth(x, "direct.nChw16c");
}

TEST(ConvVolume, Flat) {
  VolumeCase x;
  x.c = 40, x.o = 72, x.kernel = {1, 1, 1}, x.low = x.high = {0, 0, 0};
  onBoth(x, "gemm.nChw16c");
  x.n = 2, x.groups = 2, x.c = 64, x.o = 32, x.residual = true;
  onBoth(x, "gemm.nChw16c");
}

TEST(ConvVolume, First) {
  VolumeCase x;
  x.c = 3, x.o = 24, x.kernel = {3, 7, 7}, x.low = x.high = {1, 3, 3};
  x.size = {5, 14, 13}, x.stride = {1, 2, 2};
  onBoth(x, "first.nChw16c");
  x.c = 1, x.kernel = {5, 3, 3}, x.stride = {2, 1, 1}, x.n = 2;
  onBoth(x, "first.nChw16c");
}

TEST(ConvVolume, Rows) {
  VolumeCase x;
  x.bytes = x.rows = true, x.n = 2;
  x.run("qconv.direct.nChw16c");
  x.kernel = {1, 1, 1}, x.low = x.high = {0, 0, 0};
  x.run("qconv.gemm.nChw16c");
}

TEST(ConvVolume, Random) {
  Random random(1);
  for (int i = 0; i < 6 && !::testing::Test::HasFailure(); ++i) {
    VolumeCase x;
    x.n = random.from(1, 2), x.c = random.from(5, 40), x.o = random.from(3, 40);
    for (int d = 0; d < 3; ++d) {
      x.kernel[d] = random.from(1, 3), x.dilation[d] = random.from(1, 2);
      x.stride[d] = random.from(1, 2);
      x.low[d] = random.below(3), x.high[d] = random.below(3);
      x.size[d] = random.from(1, 6) + (x.kernel[d] - 1) * x.dilation[d];
    }
    x.kernel[2] = 2; // not flat
    x.size[2] += 2;
    onBoth(x, "direct.nChw16c");
  }
}
