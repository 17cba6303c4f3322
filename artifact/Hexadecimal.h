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

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_HEXADECIMAL_H
