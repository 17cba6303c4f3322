//===- Elements.cpp - Elements of tensors of any type ---------------------===//
#include "tools/media/Elements.h"

#include "artifact/SmallFloat.h"

#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>

namespace nnv12::tools {

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

template <typename T> static T load(const void *data, size_t index) {
  T value;
  memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
         sizeof(T));
  return value;
}

template <typename T> static void store(void *data, size_t index, T value) {
  memcpy(static_cast<char *>(data) + index * sizeof(T), &value, sizeof(T));
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

namespace {

/// How the elements of a type are read and written.
struct Access {
  double (*load)(const void *data, size_t index);
  void (*store)(void *data, size_t index, double value);
};

/// A type that C++ has.
template <typename T>
constexpr Access accessTo = {
    [](const void *data, size_t index) {
      return static_cast<double>(load<T>(data, index));
    },
    [](void *data, size_t index, double value) {
      if (std::is_floating_point_v<T>)
        return store<T>(data, index, static_cast<T>(value));
      // The largest double that fits; for 64-bit types the limit itself does
      // not.
      auto low = static_cast<double>(std::numeric_limits<T>::min());
      auto high = static_cast<double>(std::numeric_limits<T>::max());
      if (sizeof(T) == 8)
        high = std::nextafter(high, 0);
      storeRounded<T>(data, index, value, low, high);
    }};

template <const artifact::SmallFloat &format>
double loadCode(const void *data, size_t index) {
  return format.decode(load<uint16_t>(data, index));
}

void storeHalf(void *data, size_t index, double value) {
  store(data, index, artifact::half.encode(value, /*saturate=*/false));
}

/// Rounds twice, as programs do that have f32.
void storeBFloat(void *data, size_t index, double value) {
  store(data, index, artifact::bfloat.encode(float(value), /*saturate=*/false));
}

void storeTruth(void *data, size_t index, double value) {
  store<uint8_t>(data, index, value != 0);
}

/// By type, but for those of less than 8 bits and floats of 8.
constexpr Access accesses[] = {accessTo<float>,
                               accessTo<double>,
                               {loadCode<artifact::half>, storeHalf},
                               {loadCode<artifact::bfloat>, storeBFloat},
                               accessTo<int8_t>,
                               accessTo<uint8_t>,
                               accessTo<int16_t>,
                               accessTo<uint16_t>,
                               accessTo<int32_t>,
                               accessTo<uint32_t>,
                               accessTo<int64_t>,
                               accessTo<uint64_t>,
                               {accessTo<uint8_t>.load, storeTruth}};
static_assert(std::size(accesses) == NNV12_BOOL + 1);

} // namespace

double elementAt(nnv12_type type, const void *data, size_t index) {
  if (const artifact::SmallFloat *format = smallFloat(type))
    return format->decode(load<uint8_t>(data, index));
  if (SmallInt small = SmallInt::get(type); small.bits) {
    int value = load<uint8_t>(data, index) & ((1 << small.bits) - 1);
    return value > small.high ? value - (1 << small.bits) : value;
  }
  return type <= NNV12_BOOL ? accesses[type].load(data, index) : 0;
}

void setElement(nnv12_type type, void *data, size_t index, double value) {
  if (const artifact::SmallFloat *format = smallFloat(type))
    store(data, index, uint8_t(format->encode(value, true)));
  else if (SmallInt small = SmallInt::get(type); small.bits)
    storeRounded<int8_t>(data, index, value, small.low, small.high);
  else if (type <= NNV12_BOOL)
    accesses[type].store(data, index, value);
}

} // namespace nnv12::tools
