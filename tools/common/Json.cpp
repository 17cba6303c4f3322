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

  Value &add(Value value) {
    if (open.empty())
      return root = std::move(value);
    Value &parent = *open.back();
    if (parent.is_object())
      return parent[key] = std::move(value);
    parent.push_back(std::move(value));
    return parent.back();
  }
};

Json::Json() : tree_(std::make_unique<Tree>()) {}
Json::~Json() = default;

Json &Json::beginObject() {
  tree_->open.push_back(&tree_->add(Value::object()));
  return *this;
}

Json &Json::beginArray() {
  tree_->open.push_back(&tree_->add(Value::array()));
  return *this;
}

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

Json &Json::value(const std::string &text) {
  tree_->add(text);
  return *this;
}

/// Nine digits are more than anything here is known to.
Json &Json::value(double number) {
  char text[40];
  snprintf(text, sizeof text, "%.9g", number);
  double rounded = strtod(text, nullptr);
  constexpr double largest = 1e15;
  if (rounded == std::trunc(rounded) && std::abs(rounded) <= largest)
    tree_->add(static_cast<int64_t>(rounded));
  else
    tree_->add(rounded);
  return *this;
}

Json &Json::value(uint64_t number) {
  tree_->add(number);
  return *this;
}

Json &Json::value(int64_t number) {
  tree_->add(number);
  return *this;
}

Json &Json::value(bool truth) {
  tree_->add(truth);
  return *this;
}

std::string Json::text() const {
  assert(tree_->open.empty() && "all is closed");
  return tree_->root.dump(2, ' ', false, Value::error_handler_t::replace) +
         "\n";
}

} // namespace nnv12::tools
