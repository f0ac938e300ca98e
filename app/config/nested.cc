// SPDX-License-Identifier: Apache-2.0
#include "app/config/nested.h"

#include <cmath>
#include <cstdint>

#include "app/config/nested_yaml.h"
#include "app/config/yaml.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

constexpr int kDeepest = 8;  // an alias may refer to its own parent

std::string in_quotes(const std::string& text) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return text;
  std::string safe = "'";
  for (char letter : text) safe += letter == '\'' ? "''" : std::string(1, letter);
  return safe + "'";
}

Nested nested_in(const YAML::Node& node, int depth) {
  check(depth <= kDeepest, "lists and sections are nested too deeply");
  Nested value;
  if (node.IsSequence()) {
    value.kind = Nested::Kind::list;
    for (const auto& item : node) value.list.push_back(nested_in(item, depth + 1));
  } else if (node.IsMap()) {
    value.kind = Nested::Kind::section;
    for (const auto& entry : node) {
      check(entry.first.IsScalar(), "a name in a section should be a text, is '",
            shown(entry.first), "'");
      for (const auto& [name, unused] : value.fields)
        check(name != entry.first.Scalar(), "'", name, "' is set twice");
      value.fields.push_back({entry.first.Scalar(), nested_in(entry.second, depth + 1)});
    }
  } else if (node.IsScalar()) {
    value.text = node.Scalar();
  }
  return value;
}

}  // namespace

double Nested::number(const std::string& what) const {
  double value = 0;
  const bool is_number = is_text() && YAML::convert<double>::decode(YAML::Node(text), value);
  check(is_number && std::isfinite(value), what, " should be a number, is '", text_of(*this), "'");
  return value;
}

int64_t Nested::integer(const std::string& what) const {
  int64_t value = 0;
  const bool is_integer = is_text() && YAML::convert<int64_t>::decode(YAML::Node(text), value);
  check(is_integer, what, " should be an integer, is '", text_of(*this), "'");
  return value;
}

const std::string& Nested::name(const std::string& what) const {
  check(is_text() && !text.empty(), what, " should be a name, is '", text_of(*this), "'");
  return text;
}

Nested nested_of(const YAML::Node& node) { return nested_in(node, 0); }

Nested parse_nested(const std::string& line) {
  return nested_of(parse_yaml(line, {join("'", line, "'"), false}));
}

std::string text_of(const Nested& value) {
  if (value.is_text()) return in_quotes(value.text);
  std::string text;
  for (const Nested& item : value.list) text += (text.empty() ? "" : ", ") + text_of(item);
  for (const auto& [name, item] : value.fields)
    text += (text.empty() ? "" : ", ") + in_quotes(name) + ": " + text_of(item);
  return value.kind == Nested::Kind::list ? "[" + text + "]" : "{" + text + "}";
}

}  // namespace lockstep
