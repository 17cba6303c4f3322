//===- JsonFields.h - Fields of a device profile ----------------*- C++ -*-===//
//
// They are read or written: one list of fields serves both.
//
//===----------------------------------------------------------------------===//
#ifndef NNV12_COMPILER_DEVICE_JSONFIELDS_H
#define NNV12_COMPILER_DEVICE_JSONFIELDS_H

#include "artifact/Escape.h"

#include <nlohmann/json.hpp>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

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

/// Reads the fields of one object, where the first fault stays, or writes them.
class Fields {
public:
  Fields(const Json &object, std::string prefix, std::string &error)
      : object(&object), prefix(std::move(prefix)), error(&error) {
    assert(object.is_object() && "nothing else has fields");
  }
  /// Writes.
  explicit Fields(Json &object) : written(&object) {}

  /// The object that is written; null where one is read.
  Json *target() { return written; }
  /// Writes a field, if that is wanted, and says whether it is.
  template <typename Value> bool write(const char *name, const Value &value) {
    if (written)
      (*written)[name] = value;
    return written;
  }
  const Json *find(const char *name, bool required) {
    if (!error->empty())
      return nullptr;
    auto found = object->find(name);
    if (found == object->end()) {
      if (required)
        *error = prefix + name + ": is missing";
      return nullptr;
    }
    return &*found;
  }
  /// The same, but a value that is not as `expected` is a fault.
  template <typename Predicate>
  const Json *find(const char *name, bool required, const char *expected,
                   Predicate isExpected) {
    const Json *value = find(name, required);
    if (!value || std::invoke(isExpected, *value))
      return value;
    fail(name, *value, expected);
    return nullptr;
  }
  void fail(const char *name, const Json &found, const char *expected) {
    if (error->empty())
      *error = prefix + name + ": found " + describe(found) + ", expected " +
               expected;
  }
  void text(const char *name, std::string &value) {
    if (write(name, value))
      return;
    if (const Json *found = find(name, true, "a string", &Json::is_string))
      value = artifact::escaped(*found->get_ptr<const Json::string_t *>());
  }
  void optionalText(const char *name, std::string &value) {
    if (written ? !value.empty() : object->contains(name))
      text(name, value);
  }
  void boolean(const char *name, bool &value, bool required = true) {
    if (write(name, value))
      return;
    if (const Json *found =
            find(name, required, "true or false", &Json::is_boolean))
      value = found->get<bool>();
  }
  /// The range of a field's numbers. No range reaches beyond all numbers that
  /// make sense, so products stay finite.
  struct Range {
    const char *name;
    double least, most;
  };
  static constexpr double largest = 1e15;
  /// Times are Positive. Their divisors are Rates: a smaller one is a mistake,
  /// and would give times that are not finite.
  static constexpr Range Positive = {"a number above 0",
                                     std::numeric_limits<double>::denorm_min(),
                                     largest},
                         Rate = {"a number, at least 1e-6", 1e-6, largest},
                         NotNegative = {"a number, at least 0", 0, largest},
                         AtLeastOne = {"a number, at least 1", 1, largest},
                         PartOfOne = {"a number from 0 to 1", 0, 1};
  static bool holds(const Json &value, Range range) {
    return value.is_number() && value.get<double>() >= range.least &&
           value.get<double>() <= range.most;
  }
  void number(const char *name, double &value, Range range,
              bool required = true) {
    if (write(name, value))
      return;
    auto isExpected = [&](const Json &found) { return holds(found, range); };
    if (const Json *found = find(name, required, range.name, isExpected))
      value = found->get<double>();
  }
  /// Written with as many digits as a float has.
  void number(const char *name, float &value, Range range,
              bool required = true) {
    char text[32];
    snprintf(text, sizeof text, "%.6g", double(value));
    double number = written ? strtod(text, nullptr) : value;
    this->number(name, number, range, required);
    value = written ? value : static_cast<float>(number);
  }
  void count(const char *name, unsigned &value, unsigned least,
             bool required = true) {
    if (write(name, value))
      return;
    if (const Json *found = find(name, required)) {
      if (!found->is_number_integer() || found->get<double>() < least ||
          found->get<double>() > 1024)
        return fail(name, *found,
                    least ? "a whole number from 1 to 1024"
                          : "a whole number from 0 to 1024");
      value = found->get<unsigned>();
    }
  }
  /// A field that is written only where `isSaid`.
  template <typename Number>
  void optional(bool isSaid, const char *name, Number &value, Range range) {
    if (isSaid || !written)
      number(name, value, range, /*required=*/false);
  }
  /// A number that is as the other one where it is not said.
  template <typename Number>
  void numberOr(const char *name, Number &value, Number other, Range range,
                bool isSaid = true) {
    if (!written)
      value = other;
    optional(isSaid, name, value, range);
  }
  /// Written only where `isSaid`.
  void names(bool isSaid, const char *name, std::vector<std::string> &values,
             const char *expected) {
    if (written && (!isSaid || write(name, values)))
      return;
    const Json *found = find(name, false, expected, &Json::is_array);
    if (!found)
      return;
    for (const Json &one : *found) {
      if (!one.is_string())
        return fail(name, one, expected);
      values.push_back(*one.get_ptr<const Json::string_t *>());
    }
  }
  /// An object with fields of its own.
  template <typename Visit> void in(const char *name, Visit visit) {
    if (written) {
      Fields fields((*written)[name]);
      visit(fields);
    } else if (const Json *value = section(name)) {
      Fields fields(*value, prefix + name + ".", *error);
      visit(fields);
    }
  }
  /// An object of objects of one kind.
  template <typename Value, typename Visit>
  void entries(const char *name, std::map<std::string, Value> &to,
               bool required, Visit visit) {
    if (write(name, Json::object())) {
      for (auto &[key, value] : to) {
        Fields fields((*written)[name][key]);
        visit(fields, value);
      }
      return;
    }
    const Json *all = section(name, required);
    if (!all)
      return;
    for (const auto &[key, object] : all->items()) {
      std::string place = prefix + name + "." + key;
      if (!object.is_object()) {
        *error = place + ": found " + describe(object) + ", expected an object";
        return;
      }
      Value value;
      Fields fields(object, place + ".", *error);
      visit(fields, value);
      if (!error->empty())
        return;
      to[key] = std::move(value);
    }
  }
  /// An object, by name; null if there is none.
  const Json *section(const char *name, bool required = true) {
    return find(name, required, "an object", &Json::is_object);
  }

private:
  const Json *object = nullptr;
  Json *written = nullptr;
  std::string prefix;
  std::string *error = nullptr;
};

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_JSONFIELDS_H
