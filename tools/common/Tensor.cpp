//===- Tensor.cpp - A tensor in a tool's memory ---------------------------===//
#include "tools/common/Tensor.h"

#include "artifact/RuntimePolicy.h"
#include "artifact/SmallFloat.h"
#include "tools/common/Report.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sys/mman.h>

namespace nnv12::tools {

void Buffer::Free::operator()(uint8_t *p) const { free(p); }

Buffer::Buffer(size_t size) : length_(size) {
  void *memory = nullptr;
  // Small pages of an input or output of some megabytes cost a millisecond at
  // their first use.
  bool huge = size >= hugePageSize;
  if (posix_memalign(&memory, huge ? hugePageSize : 64, size ? size : 1) != 0)
    fail("no memory for " + std::to_string(size) + " bytes");
  if (huge)
    madvise(memory, size & ~(hugePageSize - 1), MADV_HUGEPAGE);
  bytes_.reset(static_cast<uint8_t *>(memory));
}

size_t elementSize(nnv12_type type) {
  return artifact::elementSize(static_cast<artifact::ElementType>(type));
}

static const artifact::SmallFloat *smallFloat(nnv12_type type) {
  return artifact::SmallFloat::get(static_cast<artifact::ElementType>(type));
}

bool isFloat(nnv12_type type) { return type <= NNV12_BF16 || smallFloat(type); }

SmallInt SmallInt::get(nnv12_type type) {
  if (type < NNV12_I4 || type > NNV12_U2)
    return {};
  int bits = type <= NNV12_U4 ? 4 : 2;
  bool isSigned = type == NNV12_I4 || type == NNV12_I2;
  int low = isSigned ? -(1 << (bits - 1)) : 0;
  return {bits, low, low + (1 << bits) - 1};
}

std::string shapeText(const int64_t *shape, size_t rank) {
  std::string text;
  for (size_t i = 0; i < rank; ++i)
    text += (i ? "x" : "") + std::to_string(shape[i]);
  return rank ? text : "scalar";
}

std::string shapeText(const std::vector<int64_t> &shape) {
  return shapeText(shape.data(), shape.size());
}

std::string describe(const nnv12_tensor_info &info) {
  return std::string(nnv12_type_name(info.type)) + " " +
         shapeText(info.shape, info.rank);
}

static double halfToDouble(uint16_t half) {
  int exponent = half >> 10 & 31;
  int mantissa = half & 1023;
  double value;
  if (exponent == 31)
    value = mantissa ? std::numeric_limits<double>::quiet_NaN()
                     : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    value = std::ldexp(mantissa, -24);
  else
    value = std::ldexp(mantissa + 1024, exponent - 25);
  return half & 0x8000 ? -value : value;
}

/// Rounds to nearest, ties to even.
static uint16_t doubleToHalf(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return 0x7e00;
  if (magnitude >= 65520)
    return sign | 0x7c00;
  int exponent = magnitude > 0 ? std::ilogb(magnitude) : -15;
  if (exponent < -14)
    return sign |
           static_cast<uint16_t>(std::nearbyint(std::ldexp(magnitude, 24)));
  auto mantissa = static_cast<uint32_t>(
      std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // A mantissa that rounds up to 2048 carries into the exponent by itself.
  return sign | static_cast<uint16_t>(((exponent + 14) << 10) + mantissa);
}

template <typename T> static T load(const void *data, size_t index) {
  T value;
  memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
         sizeof(T));
  return value;
}

template <typename T> static void store(void *data, size_t index, T value) {
  memcpy(static_cast<char *>(data) + index * sizeof(T), &value, sizeof(T));
}

double elementAt(nnv12_type type, const void *data, size_t index) {
  if (const artifact::SmallFloat *format = smallFloat(type))
    return format->decode(load<uint8_t>(data, index));
  if (SmallInt small = SmallInt::get(type); small.bits) {
    int value = load<uint8_t>(data, index) & ((1 << small.bits) - 1);
    return value > small.high ? value - (1 << small.bits) : value;
  }
  switch (type) {
  case NNV12_F32:
    return load<float>(data, index);
  case NNV12_F64:
    return load<double>(data, index);
  case NNV12_F16:
    return halfToDouble(load<uint16_t>(data, index));
  case NNV12_BF16: {
    uint32_t bits = uint32_t(load<uint16_t>(data, index)) << 16;
    return load<float>(&bits, 0);
  }
  case NNV12_I8:
    return load<int8_t>(data, index);
  case NNV12_U8:
  case NNV12_BOOL:
    return load<uint8_t>(data, index);
  case NNV12_I16:
    return load<int16_t>(data, index);
  case NNV12_U16:
    return load<uint16_t>(data, index);
  case NNV12_I32:
    return load<int32_t>(data, index);
  case NNV12_U32:
    return load<uint32_t>(data, index);
  case NNV12_I64:
    return static_cast<double>(load<int64_t>(data, index));
  case NNV12_U64:
    return static_cast<double>(load<uint64_t>(data, index));
  default:
    return 0;
  }
}

template <typename T>
static void storeRounded(void *data, size_t index, double value, double low,
                         double high) {
  value = std::nearbyint(value);
  if (!(value > low))
    value = low;
  if (value > high)
    value = high;
  store<T>(data, index, static_cast<T>(value));
}

template <typename T>
static void storeRounded(void *data, size_t index, double value) {
  // The largest double that fits; for 64-bit types the limit itself does not.
  double low = static_cast<double>(std::numeric_limits<T>::min());
  double high = static_cast<double>(std::numeric_limits<T>::max());
  if (sizeof(T) == 8)
    high = std::nextafter(high, 0);
  storeRounded<T>(data, index, value, low, high);
}

void setElement(nnv12_type type, void *data, size_t index, double value) {
  if (const artifact::SmallFloat *format = smallFloat(type))
    return store<uint8_t>(data, index, format->encode(value, true));
  if (SmallInt small = SmallInt::get(type); small.bits)
    return storeRounded<int8_t>(data, index, value, small.low, small.high);
  switch (type) {
  case NNV12_F32:
    return store<float>(data, index, static_cast<float>(value));
  case NNV12_F64:
    return store<double>(data, index, value);
  case NNV12_F16:
    return store<uint16_t>(data, index, doubleToHalf(value));
  case NNV12_BF16: {
    float single = static_cast<float>(value);
    uint32_t bits = load<uint32_t>(&single, 0);
    bits += 0x7fff + (bits >> 16 & 1);
    return store<uint16_t>(data, index, static_cast<uint16_t>(bits >> 16));
  }
  case NNV12_I8:
    return storeRounded<int8_t>(data, index, value);
  case NNV12_U8:
    return storeRounded<uint8_t>(data, index, value);
  case NNV12_I16:
    return storeRounded<int16_t>(data, index, value);
  case NNV12_U16:
    return storeRounded<uint16_t>(data, index, value);
  case NNV12_I32:
    return storeRounded<int32_t>(data, index, value);
  case NNV12_U32:
    return storeRounded<uint32_t>(data, index, value);
  case NNV12_I64:
    return storeRounded<int64_t>(data, index, value);
  case NNV12_U64:
    return storeRounded<uint64_t>(data, index, value);
  case NNV12_BOOL:
    return store<uint8_t>(data, index, value != 0);
  default:
    return;
  }
}

} // namespace nnv12::tools
