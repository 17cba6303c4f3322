//===- Signal.cpp - Windows and Fourier transforms ------------------------===//
//
// A discrete Fourier transform is a product with a constant matrix: exact
// enough, and as fast as matrices are for the sizes that models use.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/OpTable.h"

#include <cassert>
#include <cmath>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

static constexpr double pi = 3.14159265358979323846;

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// a0 - a1 cos(2πk/N) + a2 cos(4πk/N), where N is the size, or for a symmetric
/// window one less.
static void cosineWindow(Node &n, double a0, double a1, double a2) {
  int64_t size = n.intInput(0, "size");
  bool periodic = n.intAttr("periodic", 1) != 0;
  Type type = elementType(n.intAttr("output_datatype", 1), n.context());
  if (!type)
    return n.fail("output_datatype " + Twine(n.intAttr("output_datatype", 1)),
                  typeSetNames(kNumbers));
  if (!n.failed() && size < 0)
    return n.fail("size " + Twine(size), "a positive one");
  double period = std::max<double>(periodic ? size : size - 1, 1);
  n.out(n.generate({size}, type, [&](int64_t k) {
    return a0 - a1 * std::cos(2 * pi * k / period) +
           a2 * std::cos(4 * pi * k / period);
  }));
}

static void hann(Node &n) { cosineWindow(n, 0.5, 0.5, 0); }
static void hamming(Node &n) { cosineWindow(n, 25.0 / 46, 1 - 25.0 / 46, 0); }
static void blackman(Node &n) { cosineWindow(n, 0.42, 0.5, 0.08); }

/// Triangles between frequencies that are evenly spaced on the mel scale.
static void melWeightMatrix(Node &n) {
  int64_t bins = n.intInput(0, "num_mel_bins");
  int64_t dftLength = n.intInput(1, "dft_length");
  int64_t rate = n.intInput(2, "sample_rate");
  double low = n.floatInput(3, "lower_edge_hertz");
  double high = n.floatInput(4, "upper_edge_hertz");
  Type type = elementType(n.intAttr("output_datatype", 1), n.context());
  if (n.failed() || !type)
    return n.fail("output_datatype", typeSetNames(kNumbers));
  if (bins < 1 || bins > (1 << 20) || dftLength < 1 || dftLength > (1 << 30) ||
      rate < 1)
    return n.fail("sizes " + str({bins, dftLength, rate}), "positive ones");
  int64_t spectrum = dftLength / 2 + 1;
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double lowMel = mel(low), step = (mel(high) - lowMel) / (bins + 2);
  Doubles edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    double hertz = 700 * (std::pow(10, (lowMel + i * step) / 2595) - 1);
    edges.push_back(std::floor((dftLength + 1) * hertz / rate));
  }
  n.out(n.generate({spectrum, bins}, type, [&](int64_t i) {
    double at = i / bins;
    double left = edges[i % bins], centre = edges[i % bins + 1],
           right = edges[i % bins + 2];
    if (left == centre && at == centre)
      return 1.0;
    if (at >= left && at <= centre && centre > left)
      return (at - left) / (centre - left);
    if (at > centre && at < right)
      return (right - at) / (right - centre);
    return 0.0;
  }));
}

//===----------------------------------------------------------------------===//
// Fourier transforms
//===----------------------------------------------------------------------===//

/// The matrix [length * parts, bins * 2] for rows of `length` numbers of
/// `parts` (1 real, 2 complex, interleaved).
static Value fourierMatrix(Node &n, Type type, int64_t length, int64_t parts,
                           int64_t bins, bool inverse) {
  assert(length > 0 && bins <= length && (parts == 1 || parts == 2) &&
         "the caller has looked");
  int64_t columns = 2 * bins;
  double scale = inverse ? 1.0 / length : 1.0, sign = inverse ? 1 : -1;
  return n.generate({length * parts, columns}, type, [&](int64_t i) {
    int64_t row = i / columns, column = i % columns;
    // The phase modulo one turn, exactly.
    uint64_t turns = uint64_t(row / parts) * uint64_t(column / 2) % length;
    double angle = 2 * pi * double(turns) / double(length);
    double c = std::cos(angle), s = sign * std::sin(angle);
    // (re + i im)(c + i s) = re c - im s + i (re s + im c)
    bool imaginaryIn = row % parts, imaginaryOut = column % 2;
    double v = imaginaryIn ? (imaginaryOut ? c : -s) : (imaginaryOut ? s : c);
    return v * scale;
  });
}

/// x [rows, length, parts] to [rows, bins, 2].
static Value fourier(Node &n, Value x, bool onesided, bool inverse) {
  int64_t rows = n.dim(x, 0), length = n.dim(x, 1), parts = n.dim(x, 2);
  if (n.failed())
    return {};
  if (length < 1 || length > (1 << 16) || parts < 1 || parts > 2)
    return n.refuse("a transform of shape " + str(n.shape(x)),
                    "1 to 65536 real or complex numbers");
  int64_t bins = onesided ? length / 2 + 1 : length;
  Value matrix = fourierMatrix(n, n.elem(x), length, parts, bins, inverse);
  Value y = n.matmul(n.reshape(x, {rows, length * parts}), matrix);
  return n.reshape(y, {rows, bins, 2});
}

