//===- TensorData.cpp - Constants from ONNX tensors and files -------------===//

#include "compiler/import/TensorData.h"

#include "artifact/MappedFile.h"
#include "compiler/import/ExternalData.h"
#include "compiler/import/Onnx.h"
#include "compiler/import/TypeSet.h"
#include "dialects/nn/ConstantBudget.h"
#include "dialects/nn/Layout.h"
#include "dialects/nn/SmallTypes.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <cstring>

using namespace mlir;
using namespace nnv12;
using namespace nnv12::importer;

using Bytes = MutableArrayRef<char>;

//===----------------------------------------------------------------------===//
// TensorProto
//===----------------------------------------------------------------------===//

/// Converts a repeated field, one entry an element, to elements of `T`.
template <typename T, typename Field>
static void copyField(const Field &field, Bytes target) {
  assert(size_t(field.size()) * sizeof(T) == target.size() &&
         "an entry for each element");
  char *p = target.data();
  for (auto value : field) {
    T element = static_cast<T>(value);
    std::memcpy(p, &element, sizeof element);
    p += sizeof element;
  }
}

/// Bits of one element in a file: those of 4 and 2 bits lie side by side in a
/// byte, the first in the lowest.
static uint64_t packedBits(Type element) {
  return nn::isSmall(element) ? element.getIntOrFloatBitWidth()
                              : 8 * nn::storageElementSize(element);
}

static uint64_t packedSize(uint64_t count, Type element) {
  return llvm::divideCeil(count * packedBits(element), 8);
}

/// From a file's bytes to one element after another, each in bytes of its own.
static void unpack(ArrayRef<char> packed, Type element, Bytes target) {
  uint64_t bits = packedBits(element);
  if (target.empty())
    return;
  assert((bits >= 8 ? packed.size() >= target.size()
                    : 8 * packed.size() >= bits * target.size()) &&
         "the file has all elements");
  if (bits >= 8) {
    std::memcpy(target.data(), packed.data(), target.size());
  } else {
    for (size_t i = 0; i < target.size(); ++i)
      target[i] = static_cast<char>(
          uint8_t(packed[i * bits / 8]) >> (i * bits % 8) & ((1u << bits) - 1));
  }
}

/// Calls `use` with the field that has elements of the type, and with a number
/// as which one is stored.
template <typename Use>
static auto useTyped(const onnx::TensorProto &t, Type element, Use use) {
  TypeSet type = typeSetOf(element);
  if (type & kFloat32)
    return use(t.float_data(), float());
  if (type & kDouble)
    return use(t.double_data(), double());
  if (type & kInt64)
    return use(t.int64_data(), int64_t());
  if (type & kUInt64)
    return use(t.uint64_data(), uint64_t());
  if (type & kUInt32)
    return use(t.uint64_data(), uint32_t());
  if (type & kInt32)
    return use(t.int32_data(), int32_t());
  if (type & (kInt16 | kUInt16 | kFloat16 | kBFloat16))
    return use(t.int32_data(), uint16_t());
  return use(t.int32_data(), uint8_t());
}

static void copyTyped(const onnx::TensorProto &t, Type element, Bytes target) {
  useTyped(t, element, [&](const auto &field, auto number) {
    copyField<decltype(number)>(field, target);
  });
}

/// How many entries the field of that type has.
static int64_t typedCount(const onnx::TensorProto &t, Type element) {
  return useTyped(t, element, [](const auto &field, auto) -> int64_t {
    return field.size();
  });
}

/// A constant with elements that a file brings.
static ElementsAttr given(RankedTensorType type,
                          llvm::function_ref<void(Bytes)> fill) {
  nn::ConstantBudget::of(type.getContext()).give(nn::storageSize(type));
  return nn::makeConstant(type, fill);
}

