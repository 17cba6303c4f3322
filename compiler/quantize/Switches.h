//===- Switches.h - Models of which parts can be rounded --------*- C++ -*-===//
#ifndef NNV12_COMPILER_QUANTIZE_SWITCHES_H
#define NNV12_COMPILER_QUANTIZE_SWITCHES_H

#include <cstddef>

namespace onnx {
class GraphProto;
class NodeProto;
} // namespace onnx

namespace nnv12::quantize {

class OnnxGraph;

/// The name of the last input: one bool for each switch.
inline constexpr char switchInput[] = "nnv12.switches";

/// Adds the input, for so many switches.
void addSwitches(OnnxGraph &graph, size_t count);

/// Adds two nodes with the same results to `nodes`, of which `on` is taken
/// where the switch is on, else `off`. Both are computed.
void addSwitched(OnnxGraph &graph, onnx::GraphProto &nodes, onnx::NodeProto on,
                 onnx::NodeProto off, size_t number);

} // namespace nnv12::quantize

#endif // NNV12_COMPILER_QUANTIZE_SWITCHES_H
