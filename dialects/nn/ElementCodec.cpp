//===- ElementCodec.cpp - Element types as doubles and integers -----------===//
#include "dialects/nn/ElementCodec.h"
#include "dialects/nn/SmallTypes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

using namespace nnv12;
using namespace nnv12::nn;

namespace {
template <typename Int> Int clampToInt(double value) {
  if (std::isnan(value))
    return 0;
  value = std::trunc(value);
  if (value <= static_cast<double>(std::numeric_limits<Int>::min()))
    return std::numeric_limits<Int>::min();
  // The largest 64-bit value is no double: compare with the power above it.
  if (value >= std::ldexp(1.0, std::numeric_limits<Int>::digits))
    return std::numeric_limits<Int>::max();
  return static_cast<Int>(value);
}

// The storage of a type and the conversion of one element.
template <typename T> struct Plain {
  using Storage = T;
  static constexpr auto domain = std::is_floating_point_v<T>
                                     ? ElementCodec::Float
                                 : std::is_signed_v<T> ? ElementCodec::Signed
                                                       : ElementCodec::Unsigned;
  static double toDouble(T v) { return static_cast<double>(v); }
  static int64_t toInt(T v) {
    if constexpr (std::is_floating_point_v<T>)
      return clampToInt<int64_t>(v);
    else
      return static_cast<int64_t>(v);
  }
  static T fromDouble(double v) {
    if constexpr (std::is_floating_point_v<T>)
      return static_cast<T>(v);
    else
      return clampToInt<T>(v);
  }
  static T fromInt(int64_t v) { return static_cast<T>(v); }
};

struct Bool {
  using Storage = uint8_t;
  static constexpr auto domain = ElementCodec::Unsigned;
  static double toDouble(uint8_t v) { return v != 0; }
  static int64_t toInt(uint8_t v) { return v != 0; }
  static uint8_t fromDouble(double v) { return v != 0; }
  static uint8_t fromInt(int64_t v) { return v != 0; }
};

/// A float of 16, 8 or 4 bits.
template <artifact::ElementType type> struct Coded {
  static constexpr const artifact::SmallFloat &format =
      type == artifact::ElementType::F16    ? artifact::half
      : type == artifact::ElementType::BF16 ? artifact::bfloat
                                            : *artifact::SmallFloat::get(type);
  using Storage =
      std::conditional_t<(format.magnitudeBits() + format.isSigned > 8),
                         uint16_t, uint8_t>;
  static constexpr auto domain = ElementCodec::Float;
  static double toDouble(Storage v) {
    if constexpr (sizeof(Storage) > 1)
      return format.decode(v);
    static const std::array<double, 256> values = [] {
      std::array<double, 256> table;
      for (size_t code = 0; code < table.size(); ++code)
        table[code] = format.decode(static_cast<uint8_t>(code));
      return table;
    }();
    return values[v & 255];
  }
  static int64_t toInt(Storage v) { return clampToInt<int64_t>(toDouble(v)); }
  static Storage fromDouble(double v) {
    return static_cast<Storage>(format.encode(v, /*saturate=*/false));
  }
  static Storage fromInt(int64_t v) {
    return fromDouble(static_cast<double>(v));
  }
};

/// An integer in the low bits of a byte. As MLIR does, it is stored with zeros
/// above.
template <unsigned bits, bool isSigned> struct LowBits {
  using Storage = uint8_t;
  static constexpr auto domain =
      isSigned ? ElementCodec::Signed : ElementCodec::Unsigned;
  static constexpr int mask = (1 << bits) - 1;
  static constexpr int low = isSigned ? -(1 << (bits - 1)) : 0;
  static int64_t toInt(uint8_t v) {
    int value = v & mask;
    return value > low + mask ? value - mask - 1 : value;
  }
  static double toDouble(uint8_t v) { return static_cast<double>(toInt(v)); }
  static uint8_t fromDouble(double v) {
    return fromInt(
        std::clamp<int64_t>(clampToInt<int64_t>(v), low, low + mask));
  }
  static uint8_t fromInt(int64_t v) { return static_cast<uint8_t>(v & mask); }
};

template <typename Type, typename Value,
          Value (*convert)(typename Type::Storage)>
void load(const char *from, int64_t stride, int64_t n, Value *to) {
  using Storage = typename Type::Storage;
  for (int64_t i = 0; i < n; ++i) {
    Storage element;
    std::memcpy(&element,
                from + i * stride * static_cast<int64_t>(sizeof(Storage)),
                sizeof(Storage));
    to[i] = convert(element);
  }
}

template <typename Type, typename Value,
          typename Type::Storage (*convert)(Value)>
void store(const Value *from, int64_t n, char *to) {
  using Storage = typename Type::Storage;
  for (int64_t i = 0; i < n; ++i) {
    Storage element = convert(from[i]);
    std::memcpy(to + i * sizeof(Storage), &element, sizeof(Storage));
  }
}

template <typename Type> const ElementCodec *codec() {
  static const ElementCodec instance = {Type::domain,
                                        sizeof(typename Type::Storage),
                                        load<Type, double, Type::toDouble>,
                                        load<Type, int64_t, Type::toInt>,
                                        store<Type, double, Type::fromDouble>,
                                        store<Type, int64_t, Type::fromInt>};
  return &instance;
}
} // namespace

static const ElementCodec *codecOf(const artifact::SmallFloat &format) {
  using E = artifact::ElementType;
  switch (format.type) {
  case E::F8E4M3FN:
    return codec<Coded<E::F8E4M3FN>>();
  case E::F8E4M3FNUZ:
    return codec<Coded<E::F8E4M3FNUZ>>();
  case E::F8E5M2:
    return codec<Coded<E::F8E5M2>>();
  case E::F8E5M2FNUZ:
    return codec<Coded<E::F8E5M2FNUZ>>();
  case E::F8E8M0:
    return codec<Coded<E::F8E8M0>>();
  case E::F4E2M1:
    return codec<Coded<E::F4E2M1>>();
  default:
    return nullptr;
  }
}

const ElementCodec *ElementCodec::get(mlir::Type type) {
  if (type.isF32())
    return codec<Plain<float>>();
  if (type.isF64())
    return codec<Plain<double>>();
  if (type.isF16())
    return codec<Coded<artifact::ElementType::F16>>();
  if (type.isBF16())
    return codec<Coded<artifact::ElementType::BF16>>();
  if (const artifact::SmallFloat *format = smallFloat(type))
    return codecOf(*format);
  auto integer = llvm::dyn_cast<mlir::IntegerType>(type);
  if (!integer)
    return nullptr;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 1:
    return codec<Bool>();
  case 2:
    return isUnsigned ? codec<LowBits<2, false>>() : codec<LowBits<2, true>>();
  case 4:
    return isUnsigned ? codec<LowBits<4, false>>() : codec<LowBits<4, true>>();
  case 8:
    return isUnsigned ? codec<Plain<uint8_t>>() : codec<Plain<int8_t>>();
  case 16:
    return isUnsigned ? codec<Plain<uint16_t>>() : codec<Plain<int16_t>>();
  case 32:
    return isUnsigned ? codec<Plain<uint32_t>>() : codec<Plain<int32_t>>();
  case 64:
    return isUnsigned ? codec<Plain<uint64_t>>() : codec<Plain<int64_t>>();
  default:
    return nullptr;
  }
}
