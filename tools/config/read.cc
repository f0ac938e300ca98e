#include "tools/config/read.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "graph/nearest.h"
#include "tools/config/literal.h"

namespace lockstep {
namespace {

// Applies a check to a number, or to each number of a list.
template <class T, class Ask>
void each_number(const T& value, const Ask& ask) {
  if constexpr (std::is_arithmetic_v<T>)
    ask(static_cast<double>(value));
  else
    for (const auto& item : value)
      if constexpr (requires { item + 1.0; }) ask(static_cast<double>(item));
}

// The text in the file; for nested values and aliases, only the kind.
std::string shown(const YAML::Node& node) {
  constexpr std::size_t kMost = 20;
  if (node.IsScalar()) return node.Scalar();
  if (node.IsNull()) return "~";
  if (node.IsMap()) return "{..}";
  std::string text = "[";
  for (std::size_t i = 0; i < node.size() && i < kMost; ++i) {
    const YAML::Node item = node[i];
    text += (i > 0 ? ", " : "") + (item.IsScalar() ? item.Scalar() : "..");
  }
  return text + (node.size() > kMost ? ", ..]" : "]");
}

bool is_quoted(const YAML::Node& node) { return node.Tag() == "!"; }

// The kind of a value in the file, in the words of kind_of().
std::string kind_of_value(const YAML::Node& node) {
  if (node.IsNull()) return "nothing";
  if (node.IsMap()) return "a section";
  if (node.IsSequence()) {
    std::vector<std::string> kinds;
    for (std::size_t i = 0; i < node.size() && i < 20; ++i) {
      const std::string kind = node[i].IsSequence() ? "a list" : kind_of_value(node[i]);
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
    }
    std::string text = "a list";
    for (const std::string& kind : kinds) text += (text == "a list" ? " of " : " and ") + kind;
    return text;
  }
  int64_t whole = 0;
  double number = 0;
  bool truth = false;
  if (is_quoted(node)) return "a string";
  if (node.Scalar() == "None") return "nothing";
  if (YAML::convert<int64_t>::decode(node, whole)) return "an integer";
  if (YAML::convert<double>::decode(node, number)) return "a number";
  return YAML::convert<bool>::decode(node, truth) ? "true or false" : "a string";
}

// Tags of YAML itself, and those that Detectron's own files have.
bool is_known_tag(const std::string& tag) {
  constexpr const char* kUsual = "tag:yaml.org,2002:";
  if (tag.empty() || tag == "?" || tag == "!") return true;
  if (tag.rfind(kUsual, 0) != 0) return false;
  const std::string name = tag.substr(std::char_traits<char>::length(kUsual));
  for (const char* known :
       {"str", "int", "float", "bool", "null", "seq", "map", "python/tuple", "python/list",
        "python/str", "python/unicode", "python/bool", "python/int", "python/float", "python/none"})
    if (name == known) return true;
  return false;
}

// `deepest`: an alias may refer to its own parent.
void check_tags(const YAML::Node& node, const std::string& at, int deepest) {
  const std::string& tag = node.Tag();
  check(is_known_tag(tag), at, ": the tag ", tag,
        tag.find("python/") == tag.npos ? " is not known" : " would run code",
        "; write the plain value");
  if (!node.IsSequence() || deepest == 0) return;
  for (std::size_t i = 0; i < node.size(); ++i) check_tags(node[i], at, deepest - 1);
}

// A value being read, with the key's name for errors.
struct Reading {
  const ConfigKey& key;
  YAML::Node node;
  std::string at;
  std::string said;  // the value as written by the user

  template <class T>
  T as() const {
    try {
      return node.as<T>();
    } catch (const std::exception&) {
      refuse_kind();
    }
  }
  std::string text() const {
    if (key.facts.unused && !node.IsScalar() && !node.IsNull()) return said;
    if (node.IsScalar() && !is_quoted(node) && node.Scalar() == "None") return "";
    if (!node.IsScalar() && !node.IsNull()) refuse_kind();
    return node.IsNull() ? "" : node.Scalar();
  }
  template <class T>
  T within_range(T value) const {
    each_number(value, [&](double number) {
      const auto is = join(at, ": ", key.key, " is '", said, "'");
      check(std::isfinite(number), is, ", should be finite");
      check(number >= key.facts.least, is, ", should be at least ", key.facts.least);
      check(number <= most_of(key), is, ", should be at most ", text_of_number(most_of(key)));
    });
    return value;
  }
  [[noreturn]] void refuse_kind() const {
    fail(at, ": ", key.key, " should be ", kind_of(key), ", is '", said, "', ",
         kind_of_value(node));
  }

