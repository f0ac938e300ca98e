// SPDX-License-Identifier: Apache-2.0
#include "app/config/read.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>

#include "app/config/literal.h"
#include "app/config/named_fields.h"
#include "app/config/nested_yaml.h"
#include "app/config/unknown_key.h"
#include "app/config/yaml.h"
#include "graph/printable.h"

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

// A value being read, with the key's name for errors.
struct Reading {
  const ConfigKey& key;
  YAML::Node node;
  std::string at;
  std::string said;  // the value as written by the user

  Phrase named() const { return phrase(ErrorPlace{at}, ": ", Key{key.key}); }
  template <class T>
  T as() const {
    try {
      const T value = node.as<T>();
      if constexpr (std::is_same_v<T, float>)
        check(value != 0 || node.as<double>() == 0, phrase(named(), " is '", said, "'"),
              ", closer to 0 than a number of 32 bits can be");
      return value;
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {
      if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) refuse_size<T>();
      refuse_kind();
    }
  }
  // Refuses a number that T cannot hold.
  template <class T>
  void refuse_size() const {
    double number = 0;
    if (!node.IsScalar() || !YAML::convert<double>::decode(node, number)) return;
    if (std::is_integral_v<T> && number != std::floor(number)) return;
    check(std::abs(number) < static_cast<double>(std::numeric_limits<T>::max()),
          phrase(named(), " is '", said, "'"), ", should be ",
          number < 0 ? "at least " : "at most ",
          number < 0 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max());
  }
  std::string text() const {
    if (key.facts.nested && (node.IsSequence() || node.IsMap())) return nested_text();
    if (key.facts.unused && !node.IsScalar() && !node.IsNull()) return said;
    if (node.IsScalar() && !is_quoted(node) && node.Scalar() == "None") return "";
    if (!node.IsScalar() && !node.IsNull()) refuse_kind();
    return node.IsNull() ? "" : node.Scalar();
  }
  std::string nested_text() const {
    std::string line;
    prefixing(named(), [&] { line = text_of(nested_of(node)); });
    return line;
  }
  template <class T>
  T within_range(T value) const {
    each_number(value, [&](double number) {
      const Phrase is = phrase(named(), " is '", said, "'");
      check(std::isfinite(number), is, ", should be finite");
      check(number >= key.facts.least, is, ", should be at least ", key.facts.least);
      check(number <= most_of(key), is, ", should be at most ", text_of_number(most_of(key)));
    });
    return value;
  }
  [[noreturn]] void refuse_kind() const {
    fail(named(), " should be ", kind_of(key), ", is '", said, "', ", kind_of_value(node));
  }

  void into(std::string* target) const { *target = text(); }
  void into(bool* target) const { *target = as<bool>(); }
  void into(const ParsedText& target) const {
    prefixing(named(), [&] { target.read(text()); });
  }
  // Narrows only after the range check.
  void into(int* target) const { *target = static_cast<int>(within_range(as<int64_t>())); }
  void into(std::vector<int>* target) const {
    const auto list = within_range(as<std::vector<int64_t>>());
    target->assign(list.begin(), list.end());
  }
  void into(std::vector<PatternFactor>* target) const {
    if (!node.IsMap()) refuse_kind();
    std::vector<PatternFactor> factors;
    for (const auto& entry : node) {
      const Reading one{key, entry.second, at, shown(entry.second)};
      if (!entry.first.IsScalar() || !entry.second.IsScalar()) refuse_kind();
      factors.push_back({entry.first.Scalar(), one.within_range(one.as<float>())});
    }
    *target = std::move(factors);
  }
  [[noreturn]] void into(NamedSections*) const { refuse_kind(); }  // its fields are read one by one
  template <class T>
  void into(T* target) const {
    *target = within_range(as<T>());
  }
};

bool is_list(const ConfigKey& key) { return kind_of(key).starts_with("a list"); }

