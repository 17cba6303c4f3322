//===- Json.cpp - Writes JSON ---------------------------------------------===//
#include "tools/common/Json.h"

#include "artifact/AtomicFile.h"
#include "tools/common/Report.h"

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
  value(name);
  out += ": ";
  afterKey = true;
  return *this;
}

Json &Json::value(const std::string &text) {
  std::string quoted = "\"";
  for (char c : text) {
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
  out += '\n';
  return out;
}

void writeText(const std::string &path, const std::string &text) {
  if (path == "-") {
    fwrite(text.data(), 1, text.size(), stdout);
    return;
  }
  artifact::AtomicFile file;
  artifact::Fault fault;
  if (!file.open(path.c_str(), fault) ||
      !file.write(text.data(), text.size(), fault) ||
      !file.commit(fault, artifact::AtomicFile::Durability::None))
    fail(path + ": " + fault.text);
}

} // namespace nnv12::tools
