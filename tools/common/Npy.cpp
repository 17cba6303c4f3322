//===- Npy.cpp - NumPy's array files --------------------------------------===//
#include "tools/common/Npy.h"

#include "artifact/AtomicFile.h"
#include "artifact/Escape.h"
#include "artifact/MappedFile.h"
#include "tools/common/Files.h"

#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace nnv12::tools {

namespace {
struct TypeCode {
  const char *code;
  nnv12_type type;
};
} // namespace

/// Without the byte order in front.
static constexpr TypeCode typeCodes[] = {
    {"f4", NNV12_F32}, {"f8", NNV12_F64}, {"f2", NNV12_F16}, {"V2", NNV12_BF16},
    {"i1", NNV12_I8},  {"u1", NNV12_U8},  {"i2", NNV12_I16}, {"u2", NNV12_U16},
    {"i4", NNV12_I32}, {"u4", NNV12_U32}, {"i8", NNV12_I64}, {"u8", NNV12_U64},
    {"b1", NNV12_BOOL}};

/// The code in which a type is written.
static const char *codeOf(nnv12_type type) {
  for (const TypeCode &known : typeCodes)
    if (known.type == type)
      return known.code;
  SmallInt small = SmallInt::get(type);
  return !small.bits ? "V1" : small.low < 0 ? "i1" : "u1";
}

/// Whether a file of this code is read as `type`, which NumPy lacks.
static bool isStandIn(const std::string &code, nnv12_type type) {
  if (type == NNV12_BF16)
    return code == "V2" || code == "u2";
  if (type <= NNV12_BOOL)
    return false;
  return code == "V1" || code == "u1" ||
         (code == "i1" && SmallInt::get(type).bits) ||
         (code == "f1" && type == NNV12_F8E5M2); // so ml_dtypes calls it
}

static constexpr std::string_view npyMagic = "\x93NUMPY";
static constexpr uint64_t maxElements = uint64_t(1) << 40;

static std::string_view bytesOf(const artifact::MappedFile &file) {
  return {reinterpret_cast<const char *>(file.data()), file.size()};
}

static bool beginsAsNpy(std::string_view file) {
  return file.substr(0, npyMagic.size()) == npyMagic;
}

bool isNpy(const std::string &path) {
  artifact::MappedFile file;
  artifact::Fault fault;
  return file.open(path.c_str(), fault) && beginsAsNpy(bytesOf(file));
}

/// The text behind 'KEY': in the header, a Python dictionary; or null.
static const char *valueOf(const std::string &header, const char *key) {
  size_t at = header.find("'" + std::string(key) + "'");
  if (at == std::string::npos)
    return nullptr;
  at = header.find(':', at);
  if (at == std::string::npos)
    return nullptr;
  at = header.find_first_not_of(' ', at + 1);
  return at == std::string::npos ? nullptr : header.c_str() + at;
}

static std::string parseType(const std::string &header, nnv12_type expected,
                             nnv12_type &type, std::string &code) {
  const char *value = valueOf(header, "descr");
  if (!value || *value != '\'')
    return "descr: found no simple type";
  std::string text(value + 1, strcspn(value + 1, "'"));
  if (text.size() == 3 && text[0] != '>') {
    code = text.substr(1);
    type = expected;
    if (isStandIn(code, expected))
      return {};
    for (const TypeCode &known : typeCodes)
      if (code == known.code) {
        type = known.type;
        return {};
      }
  }
  return "descr: found '" + artifact::escaped(text) +
         "', expected a little-endian number such as '<f4'";
}

static std::string parseShape(const std::string &header,
                              std::vector<int64_t> &shape) {
  const char *value = valueOf(header, "shape");
  if (!value || *value != '(')
    return "shape: not found";
  ++value;
  uint64_t elements = 1;
  for (;;) {
    value += strspn(value, " ,");
    if (*value == ')')
      return {};
    char *end = nullptr;
    errno = 0;
    long long extent = strtoll(value, &end, 10);
    if (end == value || errno || extent < 0 || shape.size() == 64)
      return "shape: not a list of extents";
    if (extent && elements > maxElements / static_cast<uint64_t>(extent))
      return "shape: found more than 2^40 elements";
    elements *= extent ? static_cast<uint64_t>(extent) : 1;
    shape.push_back(extent);
    value = end;
  }
}

static size_t countElements(const std::vector<int64_t> &shape) {
  size_t count = 1;
  for (int64_t extent : shape)
    count *= static_cast<size_t>(extent);
  return count;
}

/// From Fortran order, where the first index runs fastest, to C order.
static void transpose(Tensor &tensor) {
  size_t size = elementSize(tensor.type), count = countElements(tensor.shape);
  Buffer result(tensor.data.size());
  std::vector<int64_t> index(tensor.shape.size());
  for (size_t i = 0; i < count; ++i) {
    size_t target = 0;
    for (size_t d = 0; d < index.size(); ++d)
      target = target * static_cast<size_t>(tensor.shape[d]) +
               static_cast<size_t>(index[d]);
    memcpy(result.data() + target * size, tensor.data.data() + i * size, size);
    for (size_t d = 0; d < index.size() && ++index[d] == tensor.shape[d]; ++d)
      index[d] = 0;
  }
  tensor.data = std::move(result);
}