/// The real signal x [rows, length, 1] of which `bins` [rows, length / 2 + 1,
/// 2] is one side of the spectrum; the other is its mirror image.
static Value realSignal(Node &n, Value bins, int64_t length) {
  assert((n.failed() ||
          (n.dim(bins, 1) == length / 2 + 1 && n.dim(bins, 2) == 2)) &&
         "complex numbers of one side");
  int64_t rows = n.dim(bins, 0), given = n.dim(bins, 1) * 2;
  Value matrix = n.generate({given, length}, n.elem(bins), [&](int64_t i) {
    int64_t bin = i / length / 2, at = i % length;
    bool imaginary = i / length % 2, alone = bin == 0 || 2 * bin == length;
    uint64_t turns = uint64_t(bin) * uint64_t(at) % length;
    double angle = 2 * pi * double(turns) / double(length);
    double v = imaginary ? (alone ? 0 : -std::sin(angle)) : std::cos(angle);
    return v * (alone ? 1.0 : 2.0) / double(length);
  });
  Value y = n.matmul(n.reshape(bins, {rows, given}), matrix);
  return n.reshape(y, {rows, length, 1});
}

/// Since 20 the axis is an input, and defaults to the last but one.
static void dft(Node &n) {
  Value x = n.in(0);
  int64_t rank = n.rank(x), axis = n.opset() < 20 ? n.intAttr("axis", 1) : -2;
  if (n.opset() >= 20 && n.has(2))
    axis = n.intInput(2, "axis");
  bool inverse = n.intAttr("inverse", 0) != 0;
  bool onesided = n.intAttr("onesided", 0) != 0;
  axis = n.axis(axis, rank);
  if (!n.expectRank(x, 2, 64, "an input"))
    return;
  if (axis == rank - 1)
    return n.fail("axis " + Twine(axis), "another than the last");
  bool real = inverse && onesided; // the result
  if (real && n.dim(x, rank - 1) != 2)
    return n.fail("inverse and onesided with real input", "complex input");
  int64_t length = n.has(1) ? n.intInput(1, "dft_length")
                   : real   ? 2 * (n.dim(x, axis) - 1)
                            : n.dim(x, axis);
  if (n.failed())
    return;
  if (length < 1 || length > (1 << 16))
    return n.fail("dft_length " + Twine(length), "1 to 65536");
  Ints high(rank, 0), perm, back(rank), s;
  high[axis] = (real ? length / 2 + 1 : length) - n.dim(x, axis);
  x = n.pad(x, Ints(rank, 0), high);
  for (int64_t i = 0; i < rank - 1; ++i)
    if (i != axis)
      perm.push_back(i);
  perm.append({axis, rank - 1});
  for (auto [i, p] : llvm::enumerate(perm))
    back[p] = i;
  x = n.transpose(x, perm);
  s = n.shape(x);
  if (n.failed())
    return;
  int64_t rows = llvm::product_of(llvm::drop_end(s, 2));
  x = n.reshape(x, {rows, s[rank - 2], s[rank - 1]});
  Value y = real ? realSignal(n, x, length) : fourier(n, x, onesided, inverse);
  s[rank - 2] = n.dim(y, 1);
  s[rank - 1] = n.dim(y, 2);
  n.out(n.transpose(n.reshape(y, s), back));
}

/// Frames of the signal, times the window, transformed.
static void stft(Node &n) {
  Value x = n.in(0), window = n.optional(2);
  int64_t step = n.intInput(1, "frame_step");
  bool onesided = n.intAttr("onesided", 1) != 0;
  if (!n.expectRank(x, 2, 3, "a signal"))
    return;
  if (n.rank(x) == 2)
    x = n.unsqueeze(x, {2});
  int64_t batch = n.dim(x, 0), total = n.dim(x, 1), parts = n.dim(x, 2);
  int64_t length = n.has(3) ? n.intInput(3, "frame_length")
                   : window ? n.size(window)
                            : 0;
  if (n.failed())
    return;
  if (step < 1 || length < 1 || length > total ||
      (window && n.shape(window) != Ints{length}))
    return n.fail("frames of " + Twine(length) + " every " + Twine(step) +
                      " of a signal of " + Twine(total),
                  "frames inside of the signal, and a window of their length");
  if (parts == 2)
    onesided = false;
  int64_t frames = (total - length) / step + 1;
  if (!n.type({batch, frames, length, parts}, n.elem(x)))
    return;
  Ints indices(frames * length);
  for (int64_t i = 0; i < frames * length; ++i)
    indices[i] = i / length * step + i % length;
  Value y = n.gather(x, n.ints({frames, length}, indices), 1);
  if (window)
    y = n.mul(y, n.reshape(window, {length, 1}));
  y = fourier(n, n.reshape(y, {batch * frames, length, parts}), onesided,
              false);
  n.out(n.reshape(y, {batch, frames, n.dim(y, 1), 2}));
}

OpRows importer::signalOps() {
  static const OpRow rows[] = {
      {"BlackmanWindow", 17, kInt32 | kInt64, blackman, "size constant"},
      {"DFT", 17, kFloats, dft, "dft_length and axis constant"},
      {"HammingWindow", 17, kInt32 | kInt64, hamming, "size constant"},
      {"HannWindow", 17, kInt32 | kInt64, hann, "size constant"},
      {"MelWeightMatrix", 17, 0, melWeightMatrix, "inputs constant"},
      {"STFT", 17, kFloats, stft, "frame_step and frame_length constant"},
  };
  return rows;
}
