// SPDX-License-Identifier: Apache-2.0
#include "app/config/unknown_key.h"

#include <algorithm>
#include <cctype>

#include "app/config/named_fields.h"
#include "graph/nearest.h"

namespace lockstep {
namespace {

std::string in_capitals(std::string text) {
  for (char& letter : text)
    letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return text;
}

// Suggests the key that ends with an unknown word, or the nearest key.
std::string suggestion(const ConfigKeys& keys, const std::string& word) {
  std::vector<std::string> names;
  const std::string capitals = in_capitals(word);
  for (const ConfigKey& key : keys) {
    if (key.key == section_of(key.key) + "." + capitals) return key.key;
    names.push_back(key.key);
  }
  return nearest(word, names);
}

}  // namespace

void refuse_key(const ConfigKeys& keys, const std::string& word, const std::string& at) {
  refuse_field(keys, word, at);
  const bool is_section = std::any_of(keys.begin(), keys.end(), [&](const ConfigKey& key) {
    return key.key.starts_with(word + ".");
  });
  check(!is_section, at, ": ", word, " is a section without keys; indent its keys below it, as in ",
        suggestion(keys, word), ", or remove it");
  const std::string near = suggestion(keys, word);
  fail_as<UnknownKey>(ErrorPlace{at}, ": unknown key ", Key{word},
                      near.empty() ? "" : "; did you mean " + near + "?");
}

// Commands accept the flags of all tasks: flags of the step, which every task has, and of
// detectors.
void refuse_word(const ConfigKeys& keys, const std::string& word) {
  check(!word.starts_with("--"), word, " is only for a detector's CONFIG.yaml");
  refuse_key(keys, word, "command line");
}

bool ignore_former(Origins* origins, const std::string& name, const std::string& at) {
  if (!origins) return false;
  for (const FormerKey& former : origins->former) {
    if (former.name != name) continue;
    check(former.now.empty(), at, ": ", name, " is called ", former.now, " now", former.how);
    origins->notes.push_back(join(at, ": ", name, " is obsolete and ignored"));
    return true;
  }
  return false;
}

}  // namespace lockstep
