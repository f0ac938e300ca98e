// SPDX-License-Identifier: Apache-2.0
// A key's value with structure: lists and sections inside each other, as in
// LOSS: {mse: {of: out, to: target, weight: 0.5}}. The configuration stores one line of YAML.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

struct NestedField;

struct Nested {
  enum class Kind { text, list, section };

  Kind kind = Kind::text;
  std::string text;                 // of a text
  std::vector<Nested> list;         // of a list
  std::vector<NestedField> fields;  // of a section, in the written order

  bool is_text() const { return kind == Kind::text; }
  // The text as a number. Throws for anything else; `what` names the value.
  double number(const std::string& what) const;
  int64_t integer(const std::string& what) const;
  // The text. Throws for a list, a section and an empty text.
  const std::string& name(const std::string& what) const;
};

struct NestedField {
  std::string name;
  Nested value;
};

// Reads one line of YAML. Throws for text that is not YAML.
Nested parse_nested(const std::string& line);
// One line of YAML that parses to an equal value.
std::string text_of(const Nested& value);

}  // namespace lockstep
