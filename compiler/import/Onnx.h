//===- Onnx.h - The ONNX protobuf classes -----------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_ONNX_H
#define NNV12_COMPILER_IMPORT_ONNX_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>
#pragma GCC diagnostic pop

#include <string>

namespace nnv12 {

/// The name of a node, `index` of its graph, as locations have it: its own, or
/// else that of its first result.
inline std::string nodeName(const onnx::NodeProto &node, int index) {
  if (!node.name().empty())
    return node.name();
  for (const std::string &output : node.output())
    if (!output.empty())
      return output;
  return "#" + std::to_string(index);
}

} // namespace nnv12

#endif // NNV12_COMPILER_IMPORT_ONNX_H
