// SPDX-License-Identifier: Apache-2.0
#include "app/config/yaml.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/printable.h"
#include "lockstep/error.h"

namespace lockstep {
namespace {

// Returns a line of the text, counted from 0.
std::string line_of(const std::string& text, int number) {
  std::istringstream lines(text);
  std::string line;
  for (int i = 0; i <= number && std::getline(lines, line);) ++i;
  return lines ? line : "";
}

// Checks every scalar once, including keys, and the beginning of every document.
class TextCheck final : public YAML::EventHandler {
 public:
  TextCheck(const std::string& text, const YamlPlace& place) : text_(text), place_(place) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    const bool is_marked = line_of(text_, mark.line).starts_with("---");
    fail(place_.of_line(mark.line + 1),
         is_marked
             ? ": a second document begins here (---); a configuration is one document, and "
               "what follows would be ignored: remove the line, or write another file"
             : ": this line belongs to nothing above; a configuration consists of KEY: VALUE");
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string& text) override {
    refuse_control(text, place_.of_line(mark.line + 1));
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  const std::string& text_;
  const YamlPlace& place_;
  int documents_ = 0;
};

// The library's error messages, by their beginning, in words for users.
constexpr std::pair<std::string_view, const char*> kComplaints[] = {
    {"end of map not found",
     "this line is neither KEY: VALUE nor a part of the value above, or is indented differently"},
    {"illegal map value",
     "no value can begin at this ':'; is a key above it indented "
     "differently, or does a value with ': ' need quotes?"},
    {"illegal map key", "no key can begin here"},
    {"end of map flow not found", "a { has no }"},
    {"end of sequence flow not found", "a [ has no ]"},
    {"illegal flow end", "a ] or } closes nothing"},
    {"end of sequence not found", "this line should begin with '- ', as the lines above it do"},
    {"illegal block entry", "no list can begin at this '- '"},
    {"illegal EOF in scalar", "a quotation mark is never closed"},
    {"illegal document indicator in scalar", "a quotation mark is not closed before the ---"},
    {"illegal character in scalar", "a text has a forbidden character"},
    {"unknown token", "no value begins with this character; put the text in quotes"},
    {"unknown escape character",
     "a \\ in double quotes begins an unknown escape; use single "
     "quotes, or \\\\ for a backslash"},
    {"bad character found while scanning hex number", "\\x, \\u and \\U need hexadecimal digits"},
    {"invalid unicode", "an escape in double quotes names no character"},
    {"the referenced anchor is not defined",
     "an alias (*NAME) has no anchor (&NAME) before it; "
     "put a text with * in quotes"},
    {"alias not found after *", "a * begins an alias; put a text with * in quotes"},
    {"anchor not found after &", "an & begins an anchor; put a text with & in quotes"},
    {"illegal character found while scanning alias",
     "a * begins an alias; put a text with * in quotes"},
    {"illegal character found while scanning anchor",
     "an & begins an anchor; put a text with & in quotes"},
    {"illegal tab", "a tab indents this line; YAML indents with spaces"},
    {"cannot assign multiple tags", "a value has two tags"},
    {"cannot assign multiple anchors", "a value has two anchors"},
    {"cannot assign multiple aliases", "a value is two aliases"},
    {"aliases can't have any content", "a value follows an alias (*NAME)"},
    {"unexpected character in block scalar", "a | or > should end its line"},
    {"cannot set zero indentation", "a text after | or > should be indented"},
};

std::string in_our_words(const std::string& complaint) {
  for (const auto& [beginning, words] : kComplaints)
    if (complaint.starts_with(beginning)) return words;
  return "this is not YAML";
}

bool is_indented_by_tab(const std::string& line) {
  const std::size_t end = line.find_first_not_of(" \t");
  return end != line.npos && line.substr(0, end).find('\t') != line.npos;
}

// True for YAML's own tags and the tags of Detectron's files.
bool is_known_tag(const std::string& tag) {
  constexpr const char* kUsual = "tag:yaml.org,2002:";
  if (tag.empty() || tag == "?" || tag == "!") return true;
  if (!tag.starts_with(kUsual)) return false;
  const std::string name = tag.substr(std::char_traits<char>::length(kUsual));
  for (const char* known :
       {"str", "int", "float", "bool", "null", "seq", "map", "python/tuple", "python/list",
        "python/str", "python/unicode", "python/bool", "python/int", "python/float", "python/none"})
    if (name == known) return true;
  return false;
}

}  // namespace

std::string YamlPlace::of_line(int line) const { return has_lines ? join(name, ":", line) : name; }

YAML::Node parse_yaml(const std::string& text, const YamlPlace& place) {
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    TextCheck checker(text, place);
    while (parser.HandleNextDocument(checker)) {
    }
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    // After a line that ends with a value, YAML reports a tab one line too late.
    for (const int line : {error.mark.line, error.mark.line - 1})
      if (line >= 0 && is_indented_by_tab(line_of(text, line)))
        fail(place.of_line(line + 1), ": a tab indents this line; YAML indents with spaces");
    const bool is_deep = dynamic_cast<const YAML::DeepRecursion*>(&error) != nullptr;
    fail(place.of_line(std::max(error.mark.line, 0) + 1), ": ",
         is_deep ? "lists and sections are nested too deeply" : in_our_words(error.msg));
  }
}

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

void check_tags(const YAML::Node& node, const std::string& at, int deepest) {
  const std::string& tag = node.Tag();
  check(is_known_tag(tag), at, ": the tag ", tag,
        tag.find("python/") == tag.npos ? " is not known" : " would run code",
        "; write the plain value");
  if (!node.IsSequence() || deepest == 0) return;
  for (std::size_t i = 0; i < node.size(); ++i) check_tags(node[i], at, deepest - 1);
}

}  // namespace lockstep
