//===- Onnx.h - The ONNX protobuf classes -----------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_ONNX_H
#define NNV12_COMPILER_IMPORT_ONNX_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>
#pragma GCC diagnostic pop

#endif // NNV12_COMPILER_IMPORT_ONNX_H
