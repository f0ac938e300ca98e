// SPDX-License-Identifier: Apache-2.0
// Errors for words that should be keys.
#pragma once

#include <string>

#include "app/config/key.h"
#include "app/config/origin.h"
#include "lockstep/error.h"

namespace lockstep {

// An unknown key, the first key of the error's subject. Another table may have it.
class UnknownKey : public Error {
 public:
  using Error::Error;
};

// Throws an error that begins with `at` and suggests the nearest key.
[[noreturn]] void refuse_key(const ConfigKeys& keys, const std::string& word,
                             const std::string& at);

// Throws for a word of a command line, which may be a flag.
[[noreturn]] void refuse_word(const ConfigKeys& keys, const std::string& word);

// Returns true for an obsolete key and notes it. Throws for a key's former name.
bool ignore_former(Origins* origins, const std::string& name, const std::string& at);

}  // namespace lockstep
