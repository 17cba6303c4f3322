//===- Escape.h - Names as they can be shown --------------------*- C++ -*-===//
//
// A name in a model or a bundle may come from anybody. Shown as it is it could
// move a terminal's cursor, or look like a line of its own. So the importer
// escapes names, readers refuse bundles whose names hold control characters,
// and what is shown of other text goes through here.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_ARTIFACT_ESCAPE_H
#define NNV12_ARTIFACT_ESCAPE_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace nnv12::artifact {

/// How many bytes the control character takes that UTF-8 text of `size` bytes
/// begins with; 0: it begins with none.
inline size_t controlSize(const char *text, size_t size) {
  auto byte = static_cast<uint8_t>(text[0]);
  if (byte < 0x20 || byte == 0x7f)
    return 1;
  // U+0080 to U+009F, which terminals may obey as well.
  return byte == 0xc2 && size > 1 && (text[1] & 0xe0) == 0x80 ? 2 : 0;
}

/// Whether four bytes are ASCII without control characters: nearly all are.
inline bool arePlain(const char *text) {
  uint32_t bytes, each = 0x01010101;
  memcpy(&bytes, text, sizeof bytes);
  uint32_t high = each << 7, notDelete = (bytes ^ each * 0x7f) - each;
  return !((bytes | (bytes - each * 0x20) | notDelete) & high);
}

/// The text with control characters as \n, \t or \xNN, a byte each.
inline std::string escaped(const std::string &text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t control = controlSize(&text[i], text.size() - i);
    if (!control)
      result += text[i++];
    for (; control; --control) {
      char code[8];
      snprintf(code, sizeof code, "\\x%02x", static_cast<uint8_t>(text[i]));
      result += text[i] == '\n' ? "\\n" : text[i] == '\t' ? "\\t" : code;
      ++i;
    }
  }
  return result;
}

} // namespace nnv12::artifact

#endif // NNV12_ARTIFACT_ESCAPE_H
