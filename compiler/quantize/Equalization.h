//===- Equalization.h - Channels with ranges that are alike -----*- C++ -*-===//
//
// A tensor has one scale in 8 bits. A channel whose numbers are small beside
// those of another one keeps few bits then. Between two products a
// channel may be divided by a factor in the first one and multiplied by it in
// the second one: the model computes the same (Nagel et al., Data-Free
// Quantization Through Weight Equalization and Bias Correction, ICCV 2019).
// They make the ranges of weights alike. Weights have a scale for each output
// here, so the ranges of the values between count instead.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_QUANTIZE_EQUALIZATION_H
#define NNV12_COMPILER_QUANTIZE_EQUALIZATION_H

#include <functional>
#include <string>
#include <vector>

namespace nnv12::quantize {

class OnnxGraph;

/// The largest magnitude of each channel of a tensor; empty: not known.
using LargestOf = std::function<std::vector<double>(const std::string &)>;

/// Scales channels between neighbouring products, so that `largest` is alike.
/// Between them may be Relu, LeakyRelu and PRelu, and nothing else that reads
/// the values. A depthwise convolution has a scale of weights for each channel,
/// so all of the difference goes into its weights; others share a scale, and
/// half of it goes there, as far as the weights' own difference allows.
/// Factors are powers of two, so the model of floats computes the same bits but
/// for overflows and denormal numbers. Returns for how many pairs of products.
size_t equalize(OnnxGraph &graph, const LargestOf &largest);

} // namespace nnv12::quantize

#endif // NNV12_COMPILER_QUANTIZE_EQUALIZATION_H
