#include "tools/settings/read.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "graph/graph.h"

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
    fail(at, ": ", key.key, " should be ", kind_of(key), ", is '", said, "'");
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

void assign(const Reading& reading) {
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
  const std::string near = suggestion(keys, word);
  fail(at, ": unknown key ", word, near.empty() ? "" : "; did you mean " + near + "?");
}

// The line of each key and section of a file.
using Lines = std::map<std::string, int>;

void assign_tree(ConfigKeys& keys, const YAML::Node& tree, const std::string& prefix,
                 const std::string& path, Lines& lines) {
  constexpr std::ptrdiff_t kDeepest = 4;  // an alias may refer to its own parent
  for (const auto& entry : tree) {
    const int line = entry.first.Mark().line + 1;
    const std::string at = join(path, ":", line);
    check(entry.first.IsScalar(), at, ": a key should be a string, is '", shown(entry.first), "'");
    const std::string name = prefix + entry.first.Scalar();
    const auto [first, is_new] = lines.emplace(name, line);
    check(is_new, at, ": ", name, " is already set in line ", first->second);
    if (!entry.second.IsMap()) {
      const auto key = std::find_if(keys.begin(), keys.end(),
                                    [&](const ConfigKey& other) { return other.key == name; });
      if (key == keys.end()) refuse_key(keys, name, at);
      assign({*key, entry.second, at, shown(entry.second)});
      continue;
    }
    check(std::count(name.begin(), name.end(), '.') < kDeepest, at, ": unknown key ", name);
    assign_tree(keys, entry.second, name + ".", path, lines);
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
bool is_list(const ConfigKey& key) { return kind_of(key).rfind("a list", 0) == 0; }

}  // namespace

ConfigKey* find_key(ConfigKeys& keys, const std::string& word) {
  for (ConfigKey& key : keys)
    if (key.key == word || (!word.empty() && key.facts.flag == word)) return &key;
  return nullptr;
}

void read_yaml(ConfigKeys& keys, const std::string& text, const std::string& path) {
  const YAML::Node tree = parse(text, path);
  check(tree.IsMap() || tree.IsNull(), path, ":1: should be a mapping from keys to values");
  Lines lines;
  assign_tree(keys, tree, "", path, lines);
}

void read_words(ConfigKeys& keys, const std::vector<std::string>& words) {
  check(words.size() % 2 == 0, "overrides come in pairs KEY VALUE; '",
        words.empty() ? "" : words.back(), "' has no value");
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string &word = words[i], &value = words[i + 1];
    const ConfigKey* found = find_key(keys, word);
    if (!found) refuse_key(keys, word, "command line");
    const ConfigKey& key = *found;
    const bool is_flag = word == key.facts.flag;
    const std::string text =
        is_flag && is_list(key) && value.rfind('[', 0) != 0 ? "[" + value + "]" : value;
    // A text is the literal word: a path may contain YAML's special characters.
    assign({key, is_text(key) ? YAML::Node(text) : parse(text, word),
            is_flag ? word : "command line", value});
  }
}

}  // namespace lockstep
