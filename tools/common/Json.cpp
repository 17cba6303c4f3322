//===- Json.cpp - Writes JSON ---------------------------------------------===//
#include "tools/common/Json.h"

#include <cassert>
#include <cmath>
#include <cstdio>

namespace nnv12::tools {

void Json::separate() {
  if (afterKey) {
    afterKey = false;
    return;
  }
  if (depth == 0)
    return;
  out += first ? "\n" : ",\n";
  out.append(2 * depth, ' ');
  first = false;
}

Json &Json::open(char bracket) {
  separate();
  out += bracket;
  ++depth;
  first = true;
  return *this;
}

Json &Json::close(char bracket) {
  assert(depth > 0 && !afterKey && "it was opened, and each key has a value");
  --depth;
  if (!first) {
    out += '\n';
    out.append(2 * depth, ' ');
  }
  out += bracket;
  first = false;
  return *this;
}

Json &Json::raw(const std::string &token) {
  separate();
  out += token;
  return *this;
}

Json &Json::key(const char *name) {
  assert(depth > 0 && !afterKey && "members are of an object that is open");
  value(name);
  out += ": ";
  afterKey = true;
  return *this;
}

/// How many bytes the UTF-8 character at `place` has; 0 where there is none.
static size_t characterLength(const std::string &text, size_t place) {
  auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  unsigned first = byte(place);
  size_t length = first < 0x80   ? 1
                  : first < 0xc2 ? 0
                  : first < 0xe0 ? 2
                  : first < 0xf0 ? 3
                  : first < 0xf5 ? 4
                                 : 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(place + i) & 0xc0) != 0x80)
      return 0;
  // Forms that are too long, surrogates, and what lies beyond Unicode.
  unsigned second = byte(place + 1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
    return 0;
  return length;
}

Json &Json::value(const std::string &text) {
  std::string quoted = "\"";
  for (size_t i = 0; i < text.size();) {
    size_t length = characterLength(text, i);
    if (length != 1) {
      quoted += length ? text.substr(i, length) : "\\ufffd";
      i += length ? length : 1;
      continue;
    }
    char c = text[i++];
    char escape[8];
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      snprintf(escape, sizeof escape, "\\u%04x", c);
      quoted += escape;
    } else {
      quoted += c;
    }
  }
  return raw(quoted + '"');
}

Json &Json::value(double number) {
  // JSON knows no infinities.
  if (!std::isfinite(number))
    return raw("null");
  char text[40];
  snprintf(text, sizeof text, "%.9g", number);
  return raw(text);
}

const std::string &Json::text() {
  assert(depth == 0 && !afterKey && "the caller closes what it opens");
  out += '\n';
  return out;
}

} // namespace nnv12::tools
