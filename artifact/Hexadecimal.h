//===- Hexadecimal.h - Bytes as text ----------------------------*- C++ -*-===//
#ifndef NNV12_ARTIFACT_HEXADECIMAL_H
#define NNV12_ARTIFACT_HEXADECIMAL_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace nnv12::artifact {

/// Two lower-case digits a byte, the higher half first.
inline std::string hexadecimal(const uint8_t *bytes, size_t size) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

/// The value of one digit, or -1 for another character.
inline int hexadecimalDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return -1;
}

/// Reads two digits for each of `size` bytes. False where `text` holds
/// something else before that; text behind them is not looked at.
inline bool readHexadecimal(const char *text, uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    int high = hexadecimalDigit(text[2 * i]);
    int low = high < 0 ? -1 : hexadecimalDigit(text[2 * i + 1]);
    if (low < 0)
      return false;
    bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_HEXADECIMAL_H
