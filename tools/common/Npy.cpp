//===- Npy.cpp - NumPy's array files --------------------------------------===//
#include "tools/common/Npy.h"

#include "artifact/AtomicFile.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace nnv12::tools {

namespace {
struct TypeCode {
  const char *code;
  nnv12_type type;
};
struct CloseFile {
  void operator()(FILE *file) const { fclose(file); }
};
using File = std::unique_ptr<FILE, CloseFile>;
} // namespace

/// Without the byte order in front.
static constexpr TypeCode typeCodes[] = {
    {"f4", NNV12_F32}, {"f8", NNV12_F64}, {"f2", NNV12_F16}, {"V2", NNV12_BF16},
    {"i1", NNV12_I8},  {"u1", NNV12_U8},  {"i2", NNV12_I16}, {"u2", NNV12_U16},
    {"i4", NNV12_I32}, {"u4", NNV12_U32}, {"i8", NNV12_I64}, {"u8", NNV12_U64},
    {"b1", NNV12_BOOL}};

static constexpr char npyMagic[] = "\x93NUMPY";
static constexpr uint64_t maxElements = uint64_t(1) << 40;

bool isNpy(const std::string &path) {
  File file(fopen(path.c_str(), "rb"));
  char start[6];
  return file && fread(start, 1, 6, file.get()) == 6 &&
         memcmp(start, npyMagic, 6) == 0;
}

/// What follows 'KEY': in the header, a Python dictionary; or null.
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
                             nnv12_type &type) {
  const char *value = valueOf(header, "descr");
  if (!value || *value != '\'')
    return "descr: found no simple type";
  std::string text(value + 1, strcspn(value + 1, "'"));
  if (text.size() == 3 && text[0] != '>')
    for (const TypeCode &known : typeCodes)
      if (text.compare(1, 2, known.code) == 0) {
        type = known.type;
        if (expected == NNV12_BF16 && type == NNV12_U16)
          type = NNV12_BF16;
        return {};
      }
  return "descr: found '" + text +
         "', expected a little-endian number such as '<f4'";
}

static std::string parseShape(const std::string &header,
                              std::vector<int64_t> &shape) {
  const char *value = valueOf(header, "shape");
  if (!value || *value++ != '(')
    return "shape: not found";
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

/// Reads what stands before the data.
static std::string readHeader(FILE *file, std::string &header) {
  uint8_t start[8], length[4] = {};
  if (fread(start, 1, 8, file) != 8 || memcmp(start, npyMagic, 6) != 0)
    return "magic: not a .npy file";
  if (start[6] < 1 || start[6] > 3)
    return "version: found " + std::to_string(start[6]) + ", expected 1 to 3";
  size_t lengthSize = start[6] == 1 ? 2 : 4;
  if (fread(length, 1, lengthSize, file) != lengthSize)
    return "header: truncated";
  size_t size = length[0] | length[1] << 8 | length[2] << 16 |
                static_cast<size_t>(length[3]) << 24;
  if (size > 1 << 20)
    return "header: found " + std::to_string(size) +
           " bytes, expected at most 2^20";
  header.resize(size);
  if (fread(&header[0], 1, size, file) != size)
    return "header: truncated";
  return {};
}

static std::string readTensor(FILE *file, nnv12_type expected, Tensor &tensor) {
  std::string header;
  std::string error = readHeader(file, header);
  if (error.empty())
    error = parseType(header, expected, tensor.type);
  tensor.shape.clear();
  if (error.empty())
    error = parseShape(header, tensor.shape);
  if (!error.empty())
    return error;
  const char *order = valueOf(header, "fortran_order");
  if (!order || (strncmp(order, "True", 4) && strncmp(order, "False", 5)))
    return "fortran_order: not found";

  // Ask how much there is before allocating what the header claims.
  size_t size = countElements(tensor.shape) * elementSize(tensor.type);
  long here = ftell(file);
  if (here < 0 || fseek(file, 0, SEEK_END) != 0)
    return std::string("cannot read: ") + strerror(errno);
  auto available = static_cast<size_t>(ftell(file) - here);
  if (available != size)
    return "data: found " + std::to_string(available) + " bytes, expected " +
           std::to_string(size);
  fseek(file, here, SEEK_SET);
  tensor.data = Buffer(size);
  if (fread(tensor.data.data(), 1, size, file) != size)
    return std::string("cannot read: ") + strerror(errno);
  if (strncmp(order, "True", 4) == 0 && tensor.shape.size() > 1)
    transpose(tensor);
  return {};
}

std::string readNpy(const std::string &path, nnv12_type expected,
                    Tensor &tensor) {
  File file(fopen(path.c_str(), "rb"));
  std::string error = file ? readTensor(file.get(), expected, tensor)
                           : std::string("cannot open: ") + strerror(errno);
  return error.empty() ? error : path + ": " + error;
}

std::string writeNpy(const std::string &path, const nnv12_tensor_info &info,
                     const void *data) {
  const char *code = "";
  for (const TypeCode &known : typeCodes)
    if (known.type == info.type)
      code = known.code;
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
  std::string header(npyMagic, 6);
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
