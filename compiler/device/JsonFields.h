//===- JsonFields.h - Fields of a device profile ----------------*- C++ -*-===//
//
// Fields reads them and FieldWriter writes them, by functions of the same
// names: one list of fields serves both.
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
    if (error.empty())
      error = prefix + name + ": found " + describe(found) + ", expected " +
              expected;
  }
  void text(const char *name, std::string &to) {
    if (const Json *value = find(name, true, "a string", &Json::is_string))
      to = artifact::escaped(*value->get_ptr<const Json::string_t *>());
  }
  void optionalText(const char *name, std::string &to) {
    if (object.contains(name))
      text(name, to);
  }
  void boolean(const char *name, bool &to, bool required = true) {
    if (const Json *value =
            find(name, required, "true or false", &Json::is_boolean))
      to = value->get<bool>();
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
  void number(const char *name, double &to, Range range, bool required = true) {
    auto isExpected = [&](const Json &value) { return holds(value, range); };
    if (const Json *value = find(name, required, range.name, isExpected))
      to = value->get<double>();
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
  void number(const char *name, float &to, Range range, bool required = true) {
    double value = to;
    number(name, value, range, required);
    to = static_cast<float>(value);
  }
  /// A field that is written only where `isSaid`.
  template <typename Number>
  void optional(bool /*isSaid*/, const char *name, Number &to, Range range) {
    number(name, to, range, /*required=*/false);
  }
  template <typename Value> void preset(Value &to, const Value &value) {
    to = value;
  }
  void names(bool /*isSaid*/, const char *name, std::vector<std::string> &to,
             const char *expected) {
    const Json *value = find(name, false, expected, &Json::is_array);
    if (!value)
      return;
    for (const Json &one : *value) {
      if (!one.is_string())
        return fail(name, one, expected);
      to.push_back(*one.get_ptr<const Json::string_t *>());
    }
  }
  /// An object with fields of its own.
  template <typename Visit> void in(const char *name, Visit visit) {
    if (const Json *value = section(name)) {
      Fields fields(*value, prefix + name + ".", error);
      visit(fields);
    }
  }
  /// An object of objects of one kind.
  template <typename Value, typename Visit>
  void entries(const char *name, std::map<std::string, Value> &to,
               bool required, Visit visit) {
    const Json *all = section(name, required);
    for (auto it = all ? all->begin() : Json::const_iterator();
         all && it != all->end(); ++it) {
      std::string place = prefix + name + "." + it.key();
      if (!it->is_object())
        error = place + ": found " + describe(*it) + ", expected an object";
      else {
        Value value;
        Fields fields(*it, place + ".", error);
        visit(fields, value);
        to[it.key()] = std::move(value);
      }
      if (!error.empty())
        return;
    }
  }
  /// An object, by name; null if there is none.
  const Json *section(const char *name, bool required = true) {
    return find(name, required, "an object", &Json::is_object);
  }

private:
  const Json &object;
  std::string prefix;
  std::string &error;
};

/// Writes fields of one object.
class FieldWriter {
public:
  explicit FieldWriter(Json &object) : object(object) {}

  Json &operator[](const std::string &name) { return object[name]; }
  void text(const char *name, const std::string &from) { object[name] = from; }
  void optionalText(const char *name, const std::string &from) {
    if (!from.empty())
      object[name] = from;
  }
  void boolean(const char *name, bool from, bool = true) {
    object[name] = from;
  }
  void number(const char *name, double from, Fields::Range, bool = true) {
    object[name] = from;
  }
  /// As many digits as a float has.
  void number(const char *name, float from, Fields::Range, bool = true) {
    char text[32];
    snprintf(text, sizeof text, "%.6g", double(from));
    object[name] = strtod(text, nullptr);
  }
  template <typename Number>
  void optional(bool isSaid, const char *name, Number from,
                Fields::Range range) {
    if (isSaid)
      number(name, from, range);
  }
  template <typename Value> void preset(Value &, const Value &) {}
  void count(const char *name, unsigned from, unsigned, bool = true) {
    object[name] = from;
  }
  void names(bool isSaid, const char *name,
             const std::vector<std::string> &from, const char *) {
    if (isSaid)
      object[name] = from;
  }
  template <typename Visit> void in(const char *name, Visit visit) {
    FieldWriter fields(object[name]);
    visit(fields);
  }
  template <typename Value, typename Visit>
  void entries(const char *name, std::map<std::string, Value> &from, bool,
               Visit visit) {
    Json &all = object[name] = Json::object();
    for (auto &[key, value] : from) {
      FieldWriter fields(all[key]);
      visit(fields, value);
    }
  }

private:
  Json &object;
};

} // namespace nnv12::device

#endif // NNV12_COMPILER_DEVICE_JSONFIELDS_H