  void into(std::string* target) const { *target = text(); }
  void into(bool* target) const { *target = as<bool>(); }
  void into(const ParsedText& target) const {
    naming(join(at, ": ", key.key), [&] { target.read(text()); });
  }
  // Narrowed only after the range check.
  void into(int* target) const { *target = static_cast<int>(within_range(as<int64_t>())); }
  void into(std::vector<int>* target) const {
    const auto list = within_range(as<std::vector<int64_t>>());
    target->assign(list.begin(), list.end());
  }
  template <class T>
  void into(T* target) const {
    *target = within_range(as<T>());
  }
};

bool is_list(const ConfigKey& key) { return kind_of(key).rfind("a list", 0) == 0; }

// A list that stands as a Python literal in a text, which is all that YAML sees in it.
YAML::Node list_of_literal(const Reading& reading) {
  YAML::Node list(YAML::NodeType::Sequence);
  const bool of_strings = std::holds_alternative<std::vector<std::string>*>(reading.key.target);
  naming(join(reading.at, ": ", reading.key.key, " is '", reading.said, "'"), [&] {
    for (const LiteralItem& item : parse_list_literal(reading.node.Scalar())) {
      check(item.is_quoted == of_strings, "should be ", kind_of(reading.key), "; ", item.text,
            item.is_quoted ? " is a string" : " has no quotes");
      list.push_back(item.text);
    }
  });
  return list;
}

void assign(Reading reading) {
  check_tags(reading.node, reading.at, 3);
  if (is_list(reading.key) && reading.node.IsScalar() && is_list_literal(reading.node.Scalar()))
    reading.node = list_of_literal(reading);
  std::visit([&](const auto& target) { reading.into(target); }, reading.key.target);
}

// For an unknown word: the key that ends with it, or the nearest one.
std::string suggestion(const ConfigKeys& keys, const std::string& word) {
  std::vector<std::string> names;
  for (const ConfigKey& key : keys) {
    if (key.key == section_of(key.key) + "." + word) return key.key;
    names.push_back(key.key);
  }
  return nearest(word, names);
}

[[noreturn]] void refuse_key(const ConfigKeys& keys, const std::string& word,
                             const std::string& at) {
  const bool is_section = std::any_of(keys.begin(), keys.end(), [&](const ConfigKey& key) {
    return key.key.starts_with(word + ".");
  });
  check(!is_section, at, ": ", word, " is a section without keys; indent its keys below it, as in ",
        suggestion(keys, word), ", or remove it");
  const std::string near = suggestion(keys, word);
  fail(at, ": unknown key ", word, near.empty() ? "" : "; did you mean " + near + "?");
}

// Throws for a key's former name; true for one that is of no use any more.
bool is_former(const Origins* origins, const std::string& name, const std::string& at) {
  if (!origins) return false;
  for (const FormerKey& former : origins->former) {
    if (former.name != name) continue;
    check(former.now.empty(), at, ": ", name, " is called ", former.now, " now", former.how);
    return true;
  }
  return false;
}

void ignore_former(Origins& origins, const std::string& name, const std::string& at) {
  origins.notes.push_back(join(at, ": ", name, " is of no use any more and is ignored"));
}

// The line of each key and section of a file.
using Lines = std::map<std::string, int>;

void assign_tree(ConfigKeys& keys, const YAML::Node& tree, const std::string& prefix,
                 const std::string& path, Lines& lines, Origins* origins) {
  constexpr std::ptrdiff_t kDeepest = 4;  // an alias may refer to its own parent
  for (const auto& entry : tree) {
    const int line = entry.first.Mark().line + 1;
    const std::string at = join(path, ":", line);
    check(entry.first.IsScalar(), at, ": a key should be a string, is '", shown(entry.first), "'");
    const std::string name = prefix + entry.first.Scalar();
    const auto [first, is_new] = lines.emplace(name, line);
    check(is_new, at, ": ", name, " is already set in line ", first->second);
    check_tags(entry.first, at, 0);
    check_tags(entry.second, at, 0);
    if (name == "_BASE_") continue;  // config_files() has followed it
    if (is_former(origins, name, at)) {
      ignore_former(*origins, name, at);
      continue;
    }
    if (!entry.second.IsMap()) {
      const auto key = std::find_if(keys.begin(), keys.end(),
                                    [&](const ConfigKey& other) { return other.key == name; });
      if (key == keys.end()) refuse_key(keys, name, at);
      assign({*key, entry.second, at, shown(entry.second)});
      if (origins) origins->places[name] = at;
      continue;
    }
    check(std::count(name.begin(), name.end(), '.') < kDeepest, at, ": unknown key ", name);
    assign_tree(keys, entry.second, name + ".", path, lines, origins);
  }
}

YAML::Node parse(const std::string& text, const std::string& path) {
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    fail(path, ":", error.mark.line + 1, ": ", error.msg);
  }
}

bool is_text(const ConfigKey& key) {
  return std::holds_alternative<std::string*>(key.target) ||
         std::holds_alternative<ParsedText>(key.target);
}
}  // namespace

