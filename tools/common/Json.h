//===- Json.h - Writes JSON -------------------------------------*- C++ -*-===//
#ifndef NNV12_TOOLS_COMMON_JSON_H
#define NNV12_TOOLS_COMMON_JSON_H

#include <cstdint>
#include <memory>
#include <string>

namespace nnv12::tools {

/// Builds a JSON text, indented, one member a line. The caller closes all that
/// it opens. Hides nlohmann::ordered_json behind calls in the text's order.
class Json {
public:
  Json();
  ~Json();

  Json &beginObject();
  Json &endObject() { return close(); }
  Json &beginArray();
  Json &endArray() { return close(); }
  /// Sets the key of the next value, in an object.
  Json &key(const char *name);

  /// Names of a model are foreign: bytes that are no UTF-8 become U+FFFD.
  Json &value(const std::string &text);
  Json &value(const char *text) { return value(std::string(text)); }
  /// Numbers that are not finite become null.
  Json &value(double number);
  Json &value(uint64_t number);
  Json &value(int64_t number);
  Json &value(uint32_t number) { return value(uint64_t(number)); }
  Json &value(bool truth);

  template <typename T> Json &member(const char *name, const T &v) {
    return key(name).value(v);
  }
  /// The values of a list.
  template <typename List> Json &array(const char *name, const List &list) {
    key(name).beginArray();
    for (const auto &element : list)
      value(element);
    return endArray();
  }
  /// An object for each element of a list, whose members `add(element)` adds.
  template <typename List, typename Add>
  Json &objects(const char *name, const List &list, Add add) {
    key(name).beginArray();
    for (const auto &element : list) {
      beginObject();
      add(element);
      endObject();
    }
    return endArray();
  }

  /// With a line end.
  std::string text() const;
  /// All of it in one line, without an end of it.
  std::string line() const;

private:
  struct Tree;
  template <typename Added> Json &add(Added value);
  Json &close();

  std::unique_ptr<Tree> tree_;
};

} // namespace nnv12::tools

#endif // NNV12_TOOLS_COMMON_JSON_H
