// SPDX-License-Identifier: Apache-2.0
// YAML as configurations use it: one document, plain tags, no control characters. Errors give the
// line and avoid the terms of YAML's specification.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

namespace lockstep {

// The source of a tree's values: a file has lines, a command line has none.
struct YamlPlace {
  std::string name;
  bool has_lines = true;

  std::string of_line(int line) const;  // counted from 1
  std::string of(const YAML::Node& node) const { return of_line(node.Mark().line + 1); }
};

// Parses the only document of `text`. Throws an Error with file and line.
YAML::Node parse_yaml(const std::string& text, const YamlPlace& place);

// The text of a value in the file; only the kind for nested values and aliases.
std::string shown(const YAML::Node& node);
bool is_quoted(const YAML::Node& node);
// The kind of a value in the file, in the words of kind_of().
std::string kind_of_value(const YAML::Node& node);

// Refuses tags that would run code or have no meaning here. `deepest` bounds the recursion: an
// alias may refer to its own parent.
void check_tags(const YAML::Node& node, const std::string& at, int deepest);

}  // namespace lockstep
