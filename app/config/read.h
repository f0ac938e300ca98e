// SPDX-License-Identifier: Apache-2.0
// Reads keys' values from a CONFIG.yaml and from a command line. Throws for an unknown key, naming
// the nearest one, and for a value of the wrong kind or out of range, naming the key.
#pragma once

#include <string>
#include <vector>

#include "app/config/files.h"
#include "app/config/key.h"
#include "app/config/origin.h"
#include "graph/error.h"

namespace lockstep {

// Errors begin with path:line. Values may be Python's literals, too: (800,), True, None. With
// `origins`, notes where each value came from, and knows former names.
void read_yaml(ConfigKeys& keys, const std::string& text, const std::string& path,
               Origins* origins = nullptr);

// KEY VALUE KEY VALUE ..; a flag may replace its key: --wire float16. A flag's list may omit its
// brackets.
void read_words(ConfigKeys& keys, const std::vector<std::string>& words,
                Origins* origins = nullptr);

// The key that a word of a command line names, itself or by its flag; or null.
ConfigKey* find_key(ConfigKeys& keys, const std::string& word);

// Runs `act`; prefixes its errors with a text, or with a part that is their subject.
template <class Part, class Act>
void prefixing(const Part& beginning, const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    fail(beginning, ": ", error);
  }
}

// Runs `act`; prefixes its errors with the key.
template <class Act>
void naming(const std::string& key, const Act& act) {
  prefixing(Key{key}, act);
}

// Runs `act`, whose errors are about keys; prefixes them with the place of the first key that
// somebody set, or with `path`.
template <class Act>
void placing(const Origins& origins, const std::string& path, const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    fail(ErrorPlace{origins.place_of(error.subject().keys, path)}, ": ", error);
  }
}

}  // namespace lockstep
