//===- JsonFields.h - Reads fields of a device profile ----------*- C++ -*-===//
#ifndef NNV12_COMPILER_DEVICE_JSONFIELDS_H
#define NNV12_COMPILER_DEVICE_JSONFIELDS_H

#include "artifact/Escape.h"

#include <nlohmann/json.hpp>

#include <cassert>
#include <cmath>
#include <string>

namespace nnv12::device {

using Json = nlohmann::ordered_json;

/// A value in a message.
inline std::string describe(const Json &value) {
  if (value.is_string() || value.is_number() || value.is_boolean() ||
      value.is_null()) {
    std::string text =
        value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return text.size() > 60 ? text.substr(0, 57) + "..." : text;
  }
  return value.is_array() ? "an array" : "an object";
}

/// Reads fields of one object; the first fault stays.
class Fields {
public:
  Fields(const Json &object, std::string prefix, std::string &error)
      : object(object), prefix(std::move(prefix)), error(error) {
    assert(object.is_object() && "nothing else has fields");
  }

  const Json *find(const char *name, bool required) {
    if (!error.empty())
      return nullptr;
    auto found = object.find(name);
    if (found == object.end()) {
      if (required)
        error = prefix + name + ": is missing";
      return nullptr;
    }
    return &*found;
  }
  void fail(const char *name, const Json &found, const char *expected) {
    if (error.empty())
      error = prefix + name + ": found " + describe(found) + ", expected " +
              expected;
  }
  void text(const char *name, std::string &to) {
    if (const Json *value = find(name, true)) {
      if (!value->is_string())
        return fail(name, *value, "a string");
      to = artifact::escaped(*value->get_ptr<const Json::string_t *>());
    }
  }
  void optionalText(const char *name, std::string &to) {
    if (object.contains(name))
      text(name, to);
  }
  void boolean(const char *name, bool &to, bool required = true) {
    if (const Json *value = find(name, required)) {
      if (!value->is_boolean())
        return fail(name, *value, "true or false");
      to = value->get<bool>();
    }
  }
  /// Times are Positive. What they are divided by is a Rate: a smaller one is a
  /// mistake, and would give times that are not finite.
  enum Range { Positive, Rate, NotNegative, AtLeastOne, PartOfOne };
  static const char *name(Range range) {
    switch (range) {
    case Positive:
      return "a number above 0";
    case Rate:
      return "a number, at least 1e-6";
    case NotNegative:
      return "a number, at least 0";
    case AtLeastOne:
      return "a number, at least 1";
    case PartOfOne:
      return "a number from 0 to 1";
    }
    return "";
  }
  static bool holds(const Json &value, Range range) {
    if (!value.is_number())
      return false;
    double x = value.get<double>();
    // Larger ones are a mistake, and their products would not be finite.
    if (!std::isfinite(x) || std::abs(x) > 1e15)
      return false;
    switch (range) {
    case Positive:
      return x > 0;
    case Rate:
      return x >= 1e-6;
    case NotNegative:
      return x >= 0;
    case AtLeastOne:
      return x >= 1;
    case PartOfOne:
      return x >= 0 && x <= 1;
    }
    return false;
  }
  void number(const char *name, double &to, Range range, bool required = true) {
    if (const Json *value = find(name, required)) {
      if (!holds(*value, range))
        return fail(name, *value, Fields::name(range));
      to = value->get<double>();
    }
  }
  void count(const char *name, unsigned &to, unsigned least,
             bool required = true) {
    if (const Json *value = find(name, required)) {
      if (!value->is_number_integer() || value->get<double>() < least ||
          value->get<double>() > 1024)
        return fail(name, *value,
                    least ? "a whole number from 1 to 1024"
                          : "a whole number from 0 to 1024");
      to = value->get<unsigned>();
    }
  }
  /// An object, by name; null if there is none.
  const Json *section(const char *name, bool required = true) {
    const Json *value = find(name, required);
    if (value && !value->is_object()) {
      fail(name, *value, "an object");
      return nullptr;
    }
    return value;
  }

private:
  const Json &object;
  std::string prefix;
  std::string &error;
};

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_JSONFIELDS_H