ConfigKey* find_key(ConfigKeys& keys, const std::string& word) {
  for (ConfigKey& key : keys)
    if (key.key == word || (!word.empty() && key.facts.flag == word)) return &key;
  return nullptr;
}

void read_yaml(ConfigKeys& keys, const std::string& text, const std::string& path,
               Origins* origins) {
  const YAML::Node tree = parse(text, path);
  check(tree.IsMap() || tree.IsNull(), path, ":1: should be a mapping from keys to values");
  Lines lines;
  check_tags(tree, join(path, ":1"), 0);
  assign_tree(keys, tree, "", path, lines, origins);
}

void read_words(ConfigKeys& keys, const std::vector<std::string>& words, Origins* origins) {
  check(words.size() % 2 == 0, "overrides come in pairs KEY VALUE; '",
        words.empty() ? "" : words.back(), "' has no value");
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string &word = words[i], &value = words[i + 1];
    if (is_former(origins, word, "command line")) {
      ignore_former(*origins, word, "command line");
      continue;
    }
    const ConfigKey* found = find_key(keys, word);
    if (!found) refuse_key(keys, word, "command line");
    const ConfigKey& key = *found;
    const bool is_flag = word == key.facts.flag;
    const std::string text =
        is_flag && is_list(key) && value.rfind('[', 0) != 0 ? "[" + value + "]" : value;
    // A text is the literal word: a path may contain YAML's special characters.
    assign({key, is_text(key) ? YAML::Node(text) : parse(text, word),
            is_flag ? word : "command line", value});
    if (origins) origins->places[key.key] = is_flag ? join("command line, ", word) : "command line";
  }
}

std::optional<PlacedText> value_in_yaml(const std::string& key, const std::string& text,
                                        const std::string& path) {
  const YAML::Node tree = parse(text, path);
  const std::string section = section_of(key);
  const auto value_in = [&](const YAML::Node& node,
                            const std::string& name) -> std::optional<PlacedText> {
    if (!node.IsMap()) return std::nullopt;
    for (const auto& entry : node)
      if (entry.first.IsScalar() && entry.first.Scalar() == name && entry.second.IsScalar())
        return PlacedText{entry.second.Scalar(), join(path, ":", entry.first.Mark().line + 1)};
    return std::nullopt;
  };
  auto found = value_in(tree, key);
  if (found || section.empty() || !tree.IsMap()) return found;
  for (const auto& entry : tree)
    if (!found && entry.first.IsScalar() && entry.first.Scalar() == section)
      found = value_in(entry.second, key.substr(section.size() + 1));
  return found;
}

}  // namespace lockstep
