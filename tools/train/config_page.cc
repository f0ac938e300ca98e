#include <charconv>
#include <cmath>
#include <sstream>

#include "graph/error.h"
#include "tools/train/config_keys.h"

namespace lockstep {
namespace {

// The shortest text that reads back as the same number.
std::string number(int64_t value) { return std::to_string(value); }
template <class T>
std::string number(T value) {
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
  return starts && text.find_first_not_of(kLetters) == text.npos && text.back() != ':';
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
std::string item(bool value) { return value ? "true" : "false"; }
std::string item(int64_t value) { return number(value); }
std::string item(float value) { return number(value); }
std::string item(double value) { return number(value); }

template <class T>
std::string item(const std::vector<T>& list) {
  std::string text = "[";
  for (const T& value : list) text += (text.size() > 1 ? ", " : "") + item(value);
  return text + "]";
}

std::string range_of(const ConfigKey& key) {
  if (key.least == -std::numeric_limits<double>::infinity()) return "";
  if (key.most == std::numeric_limits<double>::infinity()) return join("at least ", key.least);
  return join("from ", key.least, " to ", text_of_most(key));
}

// A | would end a table's cell.
std::string cell(const std::string& text) {
  std::string safe;
  for (char letter : text) safe += letter == '|' ? std::string("\\|") : std::string(1, letter);
  return safe;
}

std::string default_of(const ConfigKey& key) {
  return key.key == "OUTPUT_DIR" ? "runs/NAME" : yaml_of(key);
}

}  // namespace

std::string text_of_most(const ConfigKey& key) {
  const bool is_whole = key.most < 0x1p53;
  return is_whole ? join(static_cast<int64_t>(key.most)) : join(key.most);
}

std::string kind_of(const ConfigKey& key) {
  constexpr const char* kNames[] = {
      "a text",        "a whole number",          "a number",          "a number",
      "true or false", "a list of whole numbers", "a list of numbers", "a list of texts"};
  return kNames[key.target.index()];
}

std::string yaml_of(const ConfigKey& key) {
  return std::visit([](const auto* value) { return item(*value); }, key.target);
}

std::string markdown_of_keys() {
  TrainConfig config;
  std::ostringstream out;
  out << "# Keys of a configuration\n\n"
         "What `lockstep train CONFIG.yaml` reads, and what `KEY VALUE` pairs on the command line "
         "replace. Keys are Detectron's where\nit has one; where the name differs, the last "
         "column gives it. `lockstep keys` prints this list, `lockstep keys CLIP` a part of it;\n"
         "`lockstep keys --markdown` writes this page. Every run leaves its configuration as "
         "`config.yaml`.\n";
  std::string section = "?";
  for (const ConfigKey& key : keys_of(config)) {
    const auto dot = key.key.find('.');
    const std::string in = dot == key.key.npos ? "" : key.key.substr(0, dot);
    if (in != section) {
      out << "\n## " << (in.empty() ? "The run" : in)
          << "\n\n| key | type | default | meaning | Detectron's |\n|---|---|---|---|---|\n";
      section = in;
    }
    const std::string range = range_of(key);
    out << "| `" << key.key << "` | " << kind_of(key) << (range.empty() ? "" : ", " + range)
        << " | `" << default_of(key) << "` | " << cell(key.meaning) << " | "
        << (key.detectron.empty() ? "" : "`" + key.detectron + "`") << " |\n";
  }
  return out.str();
}

std::string text_of_keys(const std::string& part) {
  TrainConfig config;
  std::ostringstream out;
  for (const ConfigKey& key : keys_of(config)) {
    if (key.key.find(part) == key.key.npos) continue;
    const std::string range = range_of(key);
    out << key.key << ": " << default_of(key) << "\n    " << key.meaning << " (" << kind_of(key)
        << (range.empty() ? "" : ", " + range)
        << (key.detectron.empty() ? "" : "; Detectron's " + key.detectron) << ")\n";
  }
  check(!out.str().empty(), "no key has '", part, "' in its name; `lockstep keys` lists all");
  return out.str();
}

}  // namespace lockstep
