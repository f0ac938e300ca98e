// SPDX-License-Identifier: Apache-2.0
#include "app/arrays/named_values.h"

#include "app/config/nested.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

std::vector<NestedField> fields_of(const std::string& line) {
  if (line.empty()) return {};
  const Nested all = parse_nested(line);
  check(all.kind == Nested::Kind::section, "should be {NAME: VALUE, ..}, is '", line, "'");
  return all.fields;
}

}  // namespace

std::map<std::string, std::string> texts_of(const std::string& line) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : fields_of(line))
    texts[name] = value.name("the value of " + name);
  return texts;
}

std::map<std::string, double> numbers_of(const std::string& line) {
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : fields_of(line))
    numbers[name] = value.number("the value of " + name);
  return numbers;
}

std::map<std::string, std::vector<std::string>> columns_of(const std::string& line) {
  std::map<std::string, std::vector<std::string>> columns;
  for (const auto& [name, value] : fields_of(line)) {
    if (value.is_text()) columns[name].push_back(value.name("the value of " + name));
    for (const Nested& column : value.list)
      columns[name].push_back(column.name("the value of " + name));
    check(!columns[name].empty(), name, " has no columns");
  }
  return columns;
}

}  // namespace lockstep
