// SPDX-License-Identifier: Apache-2.0
#include "app/config/key.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "lockstep/error.h"

namespace lockstep {
namespace {

// The shortest text that reads back as an equal number.
template <class T>
std::string shortest(T value) {
  char text[64];
  const double size = std::abs(static_cast<double>(value));
  const bool usual = size == 0 || (size >= 1e-5 && size < 1e7);
  return {text, std::to_chars(text, text + sizeof text, value,
                              usual ? std::chars_format::fixed : std::chars_format::scientific)
                    .ptr};
}

bool plain(const std::string& text) {
  constexpr const char* kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./*:#+-";
  const bool starts = !text.empty() && (std::isalpha(static_cast<unsigned char>(text[0])) != 0 ||
                                        text[0] == '/' || text[0] == '.' || text[0] == '_');
  const bool is_nothing = text == "None";  // Python's None, which Detectron's files may have
  return starts && !is_nothing && text.find_first_not_of(kLetters) == text.npos &&
         text.back() != ':';
}

std::string quoted(const std::string& text) {
  if (plain(text)) return text;
  std::string safe = "\"";
  for (char letter : text) {
    if (letter == '"' || letter == '\\') safe += '\\';
    safe += letter == '\n' ? std::string("\\n") : std::string(1, letter);
  }
  return safe + "\"";
}

std::string item(const std::string& value) { return quoted(value); }
std::string item(const ParsedText& value) { return quoted(value.text()); }
std::string item(bool value) { return value ? "true" : "false"; }
std::string item(int value) { return std::to_string(value); }
std::string item(int64_t value) { return std::to_string(value); }
std::string item(float value) { return shortest(value); }
std::string item(double value) { return shortest(value); }

template <class T>
std::string item(const std::vector<T>& list) {
  std::string text = "[";
  for (const T& value : list) text += (text.size() > 1 ? ", " : "") + item(value);
  return text + "]";
}
template <class T>
std::string item(const T* value) {
  return item(*value);
}

// Prints each section's fields in the order of all_fields().
std::string item(const NamedSections* value) {
  std::string text;
  for (const auto& [name, section] : value->sections) {
    std::string inner;
    for (const std::string& field : value->all_fields())
      if (const auto found = section.find(field); found != section.end())
        inner += (inner.empty() ? "" : ", ") + field + ": " + quoted(found->second);
    text += (text.empty() ? "" : ", ") + quoted(name) + ": {" + inner + "}";
  }
  return "{" + text + "}";
}

std::string item(const std::vector<PatternFactor>* factors) {
  std::string text;
  for (const PatternFactor& one : *factors)
    text += (text.empty() ? "" : ", ") + quoted(one.pattern) + ": " + item(one.factor);
  return "{" + text + "}";
}

}  // namespace

ConfigKeys joined(std::vector<ConfigKeys> tables) {
  ConfigKeys keys;
  for (ConfigKeys& table : tables) std::move(table.begin(), table.end(), std::back_inserter(keys));
  std::vector<std::string> sections;
  for (const ConfigKey& key : keys) sections.push_back(section_of(key.key));
  const auto place = [&](const ConfigKey& key) {
    return std::find(sections.begin(), sections.end(), section_of(key.key)) - sections.begin();
  };
  std::stable_sort(keys.begin(), keys.end(),
                   [&](const ConfigKey& a, const ConfigKey& b) { return place(a) < place(b); });
  return keys;
}

std::string section_of(const std::string& key) {
  const auto dot = key.find('.');
  return dot == key.npos ? "" : key.substr(0, dot);
}

std::string kind_of(const ConfigKey& key) {
  constexpr const char* kNames[] = {"a string",
                                    "a string",
                                    "an integer",
                                    "an integer",
                                    "a number",
                                    "a number",
                                    "true or false",
                                    "a list of integers",
                                    "a list of integers",
                                    "a list of numbers",
                                    "a list of strings",
                                    "a section",
                                    "a mapping of patterns to numbers"};
  static_assert(std::size(kNames) == std::variant_size_v<KeyTarget>);
  if (const auto* named = std::get_if<NamedSections*>(&key.target))
    return "a section of names, each with " + (*named)->fields_text();
  if (key.facts.nested) return "a name, a list or a section";
  return kNames[key.target.index()];
}

double most_of(const ConfigKey& key) {
  const bool is_int = std::holds_alternative<int*>(key.target) ||
                      std::holds_alternative<std::vector<int>*>(key.target);
  return std::min<double>(key.facts.most, is_int ? std::numeric_limits<int>::max()
                                                 : std::numeric_limits<double>::infinity());
}

std::string text_of_number(double number) {
  const bool is_whole = std::abs(number) < 0x1p53 && number == std::floor(number);
  return is_whole ? join(static_cast<int64_t>(number)) : join(number);
}

std::vector<std::string> words_of(const ConfigKey& key) {
  if (std::holds_alternative<bool*>(key.target)) return {"true", "false"};
  const auto* parsed = std::get_if<ParsedText>(&key.target);
  std::vector<std::string> words =
      parsed && !parsed->words.empty() ? parsed->words : key.facts.words;
  if (kind_of(key).starts_with("a list"))
    for (std::string& word : words) word = "[" + word + "]";
  return words;
}

std::string range_of(const ConfigKey& key) {
  const KeyFacts& facts = key.facts;
  if (facts.least == -std::numeric_limits<double>::infinity()) return "";
  if (facts.most == std::numeric_limits<double>::infinity())
    return join(", at least ", facts.least);
  return join(", from ", facts.least, " to ", text_of_number(facts.most));
}

std::string text_of(const ConfigKey& key) {
  if (const auto* text = std::get_if<std::string*>(&key.target)) return **text;
  if (const auto* text = std::get_if<ParsedText>(&key.target)) return text->text();
  return yaml_of(key);
}

std::string yaml_of(const ConfigKey& key) {
  return std::visit([](const auto& value) { return item(value); }, key.target);
}

std::vector<std::pair<std::string, std::string>> entries_of(const ConfigKeys& keys) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (const ConfigKey& key : keys) entries.emplace_back(key.key, text_of(key));
  return entries;
}

std::string yaml_of(const ConfigKeys& keys) {
  std::string text, section;
  for (const ConfigKey& key : keys) {
    const std::string in = section_of(key.key);
    if (in != section) text += in + ":\n";
    section = in;
    text += (in.empty() ? "" : "  ") + key.key.substr(in.empty() ? 0 : in.size() + 1) + ": " +
            yaml_of(key) + "\n";
  }
  return text;
}

}  // namespace lockstep