ElementsAttr importer::decodeTensor(const onnx::TensorProto &tensor,
                                    ExternalData &external, LayerBuilder &b) {
  Type element = elementType(tensor.data_type(), b.context());
  if (!element)
    return b.refuse("a tensor of " + dataTypeName(tensor.data_type()),
                    typeSetNames(kAny));
  Ints dims(tensor.dims().begin(), tensor.dims().end());
  RankedTensorType type = b.type(dims, element);
  if (!type)
    return {};
  int64_t count = type.getNumElements();
  uint64_t bytes = packedSize(count, element);
  std::string what = " for " + str(dims) + " of " + typeName(element);

  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    ExternalData::Slice slice = external.find(
        tensor, bytes, [&](const Twine &found, const Twine &expected) {
          b.fail(found, expected);
        });
    if (!slice.file)
      return {};
    return given(type, [&](Bytes target) {
      unpack({slice.bytes.data(), slice.bytes.size()}, element, target);
    });
  }
  if (tensor.has_raw_data()) {
    const std::string &raw = tensor.raw_data();
    if (raw.size() != bytes)
      return b.refuse("raw_data of " + Twine(raw.size()) + " bytes",
                      Twine(bytes) + what);
    return given(type, [&](Bytes target) {
      unpack({raw.data(), raw.size()}, element, target);
    });
  }
  // An entry of a packed type is a byte.
  int64_t entries = nn::isSmall(element) ? bytes : count;
  if (typedCount(tensor, element) != entries)
    return b.refuse("data of " + Twine(typedCount(tensor, element)) +
                        " elements",
                    Twine(entries) + what);
  if (!nn::isSmall(element))
    return given(type,
                 [&](Bytes target) { copyTyped(tensor, element, target); });
  SmallVector<char, 0> packed(bytes);
  copyTyped(tensor, element, packed);
  return given(type, [&](Bytes target) { unpack(packed, element, target); });
}

ElementsAttr importer::decodeSparse(const onnx::SparseTensorProto &sparse,
                                    ExternalData &external, LayerBuilder &b) {
  ElementsAttr valuesAttr = decodeTensor(sparse.values(), external, b);
  ElementsAttr indicesAttr = decodeTensor(sparse.indices(), external, b);
  if (!valuesAttr || !indicesAttr)
    return {};
  auto values = nn::ConstantData::get(valuesAttr);
  auto indices = nn::ConstantData::get(indicesAttr);
  assert(values && indices && "decoded tensors can be read");
  Ints dims(sparse.dims().begin(), sparse.dims().end());
  RankedTensorType type = b.type(dims, values->type().getElementType());
  if (!type)
    return {};
  int64_t rank = dims.size(), count = values->size();
  bool linear = indices->type().getRank() == 1;
  if (indices->size() != (linear ? count : count * rank))
    return b.refuse("indices of shape " + str(indices->type().getShape()),
                    "one for each of " + Twine(count) + " values");
  // Offsets first: nothing may fail while the elements are filled.
  Ints offsets;
  for (int64_t i = 0; i < count; ++i) {
    int64_t offset = 0;
    bool inside = true;
    if (linear) {
      offset = indices->asInt(i);
      inside = offset >= 0 && offset < type.getNumElements();
    } else {
      for (int64_t d = 0; d < rank; ++d) {
        int64_t index = indices->asInt(i * rank + d);
        inside &= index >= 0 && index < dims[d];
        offset = offset * dims[d] + (inside ? index : 0);
      }
    }
    if (!inside)
      return b.refuse("sparse index " + Twine(i) + " outside of " + str(dims),
                      "an index inside");
    offsets.push_back(offset);
  }
  if (!b.reserve(type))
    return {};
  int64_t width = nn::storageElementSize(type.getElementType());
  return nn::makeConstant(type, [&](Bytes target) {
    std::memset(target.data(), 0, target.size());
    for (auto [i, offset] : llvm::enumerate(offsets))
      std::memcpy(target.data() + offset * width,
                  values->bytes().data() + i * width, width);
  });
}

//===----------------------------------------------------------------------===//
// Files for --constant
//===----------------------------------------------------------------------===//

/// Type of a NumPy descriptor like "<f4", null if it is not supported.
static Type numpyType(StringRef descr, MLIRContext *context) {
  if (descr.consume_front(">"))
    return Type();
  if (!descr.consume_front("<"))
    descr.consume_front("|");
  static constexpr std::pair<const char *, int32_t> typeNames[] = {
      {"f4", 1}, {"u1", 2}, {"i1", 3},  {"u2", 4},  {"i2", 5},  {"i4", 6},
      {"i8", 7}, {"b1", 9}, {"f2", 10}, {"f8", 11}, {"u4", 12}, {"u8", 13}};
  for (auto [name, dataType] : typeNames)
    if (descr == name)
      return elementType(dataType, context);
  return Type();
}

/// The text after `'key':` in a NumPy header.
static StringRef headerField(StringRef header, StringRef key) {
  size_t at = header.find(("'" + key + "':").str());
  return at == StringRef::npos ? StringRef()
                               : header.substr(at + key.size() + 3).ltrim();
}

