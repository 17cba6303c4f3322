//===- Json.h - Writes JSON -------------------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_JSON_H
#define NNV12_TOOLS_COMMON_JSON_H

#include <cstdint>
#include <string>

namespace nnv12::tools {

/// Builds a JSON text, indented, one member a line. The caller closes what it
/// opens.
class Json {
public:
  Json &beginObject() { return open('{'); }
  Json &endObject() { return close('}'); }
  Json &beginArray() { return open('['); }
  Json &endArray() { return close(']'); }
  Json &key(const char *name);

  /// Names of a model are foreign: bytes that are no UTF-8 become U+FFFD.
  Json &value(const std::string &text);
  Json &value(const char *text) { return value(std::string(text)); }
  Json &value(double number);
  Json &value(uint64_t number) { return raw(std::to_string(number)); }
  Json &value(int64_t number) { return raw(std::to_string(number)); }
  Json &value(uint32_t number) { return raw(std::to_string(number)); }
  Json &value(bool truth) { return raw(truth ? "true" : "false"); }

  template <typename T> Json &member(const char *name, const T &v) {
    return key(name).value(v);
  }

  /// With a line end.
  const std::string &text();

private:
  Json &open(char bracket);
  Json &close(char bracket);
  Json &raw(const std::string &token);
  void separate();

  std::string out;
  unsigned depth = 0;
  bool first = true; ///< nothing in the innermost bracket yet
  bool afterKey = false;
};

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_JSON_H
