// From a CONFIG.yaml and the words of a command line to the values of keys. A key that is unknown,
// a value of the wrong kind or out of range throws naming the key, and the nearest one.
#pragma once

#include <string>
#include <vector>

#include "graph/error.h"
#include "tools/settings/key.h"

namespace lockstep {

// Errors begin with path:line.
void read_yaml(ConfigKeys& keys, const std::string& text, const std::string& path);

// KEY VALUE KEY VALUE ..; the key's flag may stand for the key: --wire float16. A flag's list may
// leave out its brackets.
void read_words(ConfigKeys& keys, const std::vector<std::string>& words);

// The one that a word of a command line names, by key or flag; or null.
ConfigKey* find_key(ConfigKeys& keys, const std::string& word);

// Runs `act`; what it throws begins with the key.
template <class Act>
void naming(const std::string& key, const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    fail(key, ": ", error.what());
  }
}

}  // namespace lockstep
