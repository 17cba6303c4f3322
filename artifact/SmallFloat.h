//===- SmallFloat.h - Floats of eight bits and less -------------*- C++ -*-===//
//
// The table of ONNX's small floats, FLOAT8… and FLOAT4E2M1, and of the meaning
// of their codes. Import, constant folding, generated code and the tools all go
// by it.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_SMALLFLOAT_H
#define NNV12_ARTIFACT_SMALLFLOAT_H

#include "artifact/Bundle.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace nnv12::artifact {

/// A format. A code has, from its lowest bit, the mantissa, the exponent and,
/// unless the format has none, the sign; the bits above are zero.
struct SmallFloat {
  /// Which codes are no finite numbers.
  enum class Special : uint8_t {
    Ieee,         ///< the largest exponent: infinities and NaNs
    AllOnes,      ///< exponent and mantissa all ones: NaN; no infinities
    NegativeZero, ///< the code of -0: NaN; no infinities
    None          ///< none
  };
  /// To which of the two numbers around it a number goes. ONNX lets one choose
  /// for the format without a mantissa alone, where `Nearest` rounds ties up.
  enum class Rounding : uint8_t { Nearest, Up, Down };

  ElementType type;
  bool isSigned;
  uint8_t exponentBits;
  uint8_t mantissaBits; ///< 0: no code is zero, and every exponent is normal
  int16_t bias;
  Special special;

  constexpr unsigned magnitudeBits() const {
    return exponentBits + mantissaBits;
  }
  constexpr uint16_t magnitudeMask() const {
    return static_cast<uint16_t>((1u << magnitudeBits()) - 1);
  }
  constexpr uint16_t signBit() const {
    return isSigned ? static_cast<uint16_t>(1u << magnitudeBits()) : 0;
  }
  /// The code of the largest finite number.
  constexpr uint16_t largest() const {
    uint16_t mask = magnitudeMask();
    return special == Special::Ieee
               ? static_cast<uint16_t>(mask - (1u << mantissaBits))
           : special == Special::AllOnes ? static_cast<uint16_t>(mask - 1)
                                         : mask;
  }
  /// The code of NaN: -0 in ONNX's reference where there is no NaN.
  constexpr uint16_t nan() const {
    return special == Special::Ieee
               ? static_cast<uint16_t>(largest() + 1 +
                                       (1u << (mantissaBits - 1)))
           : special == Special::AllOnes ? magnitudeMask()
                                         : signBit();
  }
  /// Whether NaN comes in both signs.
  constexpr bool nanHasSign() const {
    return isSigned &&
           (special == Special::Ieee || special == Special::AllOnes);
  }
  /// The code of a number that is too large, unless it saturates. The format
  /// without special codes always saturates.
  constexpr uint16_t overflow() const {
    return special == Special::Ieee   ? static_cast<uint16_t>(largest() + 1)
           : special == Special::None ? largest()
                                      : nan();
  }

  /// The value of a code; exact. Bits above the sign do not matter.
  double decode(uint16_t code) const;
  /// The code of a number, ties to even. A number out of range becomes the
  /// largest number if it saturates, else infinity or NaN (overflow()); without
  /// a sign that goes for numbers below the smallest one as well.
  uint16_t encode(double value, bool saturate,
                  Rounding rounding = Rounding::Nearest) const;

  /// nullptr if the type is none of these.
  static constexpr const SmallFloat *get(ElementType type);
};

/// In the order of ElementType.
inline constexpr SmallFloat smallFloats[] = {
    // type, signed, exponent, mantissa, bias, special
    {ElementType::F8E4M3FN, true, 4, 3, 7, SmallFloat::Special::AllOnes},
    {ElementType::F8E4M3FNUZ, true, 4, 3, 8, SmallFloat::Special::NegativeZero},
    {ElementType::F8E5M2, true, 5, 2, 15, SmallFloat::Special::Ieee},
    {ElementType::F8E5M2FNUZ, true, 5, 2, 16,
     SmallFloat::Special::NegativeZero},
    {ElementType::F8E8M0, false, 8, 0, 127, SmallFloat::Special::AllOnes},
    {ElementType::F4E2M1, true, 2, 1, 1, SmallFloat::Special::None},
};

/// Floats of two bytes, which are none of these, have codes of the same kind.
inline constexpr SmallFloat half = {ElementType::F16,         true, 5, 10, 15,
                                    SmallFloat::Special::Ieee};
inline constexpr SmallFloat bfloat = {ElementType::BF16,        true, 8, 7, 127,
                                      SmallFloat::Special::Ieee};

constexpr const SmallFloat *SmallFloat::get(ElementType type) {
  for (const SmallFloat &format : smallFloats)
    if (format.type == type)
      return &format;
  return nullptr;
}

inline double SmallFloat::decode(uint16_t code) const {
  int magnitude = code & magnitudeMask();
  double sign = code & signBit() ? -1 : 1;
  if (special == Special::NegativeZero && magnitude == 0 && sign < 0)
    return std::numeric_limits<double>::quiet_NaN();
  if (special == Special::Ieee && magnitude == largest() + 1)
    return sign * std::numeric_limits<double>::infinity();
  if (magnitude > largest())
    return std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
  int exponent = magnitude >> mantissaBits;
  int mantissa = magnitude & ((1 << mantissaBits) - 1);
  bool isNormal = exponent > 0 || mantissaBits == 0;
  if (isNormal)
    mantissa += 1 << mantissaBits;
  return sign *
         std::ldexp(mantissa, (isNormal ? exponent : 1) - bias - mantissaBits);
}

inline uint16_t SmallFloat::encode(double value, bool saturate,
                                   Rounding rounding) const {
  uint16_t sign = std::signbit(value) ? signBit() : 0;
  if (std::isnan(value))
    return nanHasSign() ? nan() | sign : nan();
  double magnitude = std::fabs(value);
  if (mantissaBits == 0) {
    // Only the exponent is left.
    double least = std::ldexp(1, -bias), most = std::ldexp(1, largest() - bias);
    if (!(value >= least && value <= most))
      return !saturate ? nan() : value > most ? largest() : 0;
    int exponent = std::ilogb(value);
    double fraction = std::scalbn(value, -exponent); // 1 to 2
    bool isUp = rounding == Rounding::Nearest
                    ? fraction >= 1.5
                    : rounding == Rounding::Up && fraction > 1;
    return static_cast<uint16_t>(exponent + bias + isUp);
  }
  int code = 0;
  if (std::isinf(magnitude)) {
    code = largest() + 1;
  } else if (magnitude > 0) {
    int exponent = std::max(std::ilogb(magnitude), 1 - bias);
    // In units of the last place; a carry into the next binade comes out right
    // because the exponent lies above the mantissa.
    code = static_cast<int>(std::nearbyint(
               std::scalbn(magnitude, mantissaBits - exponent))) +
           (exponent + bias - 1) * (1 << mantissaBits);
  }
  if (code > largest()) {
    if (!saturate && special != Special::None)
      return nanHasSign() ? overflow() | sign : overflow();
    code = largest();
  }
  if (code == 0 && special == Special::NegativeZero)
    return 0;
  return static_cast<uint16_t>(code | sign);
}

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_SMALLFLOAT_H
