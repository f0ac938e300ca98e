// SPDX-License-Identifier: Apache-2.0
// Reads keys' values from a CONFIG.yaml and from a command line. Throws for an unknown key, and
// suggests the nearest key. Throws for a value of the wrong kind or out of range, and names the
// key.
#pragma once

#include <string>
#include <vector>

#include "app/config/files.h"
#include "app/config/key.h"
#include "app/config/origin.h"
#include "lockstep/error.h"

namespace lockstep {

// Errors begin with path:line. Values may also be Python's literals: (800,), True, None. With
// `origins`, records where each value came from and recognises former names.
void read_yaml(ConfigKeys& keys, const std::string& text, const std::string& path,
               Origins* origins = nullptr);

// KEY VALUE KEY VALUE ..; a flag may replace its key: --wire float16. A flag's list may omit its
// brackets.
void read_words(ConfigKeys& keys, const std::vector<std::string>& words,
                Origins* origins = nullptr);

// The key that a word of a command line names, by its name or its flag. Null if there is none.
ConfigKey* find_key(ConfigKeys& keys, const std::string& word);

// Runs `act` and prefixes its errors with `beginning`: a text, or a part that becomes the error's
// subject.
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

// Runs `act` and prefixes its errors with the origin of the first key in the error's subject that a
// file or the command line set, otherwise with `path`.
template <class Act>
void placing(const Origins& origins, const std::string& path, const Act& act) {
  try {
    act();
  } catch (const Error& error) {
    fail(ErrorPlace{origins.place_of(error.subject().keys, path)}, ": ", error);
  }
}

}  // namespace lockstep
