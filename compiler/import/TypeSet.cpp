//===- TypeSet.cpp - Sets of element types --------------------------------===//

#include "compiler/import/TypeSet.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

namespace {
/// A TensorProto.DataType: its name, and its type if tensors of it are
/// supported.
struct DataType {
  const char *name;
  Type (*type)(MLIRContext *) = [](MLIRContext *) { return Type(); };
};

template <typename Float> Type get(MLIRContext *context) {
  return Float::get(context);
}
template <unsigned width, bool isUnsigned = false>
Type integer(MLIRContext *context) {
  return IntegerType::get(context, width,
                          isUnsigned ? IntegerType::Unsigned
                                     : IntegerType::Signless);
}
} // namespace

static const DataType dataTypes[] = {
    {"undefined"},
    {"float", get<Float32Type>},
    {"uint8", integer<8, true>},
    {"int8", integer<8>},
    {"uint16", integer<16, true>},
    {"int16", integer<16>},
    {"int32", integer<32>},
    {"int64", integer<64>},
    {"string"},
    {"bool", integer<1>},
    {"float16", get<Float16Type>},
    {"double", get<Float64Type>},
    {"uint32", integer<32, true>},
    {"uint64", integer<64, true>},
    {"complex64"},
    {"complex128"},
    {"bfloat16", get<BFloat16Type>},
    {"float8e4m3fn", get<Float8E4M3FNType>},
    {"float8e4m3fnuz", get<Float8E4M3FNUZType>},
    {"float8e5m2", get<Float8E5M2Type>},
    {"float8e5m2fnuz", get<Float8E5M2FNUZType>},
    {"uint4", integer<4, true>},
    {"int4", integer<4>},
    {"float4e2m1", get<Float4E2M1FNType>},
    {"float8e8m0", get<Float8E8M0FNUType>},
    {"uint2", integer<2, true>},
    {"int2", integer<2>}};

static constexpr int64_t dataTypeCount = std::size(dataTypes);
static_assert(TypeSet(1) << (dataTypeCount - 1) == kInt2, "the last one");

Type importer::elementType(int64_t dataType, MLIRContext *context) {
  return dataType >= 0 && dataType < dataTypeCount
             ? dataTypes[dataType].type(context)
             : Type();
}

TypeSet importer::typeSetOf(Type type) {
  if (!type)
    return 0;
  for (int i = 0; i < dataTypeCount; ++i)
    if (elementType(i, type.getContext()) == type)
      return TypeSet(1) << i;
  return 0;
}

std::string importer::dataTypeName(int64_t dataType) {
  if (dataType >= 0 && dataType < dataTypeCount)
    return dataTypes[dataType].name;
  return "type " + std::to_string(dataType);
}

std::string importer::typeName(Type type) {
  return typeSetNames(typeSetOf(type));
}

std::string importer::typeSetNames(TypeSet types) {
  SmallVector<StringRef> names;
  for (int i = 0; i < dataTypeCount; ++i)
    if (types >> i & 1)
      names.push_back(dataTypes[i].name);
  return llvm::join(names, ", ");
}
