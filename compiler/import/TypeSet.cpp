//===- TypeSet.cpp - Sets of element types --------------------------------===//

#include "compiler/import/TypeSet.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

// Indexed by TensorProto.DataType.
static constexpr const char *dataTypeNames[] = {
    "undefined",      "float",      "uint8",
    "int8",           "uint16",     "int16",
    "int32",          "int64",      "string",
    "bool",           "float16",    "double",
    "uint32",         "uint64",     "complex64",
    "complex128",     "bfloat16",   "float8e4m3fn",
    "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "uint4",          "int4",       "float4e2m1",
    "float8e8m0",     "uint2",      "int2"};

static_assert(TypeSet(1) << (std::size(dataTypeNames) - 1) == kInt2,
              "the last one");

Type importer::elementType(int32_t dataType, MLIRContext *context) {
  auto integer = [&](unsigned width, bool isUnsigned = false) -> Type {
    return IntegerType::get(context, width,
                            isUnsigned ? IntegerType::Unsigned
                                       : IntegerType::Signless);
  };
  if (dataType < 0 || dataType > 31)
    return Type();
  switch (TypeSet(1) << dataType) {
  case kFloat32:
    return Float32Type::get(context);
  case kDouble:
    return Float64Type::get(context);
  case kFloat16:
    return Float16Type::get(context);
  case kBFloat16:
    return BFloat16Type::get(context);
  case kBool:
    return integer(1);
  case kInt8:
    return integer(8);
  case kInt16:
    return integer(16);
  case kInt32:
    return integer(32);
  case kInt64:
    return integer(64);
  case kUInt8:
    return integer(8, true);
  case kUInt16:
    return integer(16, true);
  case kUInt32:
    return integer(32, true);
  case kUInt64:
    return integer(64, true);
  case kFloat8E4M3FN:
    return Float8E4M3FNType::get(context);
  case kFloat8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case kFloat8E5M2:
    return Float8E5M2Type::get(context);
  case kFloat8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case kFloat8E8M0:
    return Float8E8M0FNUType::get(context);
  case kFloat4E2M1:
    return Float4E2M1FNType::get(context);
  case kInt4:
    return integer(4);
  case kUInt4:
    return integer(4, true);
  case kInt2:
    return integer(2);
  case kUInt2:
    return integer(2, true);
  default:
    return Type();
  }
}

TypeSet importer::typeSetOf(Type type) {
  if (!type)
    return 0;
  for (int i = 0; i < int(std::size(dataTypeNames)); ++i)
    if (elementType(i, type.getContext()) == type)
      return TypeSet(1) << i;
  return 0;
}

std::string importer::dataTypeName(int32_t dataType) {
  if (dataType >= 0 && dataType < int32_t(std::size(dataTypeNames)))
    return dataTypeNames[dataType];
  return "type " + std::to_string(dataType);
}

std::string importer::typeName(Type type) {
  return typeSetNames(typeSetOf(type));
}

std::string importer::typeSetNames(TypeSet types) {
  std::string names;
  for (int i = 0; i < int(std::size(dataTypeNames)); ++i) {
    if (!(types >> i & 1))
      continue;
    if (!names.empty())
      names += ", ";
    names += dataTypeNames[i];
  }
  return names;
}