static Value readNpy(StringRef path, StringRef bytes, LayerBuilder &b) {
  auto bad = [&](const Twine &found, const Twine &expected) {
    return b.refuse(found + " in '" + path + "'", expected);
  };
  if (bytes.size() < 12)
    return bad("a truncated file", "a .npy file");
  uint8_t major = bytes[6];
  size_t headerAt = major >= 2 ? 12 : 10, headerSize = 0;
  for (size_t i = headerAt; i-- > 8;)
    headerSize = headerSize << 8 | uint8_t(bytes[i]);
  if (headerSize > bytes.size() - headerAt)
    return bad("a truncated header", "a .npy file");
  StringRef header = bytes.substr(headerAt, headerSize).trim();
  if (!header.starts_with("{") || !header.ends_with("}"))
    return bad("a header without its braces", "a .npy file");
  StringRef descr = headerField(header, "descr");
  descr = descr.substr(1, descr.find_first_of("'", 1) - 1);
  Type element = numpyType(descr, b.context());
  if (!element)
    return bad("element type '" + descr + "'", "a little-endian number");
  if (!headerField(header, "fortran_order").starts_with("False"))
    return bad("column-major order", "row-major order");
  StringRef dims = headerField(header, "shape");
  if (!dims.consume_front("("))
    return bad("no shape", "a .npy file");
  dims = dims.substr(0, dims.find(')'));
  Ints shape;
  SmallVector<StringRef> parts;
  dims.split(parts, ',');
  for (StringRef part : parts) {
    int64_t d;
    if (part.trim().empty())
      continue;
    if (part.trim().getAsInteger(10, d))
      return bad("shape (" + dims + ")", "numbers");
    shape.push_back(d);
  }
  RankedTensorType type = b.type(shape, element);
  if (!type)
    return {};
  StringRef elements = bytes.substr(headerAt + headerSize);
  uint64_t size = type.getNumElements() * nn::storageElementSize(element);
  if (elements.size() < size)
    return bad(Twine(elements.size()) + " bytes of elements", Twine(size));
  return b.constant(given(type, [&](Bytes target) {
    unpack({elements.data(), elements.size()}, element, target);
  }));
}

static ImportValue decodeSequence(const onnx::SequenceProto &proto,
                                  ExternalData &external, LayerBuilder &b) {
  ImportValue sequence{ImportValue::Sequence, {}};
  for (const onnx::TensorProto &t : proto.tensor_values())
    sequence.list.push_back(b.constant(decodeTensor(t, external, b)));
  if (proto.tensor_values_size() == 0 &&
      (proto.sequence_values_size() || proto.map_values_size() ||
       proto.optional_values_size() || proto.sparse_tensor_values_size()))
    b.fail("a sequence of other than tensors", "a sequence of tensors");
  return sequence;
}

ImportValue importer::readConstantFile(StringRef path, ImportValue::Kind kind,
                                       ExternalData &external,
                                       LayerBuilder &b) {
  artifact::MappedFile file;
  artifact::Fault fault;
  if (!file.open(path.str().c_str(), fault)) {
    b.fail("no file '" + path + "' (" + fault.text + ")", "a .npy or .pb file");
    return {};
  }
  StringRef bytes(reinterpret_cast<const char *>(file.data()), file.size());
  if (kind == ImportValue::Tensor && bytes.starts_with("\x93NUMPY"))
    return readNpy(path, bytes, b);
  auto parse = [&](google::protobuf::Message &message) {
    bool parsed = bytes.size() <= size_t(std::numeric_limits<int>::max()) &&
                  message.ParseFromArray(bytes.data(), int(bytes.size()));
    if (!parsed)
      b.fail("no tensor in '" + path + "'",
             "a .npy file or a serialised TensorProto");
    return parsed;
  };
  if (kind == ImportValue::Sequence) {
    onnx::SequenceProto sequence;
    return parse(sequence) ? decodeSequence(sequence, external, b)
                           : ImportValue();
  }
  if (kind == ImportValue::Optional) {
    onnx::OptionalProto proto;
    if (!parse(proto))
      return {};
    ImportValue result{ImportValue::Optional, {}};
    if (proto.has_tensor_value())
      result.list.push_back(
          b.constant(decodeTensor(proto.tensor_value(), external, b)));
    else if (proto.has_sequence_value())
      result.list.push_back(
          decodeSequence(proto.sequence_value(), external, b));
    return result;
  }
  onnx::TensorProto tensor;
  return parse(tensor) ? b.constant(decodeTensor(tensor, external, b))
                       : Value();
}
