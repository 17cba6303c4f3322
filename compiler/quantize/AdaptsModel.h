//===- AdaptsModel.h - Adapts between floats and 8 bits, alone --*- C++ -*-===//
#ifndef NNV12_COMPILER_QUANTIZE_ADAPTSMODEL_H
#define NNV12_COMPILER_QUANTIZE_ADAPTSMODEL_H

#include <cstdint>
#include <set>
#include <string>

namespace nnv12::quantize {

/// Names of nodes in adaptsModel().
inline std::string quantizeName(uint64_t elements) {
  return "quantize" + std::to_string(elements);
}
inline std::string dequantizeName(uint64_t elements) {
  return "dequantize" + std::to_string(elements);
}

/// An ONNX model with a QuantizeLinear and a DequantizeLinear for tensors of
/// each of these sizes, so that a plan of it tells what they cost.
std::string adaptsModel(const std::set<uint64_t> &elements);

} // namespace nnv12::quantize

#endif // NNV12_COMPILER_QUANTIZE_ADAPTSMODEL_H