/// Integers of 4 and 2 bits in a file of 8-bit integers must be in their range.
static std::string checkRange(const Tensor &tensor, const std::string &code) {
  SmallInt small = SmallInt::get(tensor.type);
  if (!small.bits || code == "V1")
    return {};
  for (size_t i = 0; i < tensor.data.size(); ++i) {
    uint8_t byte = tensor.data.data()[i];
    int value = code == "i1" && byte >= 128 ? byte - 256 : byte;
    if (value < small.low || value > small.high)
      return "data: found " + std::to_string(value) + ", expected " +
             std::to_string(small.low) + " to " + std::to_string(small.high) +
             " for " + nnv12_type_name(tensor.type);
  }
  return {};
}

/// Takes the header off the front of a file; the data is left.
static std::string takeHeader(std::string_view &file, std::string &header) {
  if (!beginsAsNpy(file) || file.size() < 8)
    return "magic: not a .npy file";
  auto version = static_cast<uint8_t>(file[6]);
  if (version < 1 || version > 3)
    return "version: found " + std::to_string(version) + ", expected 1 to 3";
  size_t begin = version == 1 ? 10 : 12, size = 0;
  if (file.size() < begin)
    return "header: truncated";
  for (size_t i = begin; i > 8; --i)
    size = size << 8 | static_cast<uint8_t>(file[i - 1]);
  if (size > 1 << 20)
    return "header: found " + std::to_string(size) +
           " bytes, expected at most 2^20";
  if (size > file.size() - begin)
    return "header: truncated";
  header = file.substr(begin, size);
  file.remove_prefix(begin + size);
  size_t first = header.find_first_not_of(" \n"),
         last = header.find_last_not_of(" \n");
  if (first == std::string::npos || header[first] != '{' || header[last] != '}')
    return "header: found no braces around it, expected a Python dictionary";
  return {};
}

static std::string readTensor(std::string_view file, nnv12_type expected,
                              Tensor &tensor) {
  std::string header, code;
  std::string error = takeHeader(file, header);
  if (error.empty())
    error = parseType(header, expected, tensor.type, code);
  tensor.shape.clear();
  if (error.empty())
    error = parseShape(header, tensor.shape);
  if (!error.empty())
    return error;
  const char *order = valueOf(header, "fortran_order");
  if (!order ||
      (strncmp(order, "True", 4) != 0 && strncmp(order, "False", 5) != 0))
    return "fortran_order: not found";

  // Ask how much there is before allocating what the header claims.
  size_t size = countElements(tensor.shape) * elementSize(tensor.type);
  if (file.size() != size)
    return "data: found " + std::to_string(file.size()) + " bytes, expected " +
           std::to_string(size);
  tensor.data = Buffer(size);
  memcpy(tensor.data.data(), file.data(), size);
  if (strncmp(order, "True", 4) == 0 && tensor.shape.size() > 1)
    transpose(tensor);
  return checkRange(tensor, code);
}

std::string readNpy(const std::string &path, nnv12_type expected,
                    Tensor &tensor) {
  artifact::MappedFile file;
  std::string error = openInput(path, file);
  if (!error.empty())
    return error;
  error = readTensor(bytesOf(file), expected, tensor);
  return error.empty() ? error : path + ": " + error;
}

std::string writeNpy(const std::string &path, const nnv12_tensor_info &info,
                     const void *data) {
  const char *code = codeOf(info.type);
  bool hasOrder = elementSize(info.type) > 1 && info.type != NNV12_BF16;
  std::string text = std::string("{'descr': '") + (hasOrder ? "<" : "|") +
                     code + "', 'fortran_order': False, 'shape': (";
  for (uint32_t i = 0; i < info.rank; ++i)
    text += std::to_string(info.shape[i]) + (info.rank == 1      ? ","
                                             : i + 1 < info.rank ? ", "
                                                                 : "");
  text += "), }";
  // The data begins at a multiple of 64.
  while ((10 + text.size() + 1) % 64)
    text += ' ';
  text += '\n';
  assert(text.size() <= 0xffff && "version 1 has two bytes for it");
  std::string header(npyMagic);
  header += {'\1', '\0', static_cast<char>(text.size() & 255),
             static_cast<char>(text.size() >> 8)};
  header += text;

  artifact::AtomicFile file;
  artifact::Fault fault;
  if (file.open(path.c_str(), fault) &&
      file.write(header.data(), header.size(), fault) &&
      file.write(data, info.byte_size, fault) &&
      file.commit(fault, artifact::AtomicFile::Durability::None))
    return {};
  return path + ": " + fault.text;
}

} // namespace nnv12::tools
