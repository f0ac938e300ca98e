// SPDX-License-Identifier: Apache-2.0
#include "app/config/page.h"

#include <cctype>
#include <sstream>

#include "lockstep/error.h"

namespace lockstep {
namespace {

// Escapes |, which would end a table's cell.
std::string cell(const std::string& text) {
  std::string safe;
  for (char letter : text) safe += letter == '|' ? std::string("\\|") : std::string(1, letter);
  return safe;
}

std::string default_of(const ConfigKey& key) {
  return key.key == "OUTPUT_DIR" && text_of(key).empty() ? "runs/NAME" : yaml_of(key);
}

std::string in_small_letters(std::string text) {
  for (char& letter : text)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

}  // namespace

std::string markdown_of(const ConfigKeys& keys, const std::string& intro) {
  std::ostringstream out;
  out << intro;
  std::string section = "?";
  for (const ConfigKey& key : keys) {
    const std::string in = section_of(key.key);
    if (in != section) {
      out << "\n## " << (in.empty() ? "The run" : in)
          << "\n\n| key | type | default | meaning | Detectron's |\n|---|---|---|---|---|\n";
      section = in;
    }
    const KeyFacts& facts = key.facts;
    out << "| `" << key.key << "` | " << kind_of(key) << range_of(key) << " | `" << default_of(key)
        << "` | " << cell(key.meaning) << (facts.flag.empty() ? "" : "; `" + facts.flag + "`")
        << " | "
        << (facts.detectron.empty()      ? ""
            : facts.detectron == key.key ? "the same"
                                         : "`" + facts.detectron + "`")
        << " |\n";
  }
  return out.str();
}

std::string listing_of(const ConfigKeys& keys, const std::string& part) {
  std::ostringstream out;
  const std::string wanted = in_small_letters(part);
  for (const ConfigKey& key : keys) {
    if (in_small_letters(key.key).find(wanted) == std::string::npos) continue;
    const KeyFacts& facts = key.facts;
    out << key.key << ": " << default_of(key) << "\n    " << key.meaning << " (" << kind_of(key)
        << range_of(key) << (facts.flag.empty() ? "" : "; " + facts.flag)
        << (facts.detectron.empty() ? "" : "; Detectron's " + facts.detectron) << ")\n";
  }
  check(!out.str().empty(), "no key has '", part, "' in its name; `lockstep keys` lists all");
  return out.str();
}

}  // namespace lockstep
