//===- TypeSet.h - Sets of element types ------------------------*- C++ -*-===//
#ifndef NNV12_COMPILER_IMPORT_TYPESET_H
#define NNV12_COMPILER_IMPORT_TYPESET_H

#include "mlir/IR/Types.h"

#include <cstdint>
#include <string>

namespace nnv12::importer {

/// Element types as bits, numbered like ONNX's TensorProto.DataType.
using TypeSet = uint32_t;

enum : TypeSet {
  kFloat32 = 1u << 1,
  kUInt8 = 1u << 2,
  kInt8 = 1u << 3,
  kUInt16 = 1u << 4,
  kInt16 = 1u << 5,
  kInt32 = 1u << 6,
  kInt64 = 1u << 7,
  kBool = 1u << 9,
  kFloat16 = 1u << 10,
  kDouble = 1u << 11,
  kUInt32 = 1u << 12,
  kUInt64 = 1u << 13,
  kBFloat16 = 1u << 16,
  kFloat8E4M3FN = 1u << 17,
  kFloat8E4M3FNUZ = 1u << 18,
  kFloat8E5M2 = 1u << 19,
  kFloat8E5M2FNUZ = 1u << 20,
  kUInt4 = 1u << 21,
  kInt4 = 1u << 22,
  kFloat4E2M1 = 1u << 23,
  kFloat8E8M0 = 1u << 24,
  kUInt2 = 1u << 25,
  kInt2 = 1u << 26,

  kFloats = kFloat32 | kFloat16 | kBFloat16 | kDouble,
  kSigned = kInt8 | kInt16 | kInt32 | kInt64,
  kUnsigned = kUInt8 | kUInt16 | kUInt32 | kUInt64,
  kInts = kSigned | kUnsigned,
  kNumbers = kFloats | kInts,
  kAll = kNumbers | kBool,

  // Types that are moved and cast, but not computed with.
  kFloat8s = kFloat8E4M3FN | kFloat8E4M3FNUZ | kFloat8E5M2 | kFloat8E5M2FNUZ,
  kSmallInts = kInt4 | kUInt4 | kInt2 | kUInt2,
  kSmall = kFloat8s | kFloat8E8M0 | kFloat4E2M1 | kSmallInts,
  kAny = kAll | kSmall,
};

/// The element type for an ONNX data type, null if tensors of it are not
/// supported. Signed integers are signless (i32), unsigned ones ui8…, bool i1.
mlir::Type elementType(int64_t dataType, mlir::MLIRContext *context);
/// The set with just this element type; 0 if there is none.
TypeSet typeSetOf(mlir::Type elementType);
/// ONNX's name of a data type, e.g. "float16"; "type 99" for an unknown one.
std::string dataTypeName(int64_t dataType);
/// ONNX's name of an element type.
std::string typeName(mlir::Type elementType);
/// E.g. "float, double, int32".
std::string typeSetNames(TypeSet types);

} // namespace nnv12::importer

#endif // NNV12_COMPILER_IMPORT_TYPESET_H