// Converts a Python list literal, which YAML reads as one string, to a list.
YAML::Node list_of_literal(const Reading& reading) {
  YAML::Node list(YAML::NodeType::Sequence);
  const bool of_strings = std::holds_alternative<std::vector<std::string>*>(reading.key.target);
  prefixing(phrase(reading.named(), " is '", reading.said, "'"), [&] {
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

bool maps_patterns(const ConfigKey& key) {
  return std::holds_alternative<std::vector<PatternFactor>*>(key.target);
}

// True for a key whose value is a section.
bool takes_section(const ConfigKey& key) { return maps_patterns(key) || key.facts.nested; }

class TreeReader {
 public:
  TreeReader(ConfigKeys& keys, YamlPlace place, Origins* origins)
      : keys_(keys), place_(std::move(place)), origins_(origins) {}

  void read(const YAML::Node& tree, const std::string& prefix) {
    for (const auto& entry : tree) {
      const std::string at = place_.of(entry.first);
      check(entry.first.IsScalar(), at, ": a key should be a string, is '", shown(entry.first),
            "'");
      const std::string name = prefix + entry.first.Scalar();
      const int line = entry.first.Mark().line + 1;
      const auto [first, is_new] = lines_.emplace(name, line);
      check(is_new, at, ": ", name, " is already set in line ", first->second);
      check_tags(entry.first, at, 0);
      check_tags(entry.second, at, 0);
      if (name == "_BASE_") continue;  // config_files() has read the bases
      if (!ignore_former(origins_, name, at)) take(name, entry.second, at);
    }
  }

 private:
  void take(const std::string& name, const YAML::Node& node, const std::string& at) {
    constexpr std::ptrdiff_t kDeepest = 4;  // an alias may refer to its own parent
    if (const auto field = find_field(keys_, name)) {
      assign({field->key, node, at, shown(node)});
      note({name, field->section}, at);
    } else if (const ConfigKey* whole = find_key(keys_, name); whole && takes_section(*whole)) {
      assign({*whole, node, at, shown(node)});
      note({name}, at);
    } else if (node.IsMap()) {
      if (node.size() == 0) refuse_field(keys_, name, at);
      check(std::count(name.begin(), name.end(), '.') < kDeepest, at, ": unknown key ", name);
      read(node, name + ".");
    } else {
      const auto key = std::find_if(keys_.begin(), keys_.end(),
                                    [&](const ConfigKey& other) { return other.key == name; });
      if (key == keys_.end()) refuse_key(keys_, name, at);
      assign({*key, node, at, shown(node)});
      note({name}, at);
    }
  }
  void note(const std::vector<std::string>& names, const std::string& at) {
    for (const std::string& name : names)
      if (origins_) origins_->places[name] = at;
  }

  ConfigKeys& keys_;
  YamlPlace place_;
  Origins* origins_;
  std::map<std::string, int> lines_;  // of each key and section
};

bool takes_text(const ConfigKey& key) {
  return std::holds_alternative<std::string*>(key.target) ||
         std::holds_alternative<ParsedText>(key.target);
}

// Parses a word as YAML, except for a text: a path may contain YAML's special characters.
YAML::Node node_of_word(const ConfigKey& key, const std::string& word, const std::string& text) {
  if (!takes_text(key))
    return parse_yaml(text, {join("command line: ", word, " is '", printable(text), "'"), false});
  refuse_control(text, "command line: " + word);
  return YAML::Node(text);
}

}  // namespace

ConfigKey* find_key(ConfigKeys& keys, const std::string& word) {
  for (ConfigKey& key : keys)
    if (key.key == word || (!word.empty() && key.facts.flag == word)) return &key;
  return nullptr;
}

void read_yaml(ConfigKeys& keys, const std::string& text, const std::string& path,
               Origins* origins) {
  const YAML::Node tree = parse_yaml(text, {path});
  check(tree.IsMap() || tree.IsNull(), path, ":1: should be a mapping from keys to values");
  check(tree.size() > 0, path,
        ":1: sets no key, so nothing says what to train; `lockstep keys` lists the keys, and "
        "configs/lenet_digits.yaml is an example");
  check_tags(tree, join(path, ":1"), 0);
  TreeReader(keys, {path}, origins).read(tree, "");
}

void read_words(ConfigKeys& keys, const std::vector<std::string>& words, Origins* origins) {
  check(words.size() % 2 == 0, "overrides come in pairs KEY VALUE; '",
        words.empty() ? "" : words.back(), "' has no value");
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const std::string &word = words[i], &value = words[i + 1];
    refuse_control(word, "command line");
    if (ignore_former(origins, word, "command line")) continue;
    if (const auto field = find_field(keys, word)) {
      refuse_control(value, "command line: " + word);
      assign({field->key, YAML::Node(value), "command line", value});
      if (origins) origins->places[word] = origins->places[field->section] = "command line";
      continue;
    }
    if (!find_key(keys, word)) refuse_word(keys, word);
    const ConfigKey& key = *find_key(keys, word);
    const bool is_flag = word == key.facts.flag;
    const std::string text =
        is_flag && is_list(key) && !value.starts_with('[') ? "[" + value + "]" : value;
    const YAML::Node node = node_of_word(key, word, text);
    if (std::holds_alternative<NamedSections*>(key.target) && node.IsMap())
      TreeReader(keys, {"command line", false}, origins).read(node, key.key + ".");
    else
      assign({key, node, is_flag ? word : "command line", printable(value)});
    if (origins) origins->places[key.key] = is_flag ? join("command line, ", word) : "command line";
  }
}

}  // namespace lockstep
