//===- Json.cpp - Writes JSON ---------------------------------------------===//
#include "tools/common/Json.h"

#include <nlohmann/json.hpp>

#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace nnv12::tools {

using Value = nlohmann::ordered_json;

struct Json::Tree {
  Value root;
  /// Objects and arrays that are not closed, outermost first. Members of one
  /// move when it grows, but only the innermost grows.
  std::vector<Value *> open;
  std::string key;
};

Json::Json() : tree_(std::make_unique<Tree>()) {}
Json::~Json() = default;

/// Adds a value to the innermost that is open. Objects and arrays are open from
/// then on.
template <typename Added> Json &Json::add(Added value) {
  Value *place = &tree_->root;
  if (!tree_->open.empty()) {
    Value &parent = *tree_->open.back();
    place = parent.is_object() ? &parent[tree_->key] : &parent.emplace_back();
  }
  *place = std::move(value);
  if (place->is_structured())
    tree_->open.push_back(place);
  return *this;
}

Json &Json::beginObject() { return add(Value::object()); }
Json &Json::beginArray() { return add(Value::array()); }
Json &Json::value(const std::string &text) { return add(text); }
Json &Json::value(uint64_t number) { return add(number); }
Json &Json::value(int64_t number) { return add(number); }
Json &Json::value(bool truth) { return add(truth); }

Json &Json::close() {
  assert(!tree_->open.empty() && "only an open value can be closed");
  tree_->open.pop_back();
  return *this;
}

Json &Json::key(const char *name) {
  assert(!tree_->open.empty() && tree_->open.back()->is_object());
  tree_->key = name;
  return *this;
}

/// Nine digits are more than anything here is known to.
Json &Json::value(double number) {
  char text[40];
  snprintf(text, sizeof text, "%.9g", number);
  double rounded = strtod(text, nullptr);
  constexpr double largest = 1e15;
  if (rounded == std::trunc(rounded) && std::abs(rounded) <= largest)
    return add(static_cast<int64_t>(rounded));
  return add(rounded);
}

std::string Json::text() const {
  assert(tree_->open.empty() && "all is closed");
  return tree_->root.dump(2, ' ', false, Value::error_handler_t::replace) +
         "\n";
}

std::string Json::line() const {
  assert(tree_->open.empty() && "all is closed");
  return tree_->root.dump(-1, ' ', false, Value::error_handler_t::replace);
}

} // namespace nnv12::tools
