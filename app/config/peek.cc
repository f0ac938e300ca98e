// SPDX-License-Identifier: Apache-2.0
#include "app/config/peek.h"

#include "app/config/key.h"
#include "app/config/yaml.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

PlacedText base_named(const YAML::Node& node, const std::string& at) {
  const bool is_text = node.IsScalar() && !node.Scalar().empty();
  check(is_text && (is_quoted(node) || kind_of_value(node) != "nothing"), at,
        ": _BASE_ should be a file or a list of files, is '", shown(node), "', ",
        kind_of_value(node));
  return {node.Scalar(), at};
}

struct PlacedNode {
  YAML::Node node;
  std::string at;
};

// The key's value if `takes` it.
template <class Takes>
std::optional<PlacedNode> node_in_yaml(const std::string& key, const std::string& text,
                                       const std::string& path, const Takes& takes) {
  const YamlPlace place{path};
  const YAML::Node tree = parse_yaml(text, place);
  const std::string section = section_of(key);
  const auto value_in = [&](const YAML::Node& node,
                            const std::string& name) -> std::optional<PlacedNode> {
    if (!node.IsMap()) return std::nullopt;
    for (const auto& entry : node)
      if (entry.first.IsScalar() && entry.first.Scalar() == name && takes(entry.second))
        return PlacedNode{entry.second, place.of(entry.first)};
    return std::nullopt;
  };
  auto found = value_in(tree, key);
  if (found || section.empty() || !tree.IsMap()) return found;
  for (const auto& entry : tree)
    if (!found && entry.first.IsScalar() && entry.first.Scalar() == section)
      found = value_in(entry.second, key.substr(section.size() + 1));
  return found;
}

}  // namespace

std::optional<PlacedText> value_in_yaml(const std::string& key, const std::string& text,
                                        const std::string& path) {
  const auto found =
      node_in_yaml(key, text, path, [](const YAML::Node& node) { return node.IsScalar(); });
  if (!found) return std::nullopt;
  return PlacedText{found->node.Scalar(), found->at};
}

std::optional<PlacedText> list_in_yaml(const std::string& key, const std::string& text,
                                       const std::string& path) {
  const auto found =
      node_in_yaml(key, text, path, [](const YAML::Node& node) { return node.IsSequence(); });
  if (!found) return std::nullopt;
  std::string list;
  for (const auto& item : found->node) list += (list.empty() ? "" : ", ") + shown(item);
  return PlacedText{"[" + list + "]", found->at};
}

std::vector<PlacedText> bases_in_yaml(const std::string& text, const std::string& path) {
  const YamlPlace place{path};
  const YAML::Node tree = parse_yaml(text, place);
  std::vector<PlacedText> bases;
  if (!tree.IsMap()) return bases;
  for (const auto& entry : tree) {
    if (!entry.first.IsScalar() || entry.first.Scalar() != "_BASE_") continue;
    const YAML::Node& value = entry.second;
    const std::string at = place.of(entry.first);
    if (!value.IsSequence()) {
      bases.push_back(base_named(value, at));
      continue;
    }
    check(value.size() > 0, at, ": _BASE_ is an empty list; name a file, or remove the key");
    for (const auto& item : value) bases.push_back(base_named(item, place.of(item)));
  }
  return bases;
}

}  // namespace lockstep
